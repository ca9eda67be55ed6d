#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_stacks.py BUILD_DIR - the memory that attach takes for a process with many different stacks."""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def measure(build, work, stacks, limit):
    library = build / "tests/fake/cuda/libcuda.so.1"
    target = subprocess.Popen([build / "tests/e2e/programs/attach_target", library], bufsize=0,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    tracer = subprocess.Popen([build / "gputrack", "attach", "-i", "0", "-p", str(target.pid),
                               "--max-memory", limit, "-o", f"{work}/a.gt"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in tracer.stderr:
        if "tracking" in line:
            break
    target.stdin.write(b"s %d\n" % stacks)
    target.stdout.readline()
    time.sleep(1)  # it reads its ring every 50 ms
    status = pathlib.Path(f"/proc/{tracer.pid}/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    target.communicate(b"q\n")
    report = subprocess.run([build / "gputrack", "report", f"{work}/a.gt", "-a", "summary"],
                            capture_output=True, text=True, check=True).stdout
    others = re.search(r"([\d,]+) events? \w+ recorded without a complete stack", report)
    print(f"| {stacks:,} | {limit} | {peak:.0f} | {others.group(1) if others else 0} |", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    print("| different stacks, a live resource each | --max-memory | attach, MiB | others |")
    print("|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as work:
        for stacks, limit in ((1000, "256M"), (100000, "256M"), (600000, "256M"), (1000000, "32M")):
            measure(build, work, stacks, limit)


if __name__ == "__main__":
    main()
