#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""path.py - the path of a clCreateBuffer that leaks, from wrapper to printed line, as perf sees it.

usage: bench/path.py BUILD_DIR

Two trees of functions, each with the file that defines it: what runs in the traced program below the
wrapper, and what runs in `gputrack report -a leakage`. doc/ARCHITECTURE.md follows the same path.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
SHARE = 0.006  # of all samples: a function with fewer is left out
EVENTS, ROUNDS = "2000000", "4"


def definitions():
    """Function name -> the files that define one of that name."""
    found = collections.defaultdict(set)
    begins = re.compile(r"^(?:[a-z_][\w *]*?[ *])(\w+)\(", re.MULTILINE)
    for path in SOURCE.rglob("*.[ch]"):
        if path.parent.parent.name == "capture" and path.parent.name != "opencl":
            continue  # other doors have functions of the same names
        for match in begins.finditer(path.read_text()):
            found[match[1]].add(str(path.relative_to(SOURCE)))
    return found


def file_of(name, callers, found):
    """Static functions may share a name: then it is the one in the file of the nearest caller."""
    if name.startswith("wrap_"):
        return "made from api/opencl.def"
    files = found.get(name, ())
    near = [path for path in reversed(callers) if path in files]
    return (near or sorted((path for path in files if path.endswith(".c"))) or [""])[0]


def sample(command, root, folder, environment=None):
    """The number of samples of each chain of functions from `root` on."""
    data = folder / "perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "10000", "-g", "-o", str(data), *command],
                   check=True, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    text = subprocess.run(["perf", "script", "-i", str(data), "--no-inline", "-F", "ip,sym"],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    chains = collections.Counter()
    for block in text.split("\n\n"):
        # a name may carry what the compiler did to the function: .isra.0, .constprop.0
        names = [line.split()[1].split("+")[0].split(".")[0] for line in block.splitlines() if len(line.split()) > 1]
        names.reverse()
        if root in names:
            chains[tuple(names[names.index(root):])] += 1
    return chains


def show(title, chains, found):
    total = sum(chains.values())
    print(f"{title}: {total} samples")
    counts = collections.Counter()
    for chain, count in chains.items():
        for depth in range(1, len(chain) + 1):
            counts[chain[:depth]] += count

    def branch(chain, callers):
        name, depth = chain[-1], len(chain)
        path = file_of(name, callers, found)
        if not path or counts[chain] < total * SHARE:
            return
        print(f"  {counts[chain] * 100 / total:5.1f} %  {'  ' * (depth - 1)}{name}  {path}")
        for below in sorted((c for c in counts if len(c) == depth + 1 and c[:depth] == chain),
                            key=lambda c: -counts[c]):
            branch(below, [*callers, path])

    for root in {chain[:1] for chain in chains}:
        branch(root, [])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    found = definitions()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        traced = sample([str(build / "gputrack"), "run", "-q", "-o", str(folder / "calls.gt"),
                         str(build / "bench/opencl_calls"), ROUNDS], "wrap_clCreateBuffer", folder,
                        {"OCL_ICD_VENDORS": "pocl.icd"})
        show("in the traced program", traced, found)
        subprocess.run([str(build / "bench/make_events"), str(folder / "alive.gt"), EVENTS, "alive"], check=True)
        report = sample([str(build / "gputrack"), "report", "-a", "leakage", str(folder / "alive.gt")],
                        "gt_cmd_report", folder)
        show("in gputrack report -a leakage", report, found)


if __name__ == "__main__":
    main()
