# SPDX-License-Identifier: MIT
"""gputrack agent: a host followed for long, metrics, and alerts in a real Prometheus."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import test_exports
import test_pools
from test_attach import Target, need_root, read_line

ALONE = True
FLEET = pathlib.Path(__file__).resolve().parents[2] / "packaging/fleet"


class Agent:
    """gputrack agent in the background, from the moment it follows until it is told to end."""

    def __init__(self, case, *options, listen="127.0.0.1:0", before=(), env=None):
        self.case, self.socket = case, str(case.path("run/agent.sock"))
        self.process = case.start(*before, case.build / "gputrack", "agent", "--socket", self.socket, "--listen", listen,
                                  "--interval", "0.1", *map(str, options), env=env, bufsize=0)
        self.wait_ready()

    def wait_ready(self):
        self.head, self.address = "", None
        while "gputrack: following" not in self.head:
            line = read_line(self.process.stderr)
            assert line, self.head
            self.head += line
        found = re.search(r"metrics at (http\S+)/metrics", self.head)
        self.address = found and found.group(1)

    def wait_line(self, text):
        """The next line of its messages that has this."""
        while text not in (line := read_line(self.process.stderr)):
            assert line, text
        return line

    def get(self, path, **headers):
        """(status, type, text)"""
        request = urllib.request.Request(self.address + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, reply.headers["Content-Type"], reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Content-Type"], error.read()

    def metrics(self):
        status, kind, text = self.get("/metrics")
        assert status == 200 and kind.startswith("text/plain"), (status, kind)
        return text.decode()

    def value(self, name):
        """The value of a metric without labels; of one with labels, {labels: value}."""
        plain = re.search(rf"^{name} (\S+)$", self.metrics(), re.M)
        return float(plain.group(1)) if plain else {
            labels: float(value) for labels, value in
            re.findall(rf"^{name}\{{(.*)\}} (\S+)$", self.metrics(), re.M)}

    def ask(self, *what):
        return self.case.gputrack("agent", "--socket", self.socket, *what)

    def servers(self):
        """Its children that have given up root: that which answers requests."""
        found = []
        for pid in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            try:
                if re.search(r"^Uid:\t65534\t65534\t65534", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M):
                    found.append(pid)
            except FileNotFoundError:
                pass
        return found

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=60)
        self.err = err.decode(errors="replace")
        return self.process.returncode


def until(condition, seconds=60, each=lambda: time.sleep(0.05)):
    """What the condition returns once it is true; the timeout is only for what never comes."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come"
        each()
    return found


def leak(target):
    """Once more, at a pace at which every step of growth sees some."""
    target.tell("a 1000000")
    time.sleep(0.03)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    def __init__(self, case, agent):
        rules = (FLEET / "prometheus-alerts.yml").read_text()
        case.path("rules.yml").write_text(re.sub(r"\bfor: \w+", "for: 1s", rules))
        case.path("prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs:\n"
            "  - job_name: gputrack\n    static_configs: [{targets: ['%s']}]\n" % agent.address.split("//")[1])
        self.port = free_port()
        self.process = case.start("prometheus", f"--config.file={case.path('prometheus.yml')}",
                                  f"--storage.tsdb.path={case.path('tsdb')}",
                                  f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error")

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]
        except (urllib.error.URLError, ConnectionError):
            return None

    def stop(self):
        self.process.kill()
        self.process.communicate()


class Systemd:
    """What systemd would do for the unit: its capabilities, and the socket that it listens at."""

    def __init__(self, case):
        unit = (FLEET / "gputrack-agent.service").read_text()
        names = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M).group(1).split()
        allowed = ",".join("+" + name.removeprefix("CAP_").lower() for name in names)
        self.before = ["setpriv", f"--bounding-set=-all,{allowed}"] if shutil.which("setpriv") else []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(case.path("notify")))
        self.socket.settimeout(30)
        self.env = {"NOTIFY_SOCKET": str(case.path("notify")), "WATCHDOG_USEC": "200000"}

    def hear(self):
        return self.socket.recv(100).decode()


