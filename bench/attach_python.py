#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_python.py BUILD_DIR - what Python's lines add to an attached call, by the depth of its stack.

One process is attached to in turns, without Python's lines and with them; each turn measures rounds of
calls through ctypes, and the figures are the least and the median of all rounds.
"""
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

CALLER = """\
import ctypes, sys, time
cuda = ctypes.CDLL(sys.argv[1])
handle, context = ctypes.c_uint64(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
allocate, free, at = cuda.cuMemAlloc_v2, cuda.cuMemFree_v2, ctypes.byref(handle)
size = ctypes.c_size_t(64)

def measure(rounds, pairs):
    for _ in range(rounds):
        begun = time.perf_counter_ns()
        for _ in range(pairs):
            allocate(at, size)
            free(handle)
        yield (time.perf_counter_ns() - begun) / (2 * pairs)

def nest(depth, *rest):
    return nest(depth - 1, *rest) if depth > 3 else list(measure(*rest))

for line in sys.stdin:
    depth, rounds, pairs = map(int, line.split())
    print(*(round(n) for n in nest(depth, rounds, pairs)), flush=True)
"""
TURNS, ROUNDS, PAIRS = 4, 400, 50  # short rounds: most are not interrupted


def attach(build, work, pid, *options):
    tracer = subprocess.Popen([build / "gputrack", "attach", "-i", "0", "-p", str(pid), "-o",
                               f"{work}/a.gt", *options], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    for line in tracer.stderr:
        if "tracking" in line:
            return tracer
    sys.exit("attach_python.py: attach failed")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    ways = {"bare": None, "attached, --no-python": ("--no-python",), "attached": ()}
    depths = (3, 10, 30)
    times = {(way, depth): [] for way in ways for depth in depths}
    with tempfile.TemporaryDirectory() as work:
        script = pathlib.Path(work, "caller.py")
        script.write_text(CALLER)
        target = subprocess.Popen([sys.executable, script, build / "tests/fake/cuda/libcuda.so.1"],
                                  text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(TURNS):
            for way, options in ways.items():
                tracer = None if options is None else attach(build, work, target.pid, *options)
                for depth in depths:
                    target.stdin.write(f"{depth} {ROUNDS} {PAIRS}\n")
                    target.stdin.flush()
                    times[way, depth] += map(int, target.stdout.readline().split())
                if tracer:
                    tracer.send_signal(signal.SIGINT)
                    tracer.communicate()
        target.communicate()
    version = ".".join(map(str, sys.version_info[:2]))
    print(f"| a call from Python {version} through ctypes, ns: min, median | "
          + " | ".join(f"{depth} frames" for depth in depths) + " |")
    print("|---|" + "--:|" * len(depths))
    for way in ways:
        print(f"| {way} | " + " | ".join(f"{min(t):,}, {statistics.median(t):,.0f}" for t in
                                         (times[way, depth] for depth in depths)) + " |")
    before, after = list(ways)[1:]
    print("| what Python's lines add; goal ≤ 2000 | " + " | ".join(
        f"{min(times[after, d]) - min(times[before, d]):,}, "
        f"{statistics.median(times[after, d]) - statistics.median(times[before, d]):,.0f}"
        for d in depths) + " |")


if __name__ == "__main__":
    main()
