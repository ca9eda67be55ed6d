# SPDX-License-Identifier: MIT
"""test_held.py - what libraries hold by design, in real programs: OpenCV on PoCL."""
import subprocess

PYTHON = "/usr/bin/python3"  # Debian's, for which Debian's packages are


def opencv(case):
    """The environment for tests/e2e/programs/held_opencv.py; skips where OpenCV is missing."""
    if subprocess.run([PYTHON, "-c", "import cv2"], capture_output=True).returncode:
        case.skip("OpenCV is not installed (python3-opencv)")
    return dict(case.pocl(), OPENCV_OPENCL_DEVICE=":CPU:", OPENCV_OPENCL_CACHE_ENABLE="0")


def run(case, env, *arguments, options=()):
    program = case.source / "tests/e2e/programs/held_opencv.py"
    done = case.gputrack("run", "-o", "cv.gt", "--fail-on-leak", *options, PYTHON, program,
                         *arguments, env=env)
    assert done.out.strip().isdigit(), (done.out, done.err)
    return done


def test_what_opencv_holds_is_not_a_leak(case):
    done = run(case, opencv(case))
    assert done.status == 0, done.err
    assert "No leaks: the program left no resource behind." in done.err, done.err
    assert "held by libraries until exit: 5 resources (OpenCV)" in done.err, done.err
    report = case.report("cv.gt", "leakage")
    assert report["totals"] == {"count": 0, "bytes": 0} and report["groups"] == []
    assert {by["library"] for by in report["held"]["by"]} == {"OpenCV"}
    assert report["held"]["count"] == sum(by["count"] for by in report["held"]["by"]) == 5


def test_an_image_that_the_script_keeps_is_a_leak(case):
    done = run(case, opencv(case), "keep")
    assert done.status == 23, done.err
    report = case.report("cv.gt", "leakage")
    group, = report["groups"]
    assert group["kind"] == "buffer" and group["count"] == 1, group
    assert report["held"]["count"] == 5


def test_without_the_list_everything_counts(case):
    done = run(case, opencv(case), options=["--no-held"])
    assert done.status == 23 and "LEAKED  5 resources" in done.err, done.err
    assert "held by libraries" not in done.err
    shown = case.gputrack("report", "cv.gt", "-a", "leakage", "--show-held")
    assert "HELD BY LIBRARIES  until exit: 5 resources (OpenCV)" in shown.out, shown.out
    assert "getProg" in shown.out and "the default context" in shown.out, shown.out
