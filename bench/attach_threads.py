#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_threads.py BUILD_DIR - the time of attach's BPF programs by the number of threads that call; needs root.

The kernel counts it (kernel.bpf_stats_enabled), so machines without perf can tell whether calls of several threads wait
for each other in our programs, as for the lock of the ring, or elsewhere.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")


def programs_of(tracer):
    """{number of a program: (ns, runs)} of all BPF programs that a process holds."""
    found = {}
    for info in pathlib.Path(f"/proc/{tracer.pid}/fdinfo").glob("*"):
        try:
            text = info.read_text()
        except OSError:
            continue  # closed since
        number = re.search(r"^prog_id:\s*(\d+)", text, re.M)
        if number and "run_time_ns" in text:
            found[number[1]] = tuple(int(re.search(rf"^{name}:\s*(\d+)", text, re.M)[1]) for name in ("run_time_ns", "run_cnt"))
    return found


def measure(build, folder, threads):
    """(ns, runs) of the programs while so many threads call."""
    tracer = subprocess.Popen([build / "gputrack", "attach", "-q", "-i", "0", "-o", f"{folder}/{threads}.gt", "-c",
                               build / "bench/cuda_calls", "4"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "BENCH_THREADS": str(threads),
                                   "LD_LIBRARY_PATH": str(build / "tests/fake/cuda")})
    last = {}
    while tracer.poll() is None:
        last.update(programs_of(tracer))
        time.sleep(0.02)
    return [sum(column) for column in zip(*last.values())] if last else [0, 0]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if os.geteuid() or not STATS.exists():
        print("Skipped: needs root and a kernel that counts the time of BPF programs.")
        return
    before = STATS.read_text()
    print("| threads that call, attached | runs of our BPF programs | ns a run |\n|--:|--:|--:|")
    try:
        STATS.write_text("1")
        with tempfile.TemporaryDirectory(prefix="gputrack-bench.") as folder:
            for threads in os.environ.get("BENCH_THREADS", "1 2 4").split():
                ns, runs = measure(build, folder, threads)
                print(f"| {threads} | {runs:,} | {ns / runs:,.0f} |" if runs else f"| {threads} | 0 | |", flush=True)
    finally:
        STATS.write_text(before)


main()
