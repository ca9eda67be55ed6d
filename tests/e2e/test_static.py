# SPDX-License-Identifier: MIT
"""test_static.py - gputrack in one file: `./dev static`, for machines without our libraries."""
import json
import os
import pathlib
import shutil
import subprocess

import harness
from test_attach import need_root

TOGETHER = True  # one build of it


def settings(case):
    """Of ./dev in tests: libcurl and libmicrohttpd take minutes to make, which only the long form has."""
    kept = {} if os.environ.get("GPUTRACK_TEST_LONG") else {"NETWORK_LIBRARIES": "kept"}
    return dict(os.environ, BUILD=os.path.relpath(case.build, case.source), **kept)


def static(case):
    """Built like by a developer, in a separate folder."""
    if not list(pathlib.Path("/usr/lib").glob("*/libbz2.a")) or not shutil.which("dpkg"):
        case.skip("static libraries are not installed")
    architecture = case.run("dpkg", "--print-architecture").out.strip()
    folder = case.build_folder("static")
    done = subprocess.run(["sh", "dev", "static", "--arch", architecture], cwd=case.source, env=settings(case),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    # away from the build folder, and from all that lies there
    shutil.copy(folder / "gputrack", case.path("gputrack"))
    return case.path("gputrack")


def test_the_static_tool_needs_no_library_and_reads_recordings(case):
    tool = static(case)
    assert "INTERP" not in case.run("readelf", "-lW", tool).out
    assert case.run(tool, "--version").out.startswith("gputrack ")
    # nor does it load any: two C libraries in one process crash
    told = json.loads(case.run(tool, "doctor", "--json").out)
    tried = {part["section"]: part["findings"] for part in told["sections"]}
    for api in ("OpenCL", "Level Zero", "CUDA"):
        assert [finding["text"].split(":")[0] for finding in tried[api]] == ["not tried"], tried[api]
    done = case.gputrack("run", "-q", "-o", "a.gt", case.program("leaky"), env=case.pocl())
    assert done.status == 0, done.err
    for analysis in ("summary", "leakage", "sites"):
        ours = case.gputrack("report", "a.gt", "-a", analysis, "--format", "json").out
        assert case.run(tool, "report", "a.gt", "-a", analysis, "--format", "json").out == ours


@harness.alone
def test_the_static_tool_attaches(case):
    need_root(case)
    tool = static(case)
    done = case.run(tool, "attach", "-o", "a.gt", "-c", case.program("leaky"), env=case.pocl())
    assert done.status == 0 and "LEAKED  21 resources" in done.err, done.err
    assert case.report("a.gt", "leakage")["totals"] == {"count": 21, "bytes": 1 << 20}


def test_the_static_tool_reports_that_it_cannot_run_programs(case):
    tool = static(case)
    done = case.run(tool, "run", "-o", "a.gt", "touch", case.path("ran"))
    assert done.status == 1 and done.out == "", done.err
    assert done.err.startswith("gputrack: cannot track a program from its start: the libraries"), done.err
    assert "attach -c PROGRAM` works without them" in done.err and done.err.count("\n") == 1, done.err
    # nothing that looks as if it had been tracked
    assert not case.path("a.gt").exists() and not case.path("ran").exists()
