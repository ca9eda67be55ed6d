#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""inside.py BUILD_DIR - memory, page faults and cache misses that recording adds to a program; bytes on disk.

Runs bench/inside_calls on the stand-in for CUDA's driver, bare and recorded by turns, and a program through each door.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
FAKE = BUILD / "tests/fake/cuda"
PRELOAD = BUILD / "libgputrack_preload.so"
CALLS = 2  # of a pair
TURNS = 12  # also with --quick: a machine may be slow for seconds, and each turn has all cases
DEEP = 16  # functions below the thread's first
# threads, functions deep, different stacks, rounds after the first
CASES = ([(1, 24, stacks, rounds) for stacks, rounds in ((10, 10000), (100, 1000), (1000, 100), (10000, 10), (1000000, 1))] +
         [(1, depth, 1, 20000) for depth in (1, 4, 16, 64, 256)] +
         [(threads, DEEP, 10, 20000 // threads) for threads in (1, 10, 100, 1000)])


def point(chart, curve, x_axis, y_axis, x, y):
    """Adds to the curves that run.sh draws."""
    if os.environ.get("BENCH_CURVES"):
        with open(os.environ["BENCH_CURVES"], "a") as out:
            print(chart, curve, x_axis, y_axis, x, f"{y:.4g}", sep="\t", file=out)


def recorded(folder, **more):
    return {"LD_PRELOAD": str(PRELOAD), "GPUTRACK_RECORDING": f"{folder}/a.gt", **more}


def output_of(command, more):
    done = subprocess.run([str(word) for word in command], env=dict(os.environ, **more), text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"inside.py: {command}: {done.stderr}")
    return done.stdout


def calls_of(case, more, *words):
    """The figures of a run: {"first": [pairs, faults, misses, instructions, ns], …, "resident": [KiB], …}"""
    text = output_of([BUILD / "bench/inside_calls", *case, *words], {"LD_LIBRARY_PATH": str(FAKE), **more})
    return {name: [float(v) for v in values] for name, *values in (line.split("\t") for line in text.splitlines())}


def least(runs, part, column):
    return min(run[part][column] for run in runs)


def over_bare(bare, ours, part, column):
    """A call's share of what was added; None where the counter is not there."""
    if least(ours, part, column) < 0:
        return None
    return (least(ours, part, column) - least(bare, part, column)) / ours[0][part][0] / CALLS


def number(value, digits=1):
    return "" if value is None else f"{value:,.{digits}f}"


def memory_table(folder):
    print("| threads | functions deep | different stacks | memory over bare, MiB | of it private | frames | page faults a "
          "call, new stacks | known stacks | cache misses a call, known stacks | ns of the processor a call, new stacks | "
          "known stacks |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    runs = {case: ([], []) for case in CASES}
    frames = {}
    for turn in range(TURNS):
        for case in CASES:
            if turn >= (1 if case[2] >= 1000000 else 2 if case[2] >= 10000 else TURNS):
                continue
            runs[case][0].append(calls_of(case, {}))
            runs[case][1].append(calls_of(case, recorded(folder)))
            if case not in frames:
                replayed = output_of([BUILD / "bench/replay", "--read-only", f"{folder}/a.gt"], {})
                frames[case] = float(re.search(r"^frames\t(.*)", replayed, re.M)[1])
            shutil.rmtree(f"{folder}/a.gt")
    for case in CASES:
        bare, ours = runs[case]
        memory, private = ((least(ours, what, 0) - least(bare, what, 0)) / 1024 for what in ("resident", "private"))
        faults = [over_bare(bare, ours, part, 1) for part in ("first", "later")]
        costs = [over_bare(bare, ours, part, 4) for part in ("first", "later")]
        print(f"| {case[0]:,} | {case[1]} | {case[2]:,} | {memory:.1f} | {private:.1f} | {frames[case]:.0f} | "
              f"{number(faults[0], 3)} | {number(faults[1], 3)} | {number(over_bare(bare, ours, 'later', 2))} | "
              f"{number(costs[0], 0)} | {number(costs[1], 0)} |", flush=True)
        if case[2] == 1:
            point("Cost by depth", "a known stack", "functions deep", "ns of the processor a call", case[1], costs[1])
        elif case[1] == 24:
            for curve, cost in zip(("new stacks", "known stacks"), costs):
                point("Cost by distinct stacks", curve, "distinct stacks", "ns of the processor a call", case[2], cost)
            point("Memory by distinct stacks", "over bare", "distinct stacks", "MiB", case[2], memory)
            point("Memory by distinct stacks", "of it private", "distinct stacks", "MiB", case[2], private)
    print("\nThe least of %d processes each (2 and 1 of the most stacks), on the stand-in for CUDA's driver. The trace's "
          "mapping is part of the memory over bare; it is not private. A call from a new stack is a thread's first from there.%s" %
          (TURNS, "" if least(ours, "later", 2) >= 0 else
           " This machine counts no cache misses: see the next table."))


def simulated(folder, case, more):
    """What valgrind's cachegrind counts: instructions, misses of the first and the last level of the caches."""
    out = f"{folder}/cachegrind"
    output_of(["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={out}",
               BUILD / "bench/inside_calls", *case], {"LD_LIBRARY_PATH": str(FAKE), **more})
    text = pathlib.Path(out).read_text()
    counts = dict(zip(re.search(r"^events: (.*)", text, re.M)[1].split(),
                      map(int, re.search(r"^summary: (.*)", text, re.M)[1].split())))
    shutil.rmtree(f"{folder}/a.gt", ignore_errors=True)
    return (counts["Ir"], counts["I1mr"] + counts["D1mr"] + counts["D1mw"],
            counts["ILmr"] + counts["DLmr"] + counts["DLmw"])


def cache_table(folder):
    if not shutil.which("valgrind"):
        print("\nCache misses were not simulated: valgrind is not installed.")
        return
    print("\n| simulated, a call over bare | instructions | misses of the first cache | of the last |\n|---|--:|--:|--:|")
    for stacks, rounds in ((10, 400), (1000, 4)):
        # the difference of two runs of different length is the calls' alone
        runs = [[simulated(folder, (1, DEEP, stacks, n), more) for n in (rounds, 2 * rounds)]
                for more in ({}, recorded(folder))]
        calls = stacks * rounds * CALLS
        figures = [((runs[1][1][i] - runs[1][0][i]) - (runs[0][1][i] - runs[0][0][i])) / calls for i in range(3)]
        print(f"| {stacks:,} known stacks | {figures[0]:,.0f} | {figures[1]:.2f} | {figures[2]:.2f} |", flush=True)


def doors(folder):
    """name, command, environment, the lines that count its events (None: as replayed)"""
    bench, ze = BUILD / "bench", BUILD / "tests/fake/levelzero/libze_fake.so"
    recording = {"GPUTRACK_RECORDING": f"{folder}/a.gt"}
    cuda = {"LD_LIBRARY_PATH": str(FAKE)}
    yield "OpenCL", [bench / "opencl_calls", 3], {"OPENCL_LAYERS": str(BUILD / "libgputrack_opencl.so"), **recording}
    yield ("Level Zero", [bench / "levelzero_calls", 3],
           {"ZE_ENABLE_ALT_DRIVERS": str(ze), "LD_LIBRARY_PATH": str(BUILD / "levelzero"),
            "ZE_ENABLE_VALIDATION_LAYER": "1", **recording})
    yield "CUDA, directly", [bench / "cuda_calls", 1], {**cuda, **recorded(folder)}
    yield ("CUDA, through CUPTI", [bench / "cuda_calls", 1],
           {**cuda, **recording, "CUDA_INJECTION64_PATH": str(BUILD / "libgputrack_cuda.so")})
    yield "PyTorch's pool", [bench / "pool_calls", 3], recorded(folder)
    yield ("CUDA, work (`--touches`)", [bench / "inside_calls", 1, DEEP, 100, 5000, "work"],
           {**cuda, **recorded(folder, GPUTRACK_TOUCHES="1")})
    if os.geteuid() == 0:
        yield ("attach", [BUILD / "gputrack", "attach", "-q", "-i", "0", "-o", f"{folder}/a.gt", "-c",
                          bench / "inside_calls", 1, DEEP, 100, 5000], cuda)


def disk_table(folder):
    print("\n| events of | events | bytes | bytes an event | goal |\n|---|--:|--:|--:|--:|")
    for name, command, more in doors(folder):
        if not pathlib.Path(command[0]).exists():
            continue
        text = output_of(command, more)
        replayed = output_of([BUILD / "bench/replay", "--read-only", f"{folder}/a.gt"], {})
        events = int(re.search(r"^events\t(.*)", replayed, re.M)[1])
        if "work" in command:  # work is no event: each call is one
            events += CALLS * sum(int(pairs) for pairs in re.findall(r"^(?:first|later)\t(\d+)", text, re.M))
        size = sum(path.stat().st_size for path in pathlib.Path(folder, "a.gt").glob("*.trace"))
        shutil.rmtree(f"{folder}/a.gt")
        print(f"| {name} | {events:,} | {size:,} | {size / events:.1f} | ≤ {10 if 'work' in command else 8} |",
              flush=True)


    print("\nThe definitions of modules, functions and stacks are counted, too; of few events they are most of the bytes.")


def main():
    if not PRELOAD.exists() or not (FAKE / "libcuda.so.1").exists():
        print("Skipped: the CUDA door or its stand-in is not built.")
        return
    for name in ("LD_PRELOAD", "GPUTRACK_RECORDING", "GPUTRACK_TOUCHES", "CUDA_INJECTION64_PATH"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="gputrack-bench.") as folder:
        memory_table(folder)
        cache_table(folder)
        disk_table(folder)


main()
