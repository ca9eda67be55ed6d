#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agent.py - gputrack agent on a GPU: BUILD_DIR [--stand-in]

PyTorch keeps a tensor in each step, and the agent follows it from outside, as root: the growing line, bytes in use and
cached against torch.cuda's own figures, capacity, dump and profile, and what the agent costs meanwhile. Prints a line per
check, ends with 1 if one is wrong. About a minute. --stand-in tries the script itself, on the stand-in CUDA driver.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

BUILD = pathlib.Path(sys.argv[1]).resolve()
STAND_IN = "--stand-in" in sys.argv
GPUTRACK = str(BUILD / "gputrack")
failed = []

TORCH = """
import select, sys, time, torch
kept = []

def step():
    scratch = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    kept.append(torch.empty(1 << 20, dtype=torch.uint8, device="cuda"))
    del scratch

def say():
    print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), flush=True)
"""
CTYPES = """
import ctypes, select, sys, time
cuda = ctypes.CDLL(sys.argv[1])
context, kept = ctypes.c_void_p(), []
assert not cuda.cuInit(0) and not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)

def step():
    block = ctypes.c_uint64()
    assert not cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20))
    kept.append(block)

def say():
    print(len(kept) << 20, len(kept) << 20, flush=True)
"""
LOOP = """
print("ready", flush=True)
while True:
    step()
    time.sleep(0.05)
    if select.select([sys.stdin], [], [], 0)[0]:
        line = sys.stdin.readline()
        if line != "say\\n":
            break
        say()
        sys.stdin.readline()
"""


def check(what, is_right, detail=""):
    print(("ok    " if is_right else "FAIL  ") + what + (f": {detail}" if detail else ""), flush=True)
    if not is_right:
        failed.append(what)


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.3)
    return found


class Agent:
    def __init__(self, work, pid):
        self.work = work
        self.process = subprocess.Popen(
            [GPUTRACK, "agent", "--socket", f"{work}/socket", "--state", f"{work}/state", "--keep", "64M", "--listen",
             "127.0.0.1:0", "--interval", "0.5", "--growth-step", "0.5", "-p", str(pid)], stderr=subprocess.PIPE, text=True,
            # so that the stand-in is probed before it is loaded
            env={**os.environ, "LD_LIBRARY_PATH": str(BUILD / "tests/fake/cuda")} if STAND_IN else None)
        head = ""
        while "following" not in head:
            line = self.process.stderr.readline()
            if not line:
                sys.exit("the agent did not start: " + head)
            head += line
        self.address = re.search(r"(http\S+)/metrics", head).group(1)

    def get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=30) as reply:
            return reply.read()

    def value(self, name):
        return [(labels, float(value)) for labels, value in
                re.findall(rf"^{name}(\{{.*\}})? (\S+)$", self.get("/metrics").decode(), re.M)]

    def sum(self, name):
        return sum(value for _, value in self.value(name))

    def ask(self, *what):
        return subprocess.run([GPUTRACK, "agent", "--socket", f"{self.work}/socket", "--state", f"{self.work}/state",
                               *map(str, what)], capture_output=True, text=True)

    def cost(self):
        words = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK"), time.monotonic()


def main():
    if os.geteuid():
        sys.exit("needs root")
    with tempfile.TemporaryDirectory() as work:
        script = pathlib.Path(work) / "serve.py"
        script.write_text((CTYPES if STAND_IN else TORCH) + LOOP)
        line = next(i for i, text in enumerate(script.read_text().splitlines(), 1)
                    if ("cuMemAlloc_v2" if STAND_IN else "kept.append") in text)
        library = [str(BUILD / "tests/fake/cuda/libcuda.so.1")] if STAND_IN else []
        # stopped, until the agent follows it: no block is allocated before
        program = subprocess.Popen(["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", sys.executable, str(script), *library],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        agent = Agent(work, program.pid)
        os.kill(program.pid, signal.SIGCONT)
        assert program.stdout.readline() == "ready\n"
        grows = until(lambda: agent.value("gputrack_place_growth_bytes_per_second"))
        check("the growing line is named", bool(grows) and f"step serve.py:{line}" in grows[0][0].replace(work + "/", ""),
              grows[0][0] if grows else "nothing grows")
        cpu, begun = agent.cost()
        time.sleep(10)
        after, ended = agent.cost()
        program.stdin.write("say\n")
        program.stdin.flush()
        allocated, reserved = map(int, program.stdout.readline().split())
        time.sleep(1.5)
        live, cached = agent.sum("gputrack_gpu_live_bytes"), agent.sum("gputrack_gpu_cached_bytes")
        check("bytes in use are the allocator's", allocated <= live <= allocated + (32 << 20), f"{live:.0f}, {allocated}")
        check("bytes in use and cached are the driver's", STAND_IN or reserved <= live + cached <= reserved + (64 << 20),
              f"{live + cached:.0f}, {reserved}")
        check("the GPU is named", STAND_IN or "GPU 0: NVIDIA" in agent.value("gputrack_gpu_live_bytes")[0][0],
              agent.value("gputrack_gpu_live_bytes")[0][0])
        capacity = agent.value("gputrack_gpu_capacity_bytes")
        check("its capacity is known", STAND_IN or bool(capacity) and capacity[0][1] > live, str(capacity))
        check("no call is lost", agent.sum("gputrack_lost_events_total") == 0)
        folded = agent.get("/debug/folded/gpu").decode()
        check("the profile has the same sum", sum(int(text.rsplit(" ", 1)[1]) for text in folded.splitlines()) == live + cached,
              folded.splitlines()[0] if folded else "")
        run = agent.ask("dump", program.pid, "-o", f"{work}/running.gt")
        report = subprocess.run([GPUTRACK, "report", f"{work}/running.gt"], capture_output=True, text=True)
        check("a dump has the line", run.returncode == 0 and f"serve.py:{line}" in report.stdout, run.stderr.strip())
        program.stdin.write("\nend\n")
        program.stdin.close()
        program.wait()
        until(lambda: agent.sum("gputrack_processes") == 0)
        run = agent.ask("dump", program.pid, "-o", f"{work}/ended.gt")
        check("so has one after its end", run.returncode == 0 and f"serve.py:{line}" in subprocess.run(
            [GPUTRACK, "report", f"{work}/ended.gt"], capture_output=True, text=True).stdout, run.stderr.strip())
        print(f"agent: {100 * (after - cpu) / (ended - begun):.2f} % of a core, "
              f"{agent.sum('gputrack_agent_resident_bytes') / (1 << 20):.1f} MiB resident")
        agent.process.terminate()
        check("the agent ends", agent.process.wait(30) == 0)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
