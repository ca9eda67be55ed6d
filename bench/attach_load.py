#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_load.py BUILD_DIR - attach under load: events lost at 100,000 a second with whole stacks; how long
attaching to many processes takes, letting them go, and whether their first calls are there."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 10
PYTHON = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
handle, context = ctypes.c_uint64(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
print("ready", flush=True)
for line in sys.stdin:
    print(cuda.cuMemAlloc_v2(ctypes.byref(handle), ctypes.c_size_t(64)), flush=True)
"""


def report(build, recording, analysis="summary"):
    done = subprocess.run([build / "gputrack", "report", recording, "-a", analysis, "--format", "json"],
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def under_load(build, work, name, command, processes, seconds=None):
    """Runs so many of a command at once, and follows all of them."""
    recording = f"{work}/load.{len(os.listdir(work))}.gt"
    script = " & ".join([command] * processes) + " & wait"
    begun = time.monotonic()
    done = subprocess.run([build / "gputrack", "attach", "-q", "-i", "0", "-o", recording, "-c", "sh", "-c", script],
                          capture_output=True, text=True)
    took = time.monotonic() - begun
    if done.returncode:
        sys.exit(f"attach_load.py: {done.stderr}")
    summary = report(build, recording)
    events, lost, cut = (summary["recording"]["events"], summary["lost"], summary["recording"]["cut_stacks"])
    print(f"| {name} | {(events + lost) / (seconds or took):,.0f} | {events:,} | {lost or 0:,} | {cut or 0:,} | "
          "none at 100,000/s |", flush=True)


def is_link(fd):
    try:
        return os.readlink(fd) == "anon_inode:bpf_link"
    except OSError:  # closed meanwhile
        return False


def has_links(pid):
    """True while functions are probed; three links are of forks, execs and exits, which cost nothing."""
    try:
        return sum(map(is_link, pathlib.Path(f"/proc/{pid}/fd").iterdir())) > 3
    except OSError:
        return False


def crowd(build, work, name, command, count):
    """Attaches to processes that run, lets each make one call, and goes."""
    library = build / "tests/fake/cuda/libcuda.so.1"
    others = [subprocess.Popen([*command, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
              for _ in range(count)]
    for other in others:
        other.stdout.readline()
    for how, options in (("-p", ("-p", ",".join(str(o.pid) for o in others))), ("--all", ("--all",))):
        recording = f"{work}/crowd.{len(os.listdir(work))}.gt"
        begun = time.monotonic()
        tracer = subprocess.Popen([build / "gputrack", "attach", "-i", "0", *options, "-o", recording],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in tracer.stderr:
            if "tracking" in line:
                break
        attached = time.monotonic()
        for other in others:
            other.stdin.write(b"a 64\n")
        for other in others:
            other.stdout.readline()
        going = time.monotonic()
        tracer.send_signal(signal.SIGINT)
        while has_links(tracer.pid):
            time.sleep(0.001)
        free = time.monotonic()
        tracer.communicate()
        gone = time.monotonic()
        pids = {other.pid for other in others}
        seen = sum(p["pid"] in pids for p in report(build, recording, "processes")["groups"])
        print(f"| {count} × {name} | {how} | {attached - begun:.2f} | {seen} of {count} | {free - going:.2f} | "
              f"{gone - going:.2f} | ≤ 1, all, ≤ 0.2 |", flush=True)
    for other in others:
        other.kill()
        other.communicate()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    library = build / "tests/fake/cuda/libcuda.so.1"
    os.environ["LD_LIBRARY_PATH"] = str(library.parent)
    stress = f"{build}/gputrack stress --api cuda --library {library} -d {SECONDS}"
    with tempfile.TemporaryDirectory() as work:
        print("| load, all processes new to attach | events/s | recorded | lost | stacks that end early | goal |")
        print("|---|--:|--:|--:|--:|---|")
        under_load(build, work, "4 processes × 4 threads", f"{stress} -t 25000 --threads 4", 4, SECONDS)
        under_load(build, work, "20 processes", f"{stress} -t 5000", 20, SECONDS)
        under_load(build, work, "4 processes, 24 frames, as fast as they go",
                   f"{build}/bench/attach_calls {library} 20", 4)
        print()
        print("| processes | | attach, s | first calls seen | probes gone, s | ended, with its report, s | goal |")
        print("|--:|---|--:|--:|--:|--:|---|")
        crowd(build, work, "C", [build / "tests/e2e/programs/attach_target"], 100)
        crowd(build, work, "Python", [sys.executable, "-c", PYTHON], 100)


if __name__ == "__main__":
    main()
