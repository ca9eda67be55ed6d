#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_threads.py BUILD_DIR - the time of attach's BPF programs by the number of threads that call; needs root.

The kernel counts it (kernel.bpf_stats_enabled), so machines without perf can tell whether calls of several threads wait
for each other in our programs, as for the lock of a ring, or elsewhere. With perf, a table says where the calling threads
spend their time when there are most of them. BENCH_THREADS="1 2 4 8 16" sets their numbers, GPUTRACK_RINGS the rings.
"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import profiles

STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
LOCK = r"spin_(un)?lock|spin_trylock|rqspin|res_spin"
WAKE = r"irq_work|ep_poll_callback|ttwu|wake_up"
RING = r"ringbuf"
PROGRAM, CASE = "cuda_calls", "create + destroy, event"


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


def attach(build, recording, threads, rounds):
    """The command, which prints what calls took, and its environment."""
    return ([build / "gputrack", "attach", "-q", "-i", "0", "-o", recording, "-c", build / "bench" / PROGRAM, str(rounds)],
            {**os.environ, "BENCH_THREADS": str(threads), "LD_LIBRARY_PATH": str(build / "tests/fake/cuda")})


def processor_ns(output):
    """Of a call in the median round; the case is that of threads.sh."""
    lines = [line.split("\t") for line in output.splitlines()]
    return statistics.median(float(f[5]) / float(f[2]) for f in lines if f[:2] == ["sample", CASE])


def measure(build, folder, threads):
    """A row: runs of the programs while so many threads call, ns a run, ns of processor a call, events, lost ones."""
    recording = f"{folder}/{threads}.gt"
    command, environment = attach(build, recording, threads, 4)
    with open(f"{folder}/out", "w+") as out:
        tracer = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        last = {}
        while tracer.poll() is None:
            last.update(programs_of(tracer))
            time.sleep(0.02)
        out.seek(0)
        call_ns = processor_ns(out.read())
    ns, runs = [sum(column) for column in zip(*last.values())] if last else [0, 0]
    report = json.loads(subprocess.run([build / "gputrack", "report", recording, "-a", "summary", "--format", "json"],
                                       capture_output=True, text=True).stdout or "{}")
    shutil.rmtree(recording, ignore_errors=True)
    return runs, ns / runs if runs else 0, call_ns, report.get("recording", {}).get("events", 0), report.get("lost", 0)


def samples_of(data):
    """The stacks of the program's threads in a recording of perf: symbols in the kernel, the innermost first."""
    script = subprocess.Popen(["perf", "script", "-i", data, "--comm", PROGRAM, "-F", "ip,sym"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    stack = []
    for line in script.stdout:
        at, _, symbol = line.strip().partition(" ")
        if not at:
            if stack is not None:
                yield stack
            stack = []
        elif len(at) >= 16 and at[0] in "89abcdef":
            stack.append(re.sub(r"^bpf_prog_[0-9a-f]+_", "bpf_prog_", symbol).split("+")[0])
        elif not stack:
            stack = [""]  # of the program itself


def part_of(stack):
    """What the time of a sample in the kernel went to."""
    symbol = stack[0]
    if re.search(LOCK, symbol):
        caller = next((name for name in stack if not re.search(LOCK, name)), "?")
        return f"spin locks, called by {caller}"
    if any(re.search(WAKE, name) for name in stack):
        return "waking the tool"
    if re.search(RING, symbol):
        return "the ring"
    return next((name for name, pattern in profiles.PROFILES["attach"].parts if re.search(pattern, symbol)), "other")


def profile(build, folder, threads):
    """Prints the shares of the parts, and the symbols of most samples in each."""
    data = f"{folder}/perf.data"
    command, environment = attach(build, f"{folder}/profile.gt", threads, 20)
    subprocess.run(["perf", "record", "-q", "-g", "-F", "499", "-o", data, *command], capture_output=True, env=environment)
    event = subprocess.run(["perf", "evlist", "-i", data], capture_output=True, text=True).stdout.strip()
    parts, symbols, total, outside = {}, {}, 0, 0
    for stack in samples_of(data):
        if not stack or not stack[0]:
            outside += 1
            continue
        part = part_of(stack)
        total += 1
        parts[part] = parts.get(part, 0) + 1
        names = symbols.setdefault(part, {})
        names[stack[0]] = names.get(stack[0], 0) + 1
    print(f"\n| {threads} threads: {total:,} samples in the kernel ({event}), {outside:,} in the program | share | most in |\n"
          "|---|--:|---|")
    for part, count in sorted(parts.items(), key=lambda item: -item[1]):
        if count < total / 500:
            break
        most = sorted(symbols[part].items(), key=lambda item: -item[1])[:4]
        told = ", ".join(f"{name} {100 * n / total:.1f}" for name, n in most)
        print(f"| {part} | {100 * count / total:.1f} % | {told} |")
    if "clock" in event:
        print("\nThis machine counts no cycles for perf: time in which interrupts are off, as at a lock of the ring, "
              "counts for the instruction that lets them in again.")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if os.geteuid() or not STATS.exists():
        print("Skipped: needs root and a kernel that counts the time of BPF programs.")
        return
    before = STATS.read_text()
    numbers = os.environ.get("BENCH_THREADS", "1 2 4").split()
    print("| threads that call, attached | runs of our BPF programs | ns a run | processor, ns a call | events | lost |\n"
          "|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="gputrack-bench.") as folder:
        try:
            STATS.write_text("1")
            for threads in numbers:
                row = measure(build, folder, threads)
                print(f"| {threads} |", " | ".join(f"{value:,.0f}" for value in row), "|", flush=True)
        finally:
            STATS.write_text(before)
        if shutil.which("perf"):
            profile(build, folder, max(numbers, key=int))


main()
