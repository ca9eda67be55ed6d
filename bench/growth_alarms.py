#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""growth_alarms.py - how often growth is reported of real programs that do not leak slowly.

usage: bench/growth_alarms.py BUILD_DIR [SECONDS [NAME...]]

Runs the OpenCL programs installed here (CLBlast's tests, short and in full; clpeak; clinfo), the
guide's repaired samples and `gputrack stress` on PoCL, short ones again and again, for SECONDS each
(default: 3), or those with NAME in their command, and judges each recording by `report
--fail-on-growth`. Those
shorter than 2 s cannot fail and are counted apart. build/bench/growth_alarms does the same with
synthetic programs.
"""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LEAST_NS = 2_000_000_000
CLPEAK = ("--global-bandwidth", "--compute-sp", "--compute-dp", "--compute-integer",
          "--compute-intfast", "--transfer-bandwidth", "--kernel-latency")
AGAIN = ("sh", "-c", 'while :; do "$@"; done', "again")  # until its time is up


def programs(build):
    for name in sorted(glob.glob("/usr/bin/clblast_test_*")):
        yield [*AGAIN, name, "-full_test"]
        yield [*AGAIN, name]
    if shutil.which("clpeak"):
        yield ["clpeak"]
        yield from (["clpeak", test] for test in CLPEAK)
    if shutil.which("clinfo"):
        yield [*AGAIN, "clinfo"]
    for name in sorted(glob.glob(f"{build}/samples/guide/after/*")):
        if os.access(name, os.X_OK) and os.path.isfile(name):
            yield [*AGAIN, name]
    for threads in ("1", "4"):
        for rate in ("100", "5000"):
            yield [str(build / "gputrack"), "stress", "--api", "opencl", "--threads", threads,
                   "--throughput", rate, "--duration", "4"]


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    seconds, names = (arguments[1] if len(arguments) > 1 else "3"), arguments[2:]
    environment = dict(os.environ, OCL_ICD_VENDORS=os.environ.get("OCL_ICD_VENDORS", "pocl.icd"))
    tool, alarms, judged, short = build / "gputrack", [], 0, 0

    def call(*command):
        return subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory() as work:
        for command in programs(build):
            if names and not any(name in " ".join(command) for name in names):
                continue
            call(tool, "run", "-q", "-o", "a.gt", "timeout", seconds, *command)
            usage = call(tool, "report", "a.gt", "-a", "usage", "-f", "json")
            points = json.loads(usage.stdout or "{}").get("points", [])
            lasted = points[-1]["time_ns"] - points[0]["time_ns"] if points else 0
            verdict = call(tool, "report", "a.gt", "--fail-on-growth", "-o", "/dev/null")
            shutil.rmtree(pathlib.Path(work) / "a.gt", ignore_errors=True)
            if verdict.returncode == 24 or lasted < LEAST_NS:
                short += 1
                continue
            judged += 1
            if verdict.returncode:
                alarms.append(command)
                print(" ".join(command) + ": " + " ".join(verdict.stderr.split()), flush=True)
    print(f"{judged} programs judged, {len(alarms)} said to grow; {short} more were too short")


if __name__ == "__main__":
    main(sys.argv[1:])
