#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""odd.py - the odd programs on NVIDIA's driver, bare and under `gputrack run`: needs a GPU.

usage: tests/gpu/odd.py BUILD_DIR [NAME...]

Prints a line for each row of tests/e2e/odd/table.py that has CUDA among its doors; fails if a program
behaves differently with gputrack.
"""
import os
import pathlib
import sys

os.environ["GPUTRACK_TEST_GPU"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import test_odd  # noqa: E402

build, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
counts = {"ok": 0, "FAIL": 0, "skip": 0}
for row in test_odd.table.ROWS:
    if row.held or "cuda" not in row.doors or names and row.name not in names:
        continue
    word, why = "ok", ""
    with harness.Case(build, row.name) as case:
        try:
            test_odd.under_run(case, row._replace(doors=("cuda",)))
        except harness.Skip as reason:
            word, why = "skip", str(reason).strip()
        except AssertionError as reason:
            word, why = "FAIL", str(reason)
    counts[word] += 1
    print(f"{word:4} {row.name}{': ' + why if why else ''}", flush=True)
print(f"odd programs on this GPU: {counts['ok']} as bare, {counts['FAIL']} not, {counts['skip']} skipped")
sys.exit(1 if counts["FAIL"] else 0)
