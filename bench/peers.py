#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peers.py BUILD_DIR - other tools in the same run: what they cost, and which of ten leaks they find.

Tools that are not here are named. Khronos' object-lifetime layer is looked for as libCLObjectLifetimeLayer.so in
LIFETIME_LAYER or beside the system's libraries, Intel's OpenCL intercept layer as `cliloader` in PATH.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(os.environ.get("ROUNDS", "3"))
PATIENCE = 150
FAKE = BUILD / "tests/fake/cuda"
PAIR = "create + release, 4 KiB buffer"
HAS_GPU = not subprocess.run([BUILD / "bench/cuda_calls", "--probe"], capture_output=True).returncode
LAYER = next((path for path in [os.environ.get("LIFETIME_LAYER", ""),
                                *map(str, pathlib.Path("/usr/lib").glob("*/libCLObjectLifetimeLayer.so"))]
              if path and os.path.exists(path)), None)


class Run:
    """A finished command: what it printed, its cost with that of its children."""

    def __init__(self, folder, command, more):
        times = folder / "times"
        times.unlink(missing_ok=True)
        # libraries that a tool or its interpreter brings are not asked for debug information elsewhere
        env = dict(os.environ, LC_ALL="C.UTF-8", GPUTRACK_CONFIG="", OCL_ICD_VENDORS="pocl.icd", POCL_DEVICES="basic",
                   DEBUGINFOD_URLS="", BENCH_THREADS="1", **more)
        # the time limit ends the tool itself: `measure` would leave it behind
        limited = [BUILD / "bench/measure", times, "timeout", "-k", "5", str(PATIENCE), *command]
        done = subprocess.run([str(word) for word in limited], cwd=folder, env=env, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.seconds, self.cpu, self.kib = map(float, times.read_text().split())

    def pair_ns(self):
        """The least time of a buffer created and released."""
        return min(float(line.split("\t")[4]) for line in self.out.splitlines() if line.startswith(f"sample\t{PAIR}\t"))

    def events(self):
        return int(re.search(r"^events\t(\d+)", self.out, re.M)[1])


def bare(folder, program, more):
    return Run(folder, [program], more), None, []


def gputrack(folder, program, more):
    run = Run(folder, [BUILD / "gputrack", "run", "-q", "-o", "a.gt", program], more)
    report = subprocess.run([BUILD / "gputrack", "report", "a.gt", "-a", "leakage", "-f", "json"], cwd=folder, text=True,
                            capture_output=True).stdout
    leaks = [" ".join(f"{f['function']} {f['file']}:{f['line']}" for f in group["stack"])
             for group in json.loads(report)["groups"]]
    size = sum(path.stat().st_size for path in (folder / "a.gt").iterdir())
    shutil.rmtree(folder / "a.gt")
    return run, size, leaks


def heaptrack(folder, program, more):
    run = Run(folder, ["heaptrack", "-o", "heap", program], more)
    data = next(folder.glob("heap.*"))
    text = subprocess.run(["heaptrack_print", "-f", data, "-l", "1", "-p", "0", "-a", "0", "-T", "0", "-n", "1000", "-s",
                           "20"], text=True, capture_output=True).stdout
    size = data.stat().st_size
    data.unlink()
    return run, size, re.split(r"^(?=\S.* leaked over \d+ calls from$)", text, flags=re.M)[1:]


def valgrind(folder, program, more):
    run = Run(folder, ["valgrind", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible,reachable",
                       "--num-callers=40", program], more)
    return run, None, re.split(r"^(?===\d+== .* (?:lost|still reachable) in loss record)", run.err, flags=re.M)[1:]


def lifetime_layer(folder, program, more):
    run = Run(folder, [program], dict(more, OPENCL_LAYERS=LAYER, OPENCL_OBJECT_LIFETIME_LOG="stderr"))
    return run, None, run.err.splitlines()


def intercept_layer(folder, program, more):
    run = Run(folder, ["cliloader", "--leak-checking", program], more)
    return run, None, run.err.splitlines()


def sanitizer(folder, program, more):
    run = Run(folder, ["compute-sanitizer", "--leak-check", "full", program, "end-context"], more)
    return run, None, re.split(r"^(?=========.*Leaked)", run.out, flags=re.M)[1:]


# name, its own call, is it here, for which programs, is its cost of a call measured, where it comes from
TOOLS = (
    ("no tool", bare, True, "opencl cuda", True, ""),
    ("gputrack", gputrack, True, "opencl cuda", True, ""),
    ("heaptrack", heaptrack, shutil.which("heaptrack"), "opencl", True, "Debian's heaptrack"),
    ("valgrind memcheck", valgrind, shutil.which("valgrind"), "opencl", False, "Debian's valgrind"),
    ("Khronos' object-lifetime layer", lifetime_layer, LAYER, "opencl", True, "not in Debian"),
    ("Intel's OpenCL intercept layer", intercept_layer, shutil.which("cliloader"), "opencl", True, "not in Debian"),
    ("compute-sanitizer", sanitizer, HAS_GPU and shutil.which("compute-sanitizer"), "cuda", False,
     "CUDA's toolkit and a GPU"),
)


def cost_table(folder):
    found = {}
    for _ in range(ROUNDS):
        for name, use, is_here, programs, is_timed, _ in TOOLS:
            if is_here and "opencl" in programs and is_timed:
                found.setdefault(name, []).append(use(folder, BUILD / "bench/opencl_calls", {})[:2])
    bare_ns = min(run.pair_ns() for run, _ in found["no tool"])
    print("| OpenCL buffer, created and released | ns | ns a call over bare | CPU s of the whole run, by bare's | peak MiB "
          "| bytes an event |\n|---|--:|--:|--:|--:|--:|")
    # a run makes as many calls as fit in its rounds: by the event, all are alike
    bare_cpu = min(run.cpu / run.events() for run, _ in found["no tool"])
    for name, runs in found.items():
        ns = min(run.pair_ns() for run, _ in runs)
        cpu = min(run.cpu / run.events() for run, _ in runs)
        peak = max(run.kib for run, _ in runs) / 1024
        size = min((size / run.events() for run, size in runs if size), default=None)
        print(f"| {name} | {ns:,.0f} | {(ns - bare_ns) / 2:,.0f} | {cpu / bare_cpu:.1f} | {peak:,.0f} | "
              f"{'' if size is None else f'{size:.1f}' if size >= 1 else f'{size:.2g}'} |")


def leak_table(folder, program, more, title):
    api = {"opencl": "OpenCL", "cuda": "CUDA"}[program.rpartition("_")[2]]
    rows = re.findall(r"^\t_\((\w+)\)", (pathlib.Path(__file__).with_name(program + ".c")).read_text(), re.M)
    print(f"\n| ten leaks, {title} | found, of {len(rows)} | not found | accuses what was released | entries in its list | s |\n|---|--:|---|--:|--:|--:|")
    for name, use, is_here, programs, _, _ in TOOLS:
        if not is_here or use is bare or program.rpartition("_")[2] not in programs:
            continue
        run, _, leaks = use(folder, BUILD / "bench" / program, more)
        if run.status not in (0, 1):
            why = f"gave up after {PATIENCE} s" if run.status == 124 else f"failed with status {run.status}"
            print(f"| {name}, {api} | | {why} | | | {run.seconds:.1f} |", flush=True)
            continue
        text = "\n".join(leaks)
        missed = [row for row in rows if not re.search(rf"\bleak_{row}\b", text)]
        wrong = [row for row in rows if re.search(rf"\btidy_{row}\b", text)]
        print(f"| {name}, {api} | {len(rows) - len(missed)} | {', '.join(missed).replace('_', ' ')} | {len(wrong)} | "
              f"{len(leaks):,} | {run.seconds:.1f} |", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="gputrack-bench.") as name:
        folder = pathlib.Path(name)
        if (BUILD / "bench/opencl_calls").exists():
            cost_table(folder)
            leak_table(folder, "ten_leaks_opencl", {}, "OpenCL on PoCL")
        if HAS_GPU or FAKE.exists():
            leak_table(folder, "ten_leaks_cuda", {} if HAS_GPU else {"LD_LIBRARY_PATH": str(FAKE)},
                       "CUDA" if HAS_GPU else "the stand-in for CUDA")
    missing = [f"{tool[0]} ({tool[5]})" for tool in TOOLS if not tool[2]]
    if missing:
        print("\nNot here: " + ", ".join(missing) + ".")


main()
