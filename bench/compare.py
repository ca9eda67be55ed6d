#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py - findings of several tools on the guide's programs, as Markdown.

usage: bench/compare.py BUILD_DIR

Each tool gets the same programs, broken and fixed, and the same questions: how much does it report as
leaked, and at which position of its list is the line to blame. Missing tools are named.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATIENCE = 300

# name, what is wrong, gputrack's analysis that is for it, what the line to blame is known by
PROBLEMS = (
    ("frames", "1,000 events are never released", "leakage", "start_frame"),
    ("service", "a cache grows, freed at the end", "growth", "make_answer"),
    ("stages", "too much alive at the peak", "watermark", "run_stage"),
    ("lists", "the driver keeps 64 KiB for each list", "log", "CommandList"),
    ("train", "a Python list keeps tensors", "growth", "train.py"),
)


class Told:
    """A tool's total, and the position of the line to blame among its entries."""

    def __init__(self, total, entries, blame):
        self.total = total
        self.count = len(entries)
        self.place = next((i for i, entry in enumerate(entries, 1) if blame in entry), None)


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.environment = dict(
            os.environ, LC_ALL="C.UTF-8", GPUTRACK_CONFIG="", OCL_ICD_VENDORS="pocl.icd",
            POCL_DEVICES="basic", DEBUGINFOD_URLS="", GT_FAKE_ZE_RESIDUE="zeCommandListDestroy:64",
            ZE_ENABLE_ALT_DRIVERS=str(build / "tests/fake/levelzero/libze_fake.so"))

    def program(self, name, state):
        if name == "train":
            return ["python3", str(ROOT / "samples/guide" / state / "train.py")]
        return [str(self.build / "samples/guide" / state / name)]

    def run(self, *command, **more):
        """(status, stdout, stderr); a status of None means it took too long."""
        try:
            done = subprocess.run([str(word) for word in command], cwd=self.folder, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, capture_output=True,
                                  env=dict(self.environment, **more), timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return None, "", ""
        return done.returncode, done.stdout, done.stderr


def bare(bench, problem, state):
    bench.run(*bench.program(problem[0], state))
    return None


def gputrack_log(bench, problem, state):
    _, _, log = bench.run(bench.build / "gputrack", "run", "-q", "-o", "a.gt", "--log", "-",
                          *bench.program(problem[0], state), GPUTRACK_LOG_LEVEL="error")
    total = re.search(r"TOTAL LEAKS: (.*)", log)
    entries = re.findall(r"^  (\w+) leaks: .*$", log, re.M)
    return Told(f"driver keeps {total[1]}" if total else "nothing", entries, problem[3])


def gputrack(bench, problem, state):
    name, _, analysis, blame = problem
    if analysis == "log":
        return gputrack_log(bench, problem, state)
    tool = bench.build / "gputrack"
    bench.run(tool, "run", "-q", "-o", "a.gt", *bench.program(name, state))
    _, text, error = bench.run(tool, "report", "a.gt", "-a", analysis, "--format", "json")
    if not text:
        sys.exit(f"compare.py: gputrack could not report on {name}: {error}")
    report = json.loads(text)
    groups = report.get("groups") or report.get("sites") or []
    entries = [" ".join(f"{f['function']} {f['file']}" for f in g["stack"]) for g in groups]
    number = sum(g.get("count", 0) for g in groups)
    size = sum(g.get("bytes", 0) for g in groups)
    total = {"leakage": f"{number:,} leaked", "growth": f"{len(groups)} growing",
             "watermark": f"peak {size >> 20:,} MiB"}[analysis]
    return Told(total if groups else "nothing", entries, blame)


def heaptrack(bench, problem, state):
    for old in bench.folder.glob("heap.*"):
        old.unlink()
    bench.run("heaptrack", "-o", "heap", *bench.program(problem[0], state))
    data = next(bench.folder.glob("heap.*"), None)
    if not data:
        return Told("no data", [], "-")
    # leaks, or who was at the peak, as the problem asks
    leaks = problem[2] in ("leakage", "log")
    _, text, _ = bench.run("heaptrack_print", "-f", data, "-l", int(leaks), "-p", int(not leaks),
                           "-a", 0, "-T", 0, "-n", 10, "-s", 1)
    entries = re.split(r"^(?=\S.* (?:leaked|peak memory consumed|consumed) over \d+ calls from$)",
                       text, flags=re.M)[1:]
    what = "total memory leaked" if leaks else "peak heap memory consumption"
    total = re.search(what + r": (\S+)", text)
    return Told(("leaked " if leaks else "peak ") + (total[1] if total else "?"), entries,
                problem[3])


def valgrind(bench, problem, state):
    status, _, text = bench.run("valgrind", "--leak-check=full", *bench.program(problem[0], state))
    if status is None:
        return Told(f"gave up after {PATIENCE} s", [], "-")
    entries = re.split(r"^(?===\d+== .*are (?:definitely|possibly) lost)", text, flags=re.M)[1:]
    lost = re.search(r"definitely lost: (.*)", text)
    return Told(f"lost {lost[1]}" if lost else "nothing", entries, problem[3])


def validation(bench, problem, state):
    """Debian's own Level Zero layer, with all its checks."""
    if problem[0] != "lists":
        return Told("not for this API", [], "-")
    _, _, text = bench.run(*bench.program(problem[0], state), ZE_ENABLE_VALIDATION_LAYER="1",
                           ZE_ENABLE_HANDLE_LIFETIME="1", ZE_ENABLE_PARAMETER_VALIDATION="1",
                           ZE_ENABLE_MEMORY_TRACKER="1")
    return Told(f"{len(text.splitlines())} lines" if text else "nothing", text.splitlines(), "List")


TOOLS = (
    ("no tool", None, bare),
    ("gputrack", None, gputrack),
    ("heaptrack", "heaptrack", heaptrack),
    ("valgrind memcheck", "valgrind", valgrind),
    ("Level Zero's validation layer", None, validation),
)


def version(command):
    done = subprocess.run([command, "--version"], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0]


def row(bench, tool, run, problem):
    begun = time.monotonic()
    before = run(bench, problem, "before")
    seconds = time.monotonic() - begun
    if before is None:
        print(f"| {tool} | | | | {seconds:.1f} |", flush=True)
        return
    if before.total == "not for this API":
        return
    after = run(bench, problem, "after")
    place = f"place {before.place} of {before.count}" if before.place else "not named"
    print(f"| {tool} | {before.total} | {place} | {after.total} | {seconds:.1f} |", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "samples/guide/before/frames").exists():
        sys.exit(f"compare.py: {build} has no samples: build it first")
    here = [tool for tool in TOOLS if not tool[1] or shutil.which(tool[1])]
    print("With " + ", ".join([version(str(build / "gputrack"))]
                              + [version(tool[1]) for tool in here if tool[1]]) + ".")
    missing = [tool[0] for tool in TOOLS if tool not in here]
    if missing:
        print("Not installed here: " + ", ".join(missing) + ".")
    with tempfile.TemporaryDirectory(prefix="gputrack-compare.") as folder:
        bench = Bench(build, pathlib.Path(folder))
        for problem in PROBLEMS:
            print(f"\n**{problem[0]}**: {problem[1]}\n")
            print("| tool | says | line to blame | says when fixed | s |\n|---|---|---|---|--:|")
            for tool, _, run in here:
                row(bench, tool, run, problem)


if __name__ == "__main__":
    main()
