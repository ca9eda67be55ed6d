#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""residue.py BUILD_DIR - what Intel's driver keeps of each kind of resource, and whether it returns.

Runs tests/e2e/programs/ze_cycles on Intel's Level Zero driver in simulation mode.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CYCLES = {"module": (1, 10, 40), "list": (1, 10, 1000), "immediate": (1, 10, 1000),
          "queue": (1, 10, 1000), "pool": (1, 10, 1000), "image": (1, 10, 1000),
          "device": (1, 10, 1000), "shared": (1, 10, 1000)}


def measure(build, kind, count, folder):
    env = dict(os.environ, NEOReadDebugKeys="1", SetCommandStreamReceiver="1",
               ProductFamilyOverride="dg1", AUBDumpCaptureFileName="/dev/null")
    run = subprocess.run([build / "gputrack", "run", "-q", "-o", folder / "r.gt", "--csv",
                          folder / "r.csv", build / "tests/e2e/programs/ze_cycles", kind,
                          str(count)], env=env, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"residue.py: {run.stderr}: is intel-opencl-icd installed?")
    path, = folder.glob("r_pid*.csv")
    with open(path, newline="") as text:
        rows = [{name: int(value) for name, value in row.items() if name != "APICall"}
                for row in csv.DictReader(text)]
    report = json.loads(subprocess.run([build / "gputrack", "report", folder / "r.gt", "--format",
                                        "json"], capture_output=True, text=True).stdout)["residue"]
    path.unlink()
    return (rows[-2]["VmRSS_KB"] - rows[0]["VmRSS_KB"], report["once"]["kb"], report["kb"],
            -rows[-1]["Delta_VmRSS_KB"])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: residue.py BUILD_DIR")
    build = pathlib.Path(sys.argv[1]).resolve()
    print("| kind | cycles | VmRSS grew, KB | kept once, KB | residue, KB | returned with the "
          "context, KB |\n|---|--:|--:|--:|--:|--:|")
    for kind, counts in CYCLES.items():
        for count in counts:
            with tempfile.TemporaryDirectory() as folder:
                grew, once, kb, back = measure(build, kind, count, pathlib.Path(folder))
            print(f"| {kind} | {count:,} | {grew:,} | {once:,} | {kb:,} | {back:,} |")


if __name__ == "__main__":
    main()