def check_metrics(case, text):
    """promtool accepts it, and its linter has nothing to say."""
    run = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    assert run.returncode == 0 and not run.stderr, run.stderr + text


def check_profiles(case, agent, pid):
    """As Pyroscope, Parca and `go tool pprof` read them, and folded."""
    def agree():
        """The target is idle, but sums are made up at intervals: its last calls may come between two questions."""
        status, _, data = agent.get(f"/debug/pprof/gpu?pid={pid}")
        assert status == 200
        case.path("agent.pb.gz").write_bytes(data)
        samples, _ = test_exports.read_profile(case.path("agent.pb.gz"))
        live = sum(agent.value("gputrack_gpu_live_bytes").values())
        text = agent.get("/debug/folded/gpu?type=inuse")[2].decode()
        stack, size = text.strip().rsplit(" ", 1)
        return sum(values[3] for _, _, values in samples) == live == int(size) and stack

    stack = until(agree)
    assert stack.startswith("attach_target;main;") and ";middle;allocate_here;[CUDA device memory] " in stack, stack
    assert agent.get("/debug/folded/gpu?pid=1")[2] == b"" and agent.get("/debug/pprof/gpu?type=x")[0] == 400


def test_cached_memory_of_a_pool_is_not_in_use(case):
    """Segments of PyTorch's allocator are the driver's blocks: what no tensor uses of them is cached."""
    need_root(case)
    process = case.start(*test_pools.program(case, 3, "wait", 1000), env=case.cuda_preloaded(), bufsize=0)
    before = list(map(int, read_line(process.stdout).split()))
    agent = Agent(case, "-p", process.pid)
    process.stdin.write(b"more\n")
    allocated, reserved = (now - then for now, then in zip(map(int, read_line(process.stdout).split()), before))
    assert allocated and reserved

    def sums():
        return [sum(agent.value(f"gputrack_gpu_{what}_bytes").values()) for what in ("live", "cached")
                if isinstance(agent.value(f"gputrack_gpu_{what}_bytes"), dict)]

    # a part of the new blocks lies in segments from before
    until(lambda: sums()[:1] == [allocated] and 0 < sums()[1] < reserved)
    process.stdin.close()
    process.wait(30)


def test_memory_is_on_the_gpu_that_the_machine_has_it_on(case):
    """Two processes call different instances GPU 0; the agent came after their contexts."""
    need_root(case)
    env = {"FAKE_NVML_MIG": "2", "FAKE_NVML_SHARE": str(case.path("share"))}
    target = Target(case, before=("env", *(f"{name}={value}" for name, value in env.items())))
    other = Target(case)
    agent = Agent(case, "-p", target.pid, "-p", other.pid,
                  env={"LD_LIBRARY_PATH": str(case.build / "tests/fake/gpu_memory"), **env})
    target.tell("a 12345")
    other.tell("a 777")  # NVML does not list this one
    instance = 'gpu="GPU 0:7: Stand-in GPU MIG 1g.4gb"'
    until(lambda: agent.value("gputrack_gpu_live_bytes") == {instance: 12345, 'gpu="unknown"': 777})
    assert agent.value("gputrack_gpu_capacity_bytes") == {instance: 4 << 30}
    other.end()
    until(lambda: agent.value("gputrack_processes") == 1)
    target.end()
    until(lambda: agent.value("gputrack_gpu_live_bytes")[instance] == 0)
    assert agent.stop() == 0


