# SPDX-License-Identifier: MIT
"""test_same.py - real programs print the same and end the same with gputrack as without."""
import shutil
import subprocess


def test_third_party_programs_behave_the_same(case):
    """The short form of tests/same.sh, with what is installed."""
    case.pocl()
    programs = [p for p in ("clinfo", "clblast_test_xaxpy") if shutil.which(p)]
    if not programs:
        case.skip("neither clinfo nor clblast-tests is installed")
    done = subprocess.run(["sh", case.source / "tests/same.sh", case.build, *programs],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same: ") == len(programs), done.stdout
