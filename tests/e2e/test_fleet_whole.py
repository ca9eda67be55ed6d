# SPDX-License-Identifier: MIT
"""test_fleet_whole.py - the whole way: programs, agent, Prometheus and ClickHouse, from a leak to its fix."""
import json
import re
import shutil
import time

import engines
from test_agent import Agent, Prometheus, until
from test_attach import Target, need_root, read_line
from test_fleet import fleet, time_text

ALONE = True
PATIENCE_S = 300  # three servers, and a machine that may be busy
PYTHON = "/usr/bin/python3"  # the one that Debian's pyopencl is for

SERVE = """\
import sys
import pyopencl as cl

context = cl.create_some_context(interactive=False)
answers = []


def handle():
    scratch = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
    answers.append(cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20))
    scratch.release()


print("ready", flush=True)
for line in iter(sys.stdin.readline, "q\\n"):
    handle()
    print("done", flush=True)
"""
# it keeps four answers; the line that allocates them has moved
FIXED = SERVE.replace("answers = []\n", "answers = []\nKEPT = 4\n").replace(
    "    scratch.release()\n", "    scratch.release()\n    del answers[:-KEPT]\n")


def line_of(text):
    return 1 + next(i for i, line in enumerate(text.splitlines()) if "answers.append" in line)


class Service:
    """A service on PoCL: the program with the leak until it is told to end, then the fixed one."""

    def __init__(self, case):
        if case.run(PYTHON, "-c", "import pyopencl").status:
            case.skip("pyopencl is not installed")
        for release, text in (("1", SERVE), ("2", FIXED)):
            case.path(release).mkdir()
            case.path(release).joinpath("serve.py").write_text(text)
        self.process = case.start("sh", "-c", f"cd 1; {PYTHON} serve.py; cd ../2; {PYTHON} serve.py", env=case.pocl(), bufsize=0)
        self.wait()

    def wait(self):
        assert read_line(self.process.stdout) == "ready\n"

    def tell(self, line="request"):
        self.process.stdin.write(line.encode() + b"\n")

    def request(self):
        self.tell()
        assert read_line(self.process.stdout) == "done\n"


def firing(prometheus):
    alerts = (prometheus.ask("alerts") or {}).get("alerts", [])
    return [alert for alert in alerts if alert["state"] == "firing"]


def test_a_leak_fires_leads_the_fleet_and_is_gone_after_its_fix(case):
    """Two programs, on PoCL and on the stand-in CUDA driver; the first leaks, the second only works."""
    need_root(case)
    if not shutil.which("prometheus"):
        case.skip("Debian's prometheus is not installed")
    with engines.ClickHouse(case) as server:
        service, other = Service(case), Target(case)
        other.tell("a 50000000")
        agent = Agent(case, "-p", service.process.pid, "-p", other.pid, "--growth-step", "0.1", "--rows-interval", "1",
                      "--clickhouse", server.url, "--spool", f"{case.path('spool')},1M", "--host", "gpu-7")
        prometheus = Prometheus(case, agent)

        def work():
            service.request()
            other.tell("b 3")
            time.sleep(0.02)

        # the alert, with the line
        where = f"handle serve.py:{line_of(SERVE)} via _cl.so"
        alert, = until(lambda: firing(prometheus), PATIENCE_S, each=work)
        assert alert["labels"]["alertname"] == "GpuMemoryGrows" and alert["labels"]["place"] == where, alert
        assert alert["annotations"]["summary"].endswith(f": GPU memory grows at {where}"), alert
        assert re.search(r"serve\.py \(pid \d+, user root\)", alert["annotations"]["description"]), alert

        # first of the fleet, and the only one
        def grows():
            done = case.gputrack("fleet", "--clickhouse", server.url, "top", "-f", "json")
            return done.status == 0 and json.loads(done.out)["places"]
        top, = until(grows, PATIENCE_S, each=work)
        assert (top["place"], top["kind"], top["api"], top["hosts"]) == (where, "buffer", "opencl", 1), top
        said = fleet(case, server, "place", f"serve.py:{line_of(SERVE)}")
        assert re.search(r"gpu-7, python3\S* \d+: " + re.escape(where), said), said
        before = server.query("SELECT max(time) FROM gputrack.rows WHERE growth_bytes > 0").strip()

        # after the fix it is gone, and so is the alert
        service.tell("q")
        service.wait()

        def gone():
            work()
            done = case.gputrack("fleet", "--clickhouse", server.url, "diff", "--before", before, "--after",
                                 time_text(int(time.time())))
            return f"serve.py:{line_of(FIXED)} " in done.out and "GROWING" not in done.out and done.out
        said = until(gone, PATIENCE_S)
        assert "GONE  1 place no longer growing" in said and said.count("serve.py:") == 1, said
        until(lambda: not firing(prometheus), PATIENCE_S, each=work)
        prometheus.stop()
        service.tell("q")
        other.end()
        assert agent.stop() == 0, agent.err