def queries():
    """The dashboard's, as Grafana would send them."""
    for panel in json.loads((FLEET / "grafana-dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")


def test_a_leak_fires_an_alert_that_names_its_line(case):
    """From the call of a program to the alert, through a real Prometheus."""
    need_root(case)
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        case.skip("Debian's prometheus is not installed")
    # NVML says on which GPU it is, and how large that is
    share = {"FAKE_GPU_MIB": "4000", "FAKE_NVML_SHARE": str(case.path("share"))}
    target = Target(case, before=("env", *(f"{name}={value}" for name, value in share.items())))
    agent = Agent(case, "-p", target.pid, "--growth-step", "0.1",
                  env={"LD_LIBRARY_PATH": str(case.build / "tests/fake/gpu_memory"), **share})
    until(lambda: agent.value("gputrack_growing_places") == 1, each=lambda: leak(target))
    (labels, speed), = agent.value("gputrack_place_growth_bytes_per_second").items()
    assert re.search(r'place="allocate_here \S*attach_target\.c:\d+"', labels), labels
    assert speed > 0
    target.tell("a 8000000000")
    until(lambda: agent.value("gputrack_out_of_memory_total") == 1)
    check_profiles(case, agent, target.pid)
    check_metrics(case, agent.metrics())
    subprocess.run(["promtool", "check", "rules", FLEET / "prometheus-alerts.yml"], check=True, capture_output=True)
    prometheus = Prometheus(case, agent)
    try:
        def firing():
            alerts = (prometheus.ask("alerts") or {}).get("alerts", [])
            return [a for a in alerts if a["state"] == "firing" and a["labels"]["alertname"] == "GpuMemoryGrows"]
        alert, = until(firing, each=lambda: leak(target))
        assert re.search(r"grows at allocate_here \S*attach_target\.c:\d+$", alert["annotations"]["summary"]), alert
        assert f"pid {target.pid}, user root" in alert["annotations"]["description"], alert
        for query in queries():  # none shows an empty panel
            assert until(lambda: prometheus.ask("query", query=query)["result"], each=lambda: leak(target)), query
        live, = prometheus.ask("query", query="sum(gputrack_gpu_live_bytes)")["result"]
        assert float(live["value"][1]) > 1000000
    finally:
        prometheus.stop()
    target.end()
    until(lambda: agent.value("gputrack_processes") == 0)
    assert agent.value("gputrack_growing_places") == 0
    assert agent.stop() == 0, agent.err
    assert not os.path.exists(agent.socket)


def leaks_of(case, name):
    """(bytes, lines) of the groups that were not released, and how they are called."""
    report = case.report(name, "leakage")
    return report, [(group["bytes"], [frame.get("line") for frame in group["stack"]])
                    for group in report["groups"]]


def size_of(folder):
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def test_a_process_can_be_dumped_and_traced_also_after_its_end(case):
    """The ring stays within its size, and each recording of it begins with what is alive."""
    need_root(case)
    target = Target(case)
    state = case.path("state")
    agent = Agent(case, "-p", target.pid, "--keep", "16M", "--state", state, listen="none")
    target.tell("a 12345")
    run = agent.ask("--state", state, "dump", target.pid, "-o", "running.gt")
    assert run.status == 0 and "running.gt has all since" in run.err, run.err
    report, groups = leaks_of(case, "running.gt")
    assert [size for size, _ in groups] == [12345] and groups[0][1][0] > 0, groups
    # more than one recording of the ring holds: the first allocation is written again each time
    for _ in range(4):
        target.tell("b 50000")
    tracer = case.start(case.build / "gputrack", "agent", "--socket", agent.socket, "trace", target.pid,
                        "--for", "0.5s", "-o", "traced.gt")
    target.tell("a 777")
    assert tracer.wait(60) == 0
    kept = sorted((state / "ring").iterdir())
    assert len(kept) >= 3 and size_of(state / "ring") <= 16 << 20, (kept, size_of(state))
    target.end()
    until(lambda: "processes    0" in agent.ask("status").out)
    assert agent.stop() == 0
    assert not list((state / "asked").iterdir())
    # nobody is there to ask, and the process is gone
    run = agent.ask("--state", state, "dump", target.pid, "-o", "ended.gt")
    assert run.status == 0, run.err
    for name in "traced.gt", "ended.gt":
        _, groups = leaks_of(case, name)
        assert sorted(size for size, _ in groups) in ([12345 + 777], [777, 12345]), (name, groups)
    text = case.gputrack("report", "-a", "leakage", "ended.gt").out
    assert "LEAKED  2 resources" in text and "attach_target.c:" in text, text
    assert case.gputrack("report", kept[-1]).status == 0
    run = agent.ask("--state", state, "dump", "999999", "-o", "none.gt")
    assert run.status == 1 and "no agent answers" in run.err and not case.path("none.gt").exists(), run.err


def test_times_of_a_dump_count_from_the_first_call(case):
    """Each dump begins another recording of the ring, and so does another agent; the process's times go on."""
    need_root(case)
    target, state, heads, known = Target(case), case.path("state"), [], []
    how = ("-p", target.pid, "--keep", "16M", "--state", state)
    agent = Agent(case, *how, listen="none")
    for name in ("first.gt", "second.gt", "restarted.gt"):
        if name == "restarted.gt":
            assert agent.stop() == 0
            agent = Agent(case, *how, listen="none")
        target.tell("a 1000")
        run = agent.ask("--state", state, "dump", target.pid, "-o", name)
        assert run.status == 0, run.err
        heads.append(case.report(name, "leakage")["recording"])
        times = [event["time_ns"] for event in case.events(name)]
        assert times[:-1] == known and times == sorted(times), (name, times, known)
        known = times
        assert times[-1] <= heads[-1]["duration_ns"], (name, times, heads[-1])
    lasted = [head["duration_ns"] for head in heads]
    assert lasted == sorted(lasted) and len({head["started"] for head in heads}) == 1, heads
    text = case.gputrack("report", "restarted.gt").out
    assert f"started {heads[0]['started']}" in text, text
    target.end()
    assert agent.stop() == 0


def test_requests_get_what_is_public_and_nothing_else(case):
    """Names of processes stay inside their labels; wrong requests and secrets get nothing."""
    need_root(case)
    evil = case.path('evil"} 1\nfake_metric 2 #')
    os.symlink(case.program("attach_target"), evil)
    library = case.program("libcuda.so.1")
    process = subprocess.Popen([evil, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert read_line(process.stdout) == "ready\n"
    case.path("token").write_text("open sesame\n")
    case.path("agent.conf").write_text("# comment\ntoken-file = %s\nmax-memory = 32M\n" % case.path("token"))
    systemd = Systemd(case)
    agent = Agent(case, "-p", process.pid, "--config", case.path("agent.conf"), before=systemd.before, env=systemd.env)
    assert systemd.hear() == "READY=1" and systemd.hear() == "WATCHDOG=1"
    right = {"Authorization": "Bearer open sesame"}
    for number in range(40):
        process.stdin.write(b"s 300\n")
        read_line(process.stdout)
    text = until(lambda: (lambda t: t if "process_live_bytes" in t else "")(agent.get("/metrics", **right)[2].decode()))
    assert 'command="evil\\"} 1\\nfake_metric 2 # ' in text, text
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) gputrack_.*|gputrack_\w+(\{(\w+="([^"\\]|\\.)*",?)*\})? [\d.e+]+', line), line
    assert sum(not line.startswith("#") for line in text.splitlines()) <= 40
    for path, headers, status in (("/metrics", {}, 401), ("/metrics", {"Authorization": "Bearer open sesam"}, 401),
                                  ("/metrics", {"Authorization": "open sesame"}, 401), ("/", right, 200),
                                  ("/metrics?x=1", right, 404), ("/../etc/passwd", right, 404),
                                  ("/metrics/", right, 404), ("/debug/pprof/gpu?pid=1;status", right, 404)):
        assert agent.get(path, **headers)[0] == status, (path, headers, status)
    kind = agent.get("/metrics", Accept="application/openmetrics-text", **right)[1]
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    # the HTTP server's process has no privileges
    server, = agent.servers()
    assert re.search(r"^CapEff:\t0+$", pathlib.Path(f"/proc/{server}/status").read_text(), re.M)
    # the settings are read again
    case.path("agent.conf").write_text("max-memory = 16M\n")
    agent.process.send_signal(signal.SIGHUP)
    assert "max-memory 16 MiB" in agent.wait_line("read again")
    assert "token-file: a change of this needs a restart" in agent.wait_line("token-file")
    # the server is started again, for a token that may be new, and when it dies: with the token that it has
    agent.address = re.search(r"metrics at (http\S+)/metrics", agent.wait_line("metrics at")).group(1)
    again, = agent.servers()
    assert again != server
    os.kill(int(again), signal.SIGKILL)
    agent.address = re.search(r"metrics at (http\S+)/metrics", agent.wait_line("metrics at")).group(1)
    assert agent.get("/metrics")[0] == 401 and agent.get("/metrics", **right)[0] == 200
    process.stdin.write(b"q\n")
    process.wait(30)
    assert agent.stop() == 0


def test_hostile_processes_cannot_fill_or_stall_the_agent(case):
    """Thousands of stacks, children that end at once, more living resources than fit: sums stay, memory too."""
    need_root(case)
    target = Target(case)
    agent = Agent(case, "-p", target.pid, "--max-memory", "16M", "--interval", "1")
    before = agent.value("gputrack_agent_resident_bytes")
    stacks, children, kept = 12000, 40, 70000
    target.tell(f"s {stacks}")
    for _ in range(children):
        target.tell("k 100")
    # 16 MiB have room for the descriptions of some 58,000 living resources
    target.tell(f"l {kept}")
    until(lambda: agent.value("gputrack_lost_events_total") > 0)
    counted = until(lambda: (lambda n: n if n >= stacks + children else 0)(agent.value("gputrack_allocations_total")))
    lost = agent.value("gputrack_lost_events_total")
    until(lambda: agent.value("gputrack_allocations_total") + agent.value("gputrack_lost_events_total")
          >= stacks + children + kept)
    assert agent.value("gputrack_processes") == 1 and counted and lost
    folded = agent.get("/debug/folded/gpu")[2].decode()
    assert "other call sites" in folded, folded[-2000:]
    assert agent.value("gputrack_agent_resident_bytes") <= before + (16 << 20), before
    target.end()
    assert agent.stop() == 0


MANY_LIBRARIES = """
import ctypes, mmap, os, sys
cuda, folder, copied = ctypes.CDLL(sys.argv[1]), sys.argv[2], open(sys.argv[3], "rb").read()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(ctypes.c_void_p()), 0, 0)
os.mkdir(folder)
maps = []
for i in range(2000):
    with open(f"{folder}/lib{i}.so", "w+b") as file:
        file.write(copied)
        file.flush()
        maps.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
for line in sys.stdin:
    assert cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1000)) == 0
    print("done", flush=True)
"""


def test_thousands_of_libraries_and_a_storm_of_forks_cost_little(case):
    """Every allocation is counted, the agent answers meanwhile, and nothing of the children stays."""
    need_root(case)
    target, children, calls = Target(case), 600, 5
    other = case.start(sys.executable, "-c", MANY_LIBRARIES, target.library, case.path("copies"),
                       case.program("attach_target"), bufsize=0)
    assert read_line(other.stdout) == "ready\n"
    agent = Agent(case, "-p", target.pid, "-p", other.pid, "--max-memory", "16M", "--keep", "16M", "--state",
                  case.path("state"))
    before = agent.value("gputrack_agent_resident_bytes")
    for _ in range(calls):
        other.stdin.write(b"\n")
        assert read_line(other.stdout) == "done\n"
    for i in range(children):
        target.tell("k 100")
        if i % 100 == 0:
            assert agent.get("/metrics")[0] == 200
    until(lambda: agent.value("gputrack_allocations_total") == children + calls)
    assert agent.value("gputrack_lost_events_total") == 0
    # the children have ended: of the rest, one process has made a call that is still alive
    until(lambda: sum(agent.value("gputrack_gpu_live_bytes").values()) == 1000 * calls)
    assert agent.value("gputrack_processes") <= 2
    assert agent.value("gputrack_agent_resident_bytes") <= before + (16 << 20), before
    assert size_of(case.path("state")) <= 16 << 20
    other.stdin.close()
    other.wait(30)
    target.end()
    assert agent.stop() == 0


def test_a_day_at_4000_events_a_second_in_short(case):
    """At most 64 MB, the ring within its size, nothing lost; `./dev soak agent` is the whole day, and what it costs."""
    need_root(case)
    done = case.run(sys.executable, FLEET.parents[1] / "bench/agent.py", case.build, "5", "4000", timeout=300)
    assert done.status == 0 and (done.out.startswith("| events/s") or "Skipped" in done.out), done.out + done.err


HOARDER = """
import ctypes, mmap, os, signal, sys
program, folder, _, library = sys.argv[1:]
os.mkdir(folder)
for child in range(20):
    files = []
    for i in range(15):
        os.mkdir(f"{folder}/{child}.{i}")
        with open(f"{folder}/{child}.{i}/libcuda.so.1", "w+b") as file:
            file.write(open(library, "rb").read())
            file.flush()
            files.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    if not os.fork():
        os.setuid(65534)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # when the parent ends
        signal.pause()
    for file in files:
        file.close()
print("ready", flush=True)
sys.stdin.buffer.raw.read(3)
os.execv(program, [program, library])
"""


def test_one_user_cannot_have_all_libraries_probed(case):
    """300 copies of the driver, mapped by 20 processes of another user: the calls of a program that comes later are seen."""
    need_root(case)
    program = case.program("attach_target")
    target = Target(case, before=(sys.executable, "-c", HOARDER, program, case.path("copies")))
    agent = Agent(case, "-p", target.pid)
    assert target.tell("go") == "ready"
    # its first calls may come before its library is probed
    until(lambda: agent.value("gputrack_allocations_total") >= 5, each=lambda: target.tell("b 1"))
    target.end()
    assert agent.stop() == 0
    assert "has mapped more libraries than are probed" in agent.head + agent.err


def test_an_agent_that_is_started_again_knows_what_the_one_before_knew(case):
    """From the last recording of the ring: bytes, lines, and what is freed later."""
    need_root(case)
    target = Target(case)
    options = "-p", target.pid, "--keep", "16M", "--state", case.path("state")
    agent = Agent(case, *options)
    handle = target.tell("a 12345")
    until(lambda: sum(agent.value("gputrack_gpu_live_bytes").values()) == 12345)
    agent.process.kill()
    agent.process.wait()
    # killed: nothing was said to anybody, and a socket is left
    agent = Agent(case, *options)
    target.tell("a 777")
    folded = until(lambda: (lambda text: text if text.count("attach_target.c:") == 2 else "")(
        agent.get("/debug/folded/gpu")[2].decode()))
    assert [int(line.rsplit(" ", 1)[1]) for line in sorted(folded.splitlines(), key=len)] in ([777, 12345], [12345, 777])
    # and once more: what was restored is recorded again, with its names
    until(lambda: len(list(case.path("state/ring").iterdir())) == 3)
    agent.process.send_signal(signal.SIGUSR2)
    agent.wait_ready()
    target.tell("b 1")
    until(lambda: sum(agent.value("gputrack_gpu_live_bytes").values()) == 12345 + 777)
    run = agent.ask("--state", case.path("state"), "dump", target.pid, "-o", "again.gt")
    assert run.status == 0, run.err
    target.tell(f"f {handle}")
    until(lambda: sum(agent.value("gputrack_gpu_live_bytes").values()) == 777)
    target.end()
    assert agent.stop() == 0
