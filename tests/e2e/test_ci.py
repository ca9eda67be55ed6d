# SPDX-License-Identifier: MIT
"""test_ci.py - leaks in continuous integration: limits, suppressions, diff, formats."""
import json
import os
import re
import shutil
import xml.etree.ElementTree as xml

import readers

# A program of which there are two builds; LINES moves all that follows.
PROGRAM = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdlib.h>
%(lines)s
static cl_context context;
__attribute__((noinline)) static void keep_buffer(size_t size)
{
	clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, NULL);
}
__attribute__((noinline)) static void forget_events(int count)
{
	while (count--)
		clCreateUserEvent(context, NULL);
}
__attribute__((noinline)) static void %(third)s(void)
{
	clCreateBuffer(context, CL_MEM_READ_ONLY, 4096, NULL, NULL);
}
int main(void)
{
	cl_platform_id platform;
	cl_device_id device;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 9;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	keep_buffer(1 << 20);
	forget_events(%(events)d);
	%(third)s();
	clReleaseContext(context);
	return 0;
}
"""


def build(case, lines, third, events):
    """Compiles a build of the program to ./app, always the same path."""
    compiler = shutil.which("cc") or case.skip("there is no compiler")
    case.path("app.c").write_text(PROGRAM % {"lines": "\n" * lines, "third": third,
                                             "events": events})
    done = case.run(compiler, "-g", "-O1", "app.c", "-o", "app", "-lOpenCL")
    assert done.status == 0, done.err


def record(case, name, *options):
    return case.gputrack("run", "-q", "-o", name, *options, "./app", env=case.pocl())


def builds(case):
    """Recordings of two builds at the same path: only the newer program still exists."""
    build(case, 0, "old_way", 5)
    assert record(case, "old.gt").status == 0
    build(case, 30, "new_way", 8)
    assert record(case, "new.gt").status == 0


def sites(done):
    return {(site["change"], site["stack"][0]["function"]): (site["old"], site["new"])
            for site in json.loads(done.out)["sites"]}


def test_diff_matches_two_builds_by_function_and_file(case):
    builds(case)
    done = case.gputrack("diff", "old.gt", "new.gt", "--format", "json")
    assert done.status == 23, done.err
    readers.check_report(case, json.loads(done.out))
    assert sites(done) == {
        ("same", "keep_buffer"): ({"count": 1, "bytes": 1 << 20}, {"count": 1, "bytes": 1 << 20}),
        ("grew", "forget_events"): ({"count": 5, "bytes": 0}, {"count": 8, "bytes": 0}),
        ("fixed", "old_way"): ({"count": 1, "bytes": 4096}, {"count": 0, "bytes": 0}),
        ("new", "new_way"): ({"count": 0, "bytes": 0}, {"count": 1, "bytes": 4096}),
    }
    text = case.gputrack("diff", "old.gt", "new.gt")
    assert text.status == 23
    for line in ("NEW  1 call site", "GREW  1 call site", "FIXED  1 call site",
                 "AS BEFORE  1 call site",
                 "+4.00 KiB      +1  1 buffer by clCreateBuffer (OpenCL)"):
        assert line in text.out, text.out
    # the older build's own lines, though its program is no longer there
    old_line = PROGRAM[:PROGRAM.index("clCreateBuffer(context, CL_MEM_READ_ONLY")].count("\n") + 1
    assert f"app.c:{old_line}" in text.out.split("FIXED")[1], text.out
    failed = "FAILED 1 call site leaks that did not leak before, 1 leaks more than before\n"
    assert text.err == failed, text.err
    filed = case.gputrack("diff", "old.gt", "new.gt", "-o", "diff.txt")
    assert (filed.status, filed.out, filed.err) == (23, "", failed)
    assert case.gputrack("diff", "new.gt", "new.gt").status == 0
    assert case.gputrack("diff", "old.gt").status == 2
    assert case.gputrack("diff", "old.gt", "none.gt").status == 1


def test_diff_shows_usage_even_if_nothing_leaks(case):
    """The guide's service, before and after: everything is released at the end."""
    for name in ("before", "after"):
        done = case.gputrack("run", "-q", "-o", f"{name}.gt",
                             case.build / f"samples/guide/{name}/service")
        assert done.status == 0, done.err
    done = case.gputrack("diff", "after.gt", "before.gt", "--format", "json")
    assert done.status == 0, done.err
    diff = json.loads(done.out)
    readers.check_report(case, diff)
    peak = case.report("before.gt", "watermark")["peak"]["device_bytes"]
    assert diff["peak"]["new"]["device_bytes"] == peak > diff["peak"]["old"]["device_bytes"]
    for side in ("old", "new"):
        held = sum(site[side]["bytes"] for site in diff["at_peak"])
        assert held == diff["peak"][side]["device_bytes"]
    first = diff["at_peak"][0]
    assert first["stack"][1]["function"] == "make_answer"
    assert first["new"] == {"count": 400, "bytes": 400 << 18}
    assert first["old"] == {"count": 10, "bytes": 10 << 18}
    assert diff["totals"]["new"]["created"] > diff["totals"]["old"]["created"]
    assert [(site["change"], site["stack"][1]["function"]) for site in diff["growing"]] == \
        [("new", "make_answer")]
    text = case.gputrack("diff", "after.gt", "before.gt").out
    assert "PEAK  3.50 MiB → 101 MiB of device memory, +97.5 MiB" in text, text
    assert "GROWING  1 call site that did not grow before" in text, text
    back = case.gputrack("diff", "before.gt", "after.gt").out
    assert "NO LONGER GROWING  1 call site" in back, back


def test_a_peak_above_its_limit_fails_and_names_the_limit(case):
    program = case.build / "samples/guide/before/frames"
    over = case.gputrack("run", "-o", "a.gt", "--max-peak", "60K", program)
    assert over.status == 23
    assert "FAILED peak device memory, 64.0 KiB, exceeds --max-peak=60.0 KiB" in \
        " ".join(over.err.split()), over.err
    assert "fail-on-leak" not in over.err, "nobody asked about leaks"
    assert case.gputrack("run", "-q", "-o", "a.gt", "--max-peak=64K", program).status == 0
    both = case.gputrack("report", "a.gt", "--max-peak=1K", "--fail-on-leak")
    assert both.status == 23 and both.err.count("FAILED") == 2, both.err
    verdict = json.loads(case.gputrack("report", "a.gt", "-a", "leakage", "--max-peak=1K",
                                       "--format", "json").out)
    readers.check_report(case, verdict)
    assert verdict["verdict"]["outcome"] == "peak"
    assert verdict["verdict"]["peak"] == {"bytes": 65536, "most": 1024, "exceeded": True}
    nothing = case.gputrack("run", "-q", "-o", "n.gt", "--max-peak=1G", "true")
    assert nothing.status == 24 and nothing.err.count("FAILED") == 1, nothing.err
    assert nothing.err.startswith("FAILED nothing was tracked"), nothing.err
    assert case.gputrack("report", "a.gt", "-a", "usage", "--max-peak=1K").status == 2
    assert case.gputrack("report", "a.gt", "--max-peak=none").status == 2


def test_a_quiet_run_that_fails_says_why_in_one_line(case):
    build(case, 0, "old_way", 5)
    failed = "FAILED --fail-on-leak=any: 7 resources, 1.00 MiB\n"
    done = record(case, "a.gt", "--fail-on-leak")
    assert (done.status, done.err) == (23, failed)
    done = case.gputrack("report", "a.gt", "--fail-on-leak", "-o", "a.txt")
    assert (done.status, done.out, done.err) == (23, "", failed)
    done = record(case, "b.gt", "--fail-on-leak", "--max-peak=1K")
    assert done.status == 23 and done.err.count("FAILED") == 2, done.err
    for options in (["--fail-on-leak=event>9"], []):
        done = record(case, "c.gt", *options)
        assert (done.status, done.err) == (0, "")


def test_growth_fails_if_asked_in_every_form(case):
    """The guide's service: a cache that is freed only at the end."""
    for name, status in (("before", 23), ("after", 0)):
        done = case.gputrack("run", "-q", "-o", f"{name}.gt", "--fail-on-growth",
                             case.build / f"samples/guide/{name}/service")
        assert done.status == status, done.err
        line = " ".join(done.err.split())
        assert line.startswith("FAILED --fail-on-growth: +") if status else not line, done.err
        assert not status or ("since" in line and "make_answer" in line), done.err
    for options, status in ((["--fail-on-growth=1KiB/day"], 23), (["--fail-on-growth=1GiB/s"], 0),
                            (["--fail-on-growth=1/day"], 0), ([], 0)):
        done = case.gputrack("report", "before.gt", *options, "-o", "a.txt")
        assert done.status == status and not done.out, done.err
    assert case.gputrack("diff", "after.gt", "before.gt").status == 0
    done = case.gputrack("diff", "after.gt", "before.gt", "--fail-on-growth", "-o", "a.txt")
    assert done.status == 23 and done.err.startswith("FAILED --fail-on-growth: +"), done.err
    assert case.gputrack("diff", "before.gt", "before.gt", "--fail-on-growth").status == 0
    assert case.gputrack("report", "before.gt", "--fail-on-growth", "--baseline",
                         "before.gt").status == 0

    def form(name, *options):
        return case.gputrack("report", "before.gt", "-f", name, *options).out
    for options, element, level, mark in (((), "system-out", "note", "warning"),
                                          (("--fail-on-growth",), "failure", "error", "error")):
        grows = [test for test in xml.fromstring(form("junit", *options)).iter("testcase")
                 if test.get("name").startswith("growth of opencl.buffer at ")]
        assert [[part.tag for part in test] for test in grows] == [[element]]
        assert grows[0].get("file").endswith(("opencl.h", "service.c")), grows[0].attrib
        result, = json.loads(form("sarif", *options))["runs"][0]["results"]
        assert (result["ruleId"], result["level"]) == ("growth", level)
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert form("github", *options).startswith(f"::{mark} file="), form("github", *options)
    report = json.loads(case.gputrack("report", "before.gt", "-a", "leakage", "-f", "json",
                                      "--fail-on-growth").out)
    readers.check_report(case, report)
    assert report["verdict"]["outcome"] == "growing"
    assert report["verdict"]["growth"]["failing"] == 1


def test_a_copied_recording_has_its_names(case):
    """Copied to a machine without the program and its source."""
    build(case, 0, "third", 2)
    record(case, "here.gt")
    os.rename(case.path("app"), case.path("gone"))
    frames = case.report("here.gt", "leakage")["groups"][0]["stack"]
    assert frames[0]["function"] == "keep_buffer" and frames[0]["file"].endswith("app.c"), frames
    assert "is not on this machine" not in case.gputrack("report", "here.gt", "-a", "leakage").out
    nameless = case.report("here.gt", "leakage", "--no-symbols")["groups"][0]["stack"]
    assert nameless[0]["function"] is None


def test_a_baseline_lets_only_new_leaks_fail(case):
    builds(case)
    assert record(case, "again.gt", "--fail-on-leak", "--baseline", "new.gt").status == 0
    done = case.gputrack("run", "-o", "fails.gt", "--fail-on-leak", "--baseline", "old.gt", "./app",
                         env=case.pocl())
    assert done.status == 23, done.err
    assert "FAILED --fail-on-leak=any: 4 resources, 4.00 KiB" in done.err, done.err
    assert "not counted, already in old.gt: 6 resources, 1.00 MiB" in done.err, done.err
    # who does not ask for a verdict gets none
    done = case.gputrack("run", "-o", "shown.gt", "--baseline", "old.gt", "./app", env=case.pocl())
    assert done.status == 0 and "COUNTED 4 resources, 4.00 KiB" in done.err, done.err
    assert "FAILED" not in done.err and "PASSED" not in done.err, done.err
    assert "keep_buffer" not in done.err.split("PEAK")[0] and "new_way" in done.err
    # limits count what is new as well
    for spec, status in (("event>3", 0), ("event>2", 23), ("memory>4KiB", 0), ("memory>=4KiB", 23)):
        done = case.gputrack("report", "new.gt", "--baseline", "old.gt", f"--fail-on-leak={spec}")
        assert done.status == status, (spec, done.err)
    assert record(case, "x.gt", "--baseline", "none.gt").status == 1


def test_a_baseline_is_read_like_the_new_recording(case):
    """Two runs of one program have no new leaks, however its frames are shown."""
    build(case, 0, "third", 5)
    assert record(case, "a.gt").status == 0 and record(case, "b.gt").status == 0
    case.path("files").mkdir()
    for more in ([], ["--all-frames"], ["--no-symbols"], ["--symbols", "files"]):
        done = case.gputrack("report", "b.gt", "--baseline", "a.gt", "--fail-on-leak", *more)
        assert done.status == 0, (more, done.err)
    # names of the older program are where --symbols says, for it has gone from its place
    case.path("app").rename(case.path("files/app"))
    shutil.rmtree(case.path("b.gt"))
    build(case, 7, "third", 5)
    assert record(case, "b.gt").status == 0
    for name in ("a.gt/legend", "b.gt/legend"):
        case.path(name).unlink()
    done = case.gputrack("report", "b.gt", "--baseline", "a.gt", "--fail-on-leak", "--symbols",
                         "files")
    assert done.status == 0, done.err


def test_limits_by_kind_bytes_and_count(case):
    build(case, 0, "third", 5)
    for spec, status in (("any", 23), ("memory>1MiB", 23), ("memory>2MiB", 0), ("event>4", 23),
                         ("event>=5", 23), ("event>5", 0), ("opencl.event>=5", 23),
                         ("levelzero", 0), ("cl_mem>1", 23), ("cl_mem>2", 0), ("context", 0),
                         ("image,event>100,memory>2MiB", 0), ("image,event>100,buffer", 23),
                         ("evnt", 2), ("memory>1", 2)):
        done = record(case, "l.gt", f"--fail-on-leak={spec}")
        assert done.status == status, (spec, done.status, done.err)
    # a mistake is told of before the program runs
    shutil.rmtree(case.path("l.gt"))
    done = record(case, "l.gt", "--fail-on-leak=evnt")
    assert done.err.startswith("gputrack: run: --fail-on-leak: character 1, 'evnt'"), done.err
    assert not case.path("l.gt").exists()


def test_suppressions_hide_known_leaks(case):
    build(case, 0, "third", 5)
    case.path("some.supp").write_text("# known\nleak:forget_events\nleak[image]:keep_buffer\n")
    done = case.gputrack("run", "-o", "s.gt", "--fail-on-leak", "--suppressions", "some.supp",
                         "./app", env=case.pocl())
    assert done.status == 23, done.err
    assert "suppressed 5 resources: some.supp:2 leak:forget_events" in done.err, done.err
    assert "unused suppression: some.supp:3 leak[image]:keep_buffer" in done.err, done.err
    assert "forget_events" not in done.err.split("PEAK")[0], done.err
    done = case.gputrack("suppress", "s.gt", "-o", "all.supp")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert "leak[opencl.buffer]:^keep_buffer$" in case.path("all.supp").read_text()
    assert record(case, "t.gt", "--fail-on-leak", "--suppressions", "all.supp").status == 0
    done = record(case, "u.gt", "--suppressions", "none.supp")
    assert done.status == 1 and "none.supp" in done.err and len(done.err.splitlines()) == 1
    assert not case.path("u.gt").exists()


def test_suppressions_for_functions_with_very_long_names_work(case):
    name = "long_" + "x" * 3000 + "_middle_" + "y" * 3000 + "_end"
    build(case, 0, name, 5)
    assert record(case, "a.gt").status == 0
    assert case.gputrack("suppress", "a.gt", "-o", "s.supp").status == 0
    done = case.gputrack("report", "a.gt", "--suppressions", "s.supp", "--fail-on-leak")
    assert done.status == 0 and "unused suppression" not in done.err, done.err
    line, = [line for line in case.path("s.supp").read_text().splitlines()
             if line.startswith("leak[") and "long_" in line]
    assert "_middle_" not in line and line.endswith("y_end$ < ^main$") and "x*" in line, line


def test_tracking_nothing_does_not_pass(case):
    for how in ("junit", "sarif", "github", "gitlab", "text", "json"):
        case.gputrack("run", "-q", "-o", "n.gt", "/bin/true")
        done = case.gputrack("report", "n.gt", "--fail-on-leak", "--format", how)
        assert done.status == 24 and "nothing was tracked, so gputrack cannot tell whether" in done.err, (how, done.err)
    assert case.gputrack("diff", "n.gt", "n.gt").status == 24


def junit_cases(text):
    """The test cases of a JUnit file whose structure has been checked."""
    root = xml.fromstring(text)
    assert root.tag == "testsuites" and [child.tag for child in root] == ["testsuite"]
    suite = root[0]
    cases = suite.findall("testcase")
    assert [child.tag for child in suite] == ["properties"] + ["testcase"] * len(cases)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(name)) == len(suite.findall(f"testcase/{tag}")), name
        if name != "skipped":
            assert suite.get(name) == root.get(name)
    assert int(suite.get("tests")) == len(cases) == int(root.get("tests"))
    for one in cases:
        assert one.get("name") and one.get("classname") and float(one.get("time")) == 0
        assert {child.tag for child in one} <= {"failure", "error", "skipped", "system-out"}
        assert len(one) <= 1
    return cases


def test_junit(case):
    build(case, 0, "third", 5)
    record(case, "j.gt")
    case.path("s.supp").write_text("leak:third\n")
    done = case.gputrack("report", "j.gt", "--format", "junit", "--fail-on-leak=memory",
                         "--suppressions", "s.supp", "-o", "out.xml")
    assert done.status == 23 and done.out == ""
    cases = junit_cases(case.path("out.xml").read_text())
    assert {one.get("classname") for one in cases} == {"j"}
    results = {one.get("name"): one[0].tag if len(one) else "passed" for one in cases}
    assert results == {"leaks": "passed", "opencl.buffer at keep_buffer, app.c": "failure",
                       "opencl.buffer at third, app.c": "skipped",
                       "opencl.event at forget_events, app.c": "system-out"}, results
    one = [c for c in cases if "keep_buffer" in c.get("name")][0]
    assert one.get("file") == "app.c" and int(one.get("line")) > 5
    assert one[0].get("message") == ("1 buffer leaked by clCreateBuffer (OpenCL): 1.00 MiB, at "
                                     f"keep_buffer app.c:{one.get('line')}")


def test_a_junit_reader_accepts_the_file(case):
    build(case, 0, "third", 5)
    record(case, "j.gt")
    case.path("s.supp").write_text("leak:third\n")
    case.gputrack("report", "j.gt", "--format", "junit", "--fail-on-leak=memory",
                  "--suppressions", "s.supp", "-o", "out.xml")
    told = readers.check(case, "junit", case.path("out.xml"))
    assert {name: results for name, _, results in told["cases"]} == {
        "leaks": [], "opencl.buffer at keep_buffer, app.c": ["failure"],
        "opencl.buffer at third, app.c": ["skipped"],
        "opencl.event at forget_events, app.c": []}, told
    assert (told["tests"], told["failures"], told["errors"]) == (4, 1, 0), told


def night(case):
    """Two runs of three tests, and of one that uses no GPU; the second run is of a newer build."""
    for run, (third, events) in enumerate((("old_way", 5), ("new_way", 8)), 1):
        build(case, 0, third, events)
        for test in ("app", "other"):
            assert record(case, f"night/{run}/{test}.gt").status == 0
        assert case.gputrack("run", "-q", "-o", f"night/{run}/nogpu.gt", "/bin/true").status == 0


def test_many_recordings_get_one_verdict(case):
    """Each leak once, with the tests and runs that have it; a test without a GPU is skipped."""
    for folder in ("night/1", "night/2"):
        case.path(folder).mkdir(parents=True)
    night(case)
    done = case.gputrack("report", "night", "--fail-on-leak")
    assert done.status == 23 and "FAILED 2 of 3 tests" in done.err, done.err
    assert done.out.count("keep_buffer  app.c:") == 1 and "in app, other\n" in done.out, done.out
    assert "in app (1 of 2 runs), other (1 of 2 runs)" in done.out
    told = json.loads(case.gputrack("report", "night", "--format", "json").out)
    readers.check_report(case, told)
    assert [(t["test"], t["runs"], t["outcome"]) for t in told["tests"]] == \
        [("app", 2, "leaked"), ("nogpu", 2, "untracked"), ("other", 2, "leaked")]
    assert {leak["stack"][0]["function"]: (leak["count"], len(leak["tests"]))
            for leak in told["groups"]} == {"keep_buffer": (1, 2), "forget_events": (8, 2),
                                            "old_way": (1, 2), "new_way": (1, 2)}
    # only what the same test did not leak in the baseline, and nothing of a test it lacks
    known = case.gputrack("report", "night/2", "--baseline", "night/1", "--fail-on-leak",
                          "--format", "gitlab")
    assert known.status == 23, known.err
    found = json.loads(known.out)
    assert sorted(one["description"].split(" at ")[1].split()[0] for one in found) == \
        ["forget_events", "new_way"], found
    assert all(one["location"] == {"path": "app.c", "lines": one["location"]["lines"]} and
               one["severity"] == "critical" for one in found), found
    for run in ("1", "2"):
        shutil.rmtree(case.path(f"night/{run}/other.gt"))
    root = xml.fromstring(case.gputrack("report", "night", "--format", "junit").out)
    assert [(s.get("name"), s.get("errors"), s.get("skipped")) for s in root] == \
        [("app", "0", "0"), ("app", "0", "0"), ("nogpu", "0", "1"), ("nogpu", "0", "1")]
    assert {p.get("name") for p in root[0].iter("property")} >= {"peak_bytes", "leaked_bytes"}
    started = re.search("^started: (.{19})", case.path("night/1/nogpu.gt/info").read_text(), re.M)[1]
    assert root[2].get("timestamp") == started, "also where nothing was recorded"
    path = case.path("night.sarif")
    case.gputrack("report", "night", "--format", "sarif", "-o", path)
    assert len(check_sarif(json.loads(path.read_text()))) == 4
    diff = case.gputrack("diff", "night/1", "night/2", "--format", "json")
    assert diff.status == 23 and ("new", "new_way") in sites(diff)
    readers.check_report(case, json.loads(diff.out))
    case.gputrack("suppress", "night", "-o", "all.supp")
    assert case.gputrack("report", "night", "--fail-on-leak", "--suppressions",
                         "all.supp").status == 0
    case.gputrack("suppress", "night", "--only", "way$", "-o", "ways.supp")
    left = case.gputrack("report", "night", "--suppressions", "ways.supp", "--format", "json")
    assert sorted(g["stack"][0]["function"] for g in json.loads(left.out)["groups"]) == \
        ["forget_events", "keep_buffer"]
    readers.check(case, "sarif", path)


def test_paths_are_relative_to_the_root_where_the_build_is_elsewhere(case):
    case.path("project/src").mkdir(parents=True)
    case.path("elsewhere").mkdir()
    source = case.path("project/src/app.c")
    source.write_text(PROGRAM % {"lines": "", "third": "third", "events": 1})
    done = case.run(shutil.which("cc") or case.skip("there is no compiler"), "-g", source, "-o",
                    case.path("elsewhere/app"), "-lOpenCL")
    assert done.status == 0, done.err
    assert case.gputrack("run", "-q", "-o", "r.gt", case.path("elsewhere/app"),
                         env=case.pocl()).status == 0
    for form, wanted in (("github", "file=src/app.c,line="), ("junit", 'file="src/app.c" line='),
                         ("gitlab", '"path": "src/app.c"'), ("sarif", '"uri": "src/app.c"')):
        out = case.gputrack("report", "r.gt", "--format", form, "--root", "project").out
        assert wanted in out and "project" not in out.replace(str(source), ""), out
        assert wanted not in case.gputrack("report", "r.gt", "--format", form).out


def check_sarif(log):
    """Requirements of SARIF 2.1.0 beyond its schema."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    assert set(log) <= {"$schema", "version", "runs"} and len(log["runs"]) == 1
    run = log["runs"][0]
    assert set(run) <= {"tool", "invocations", "columnKind", "results"}
    driver = run["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] == "gputrack" and len(rules) == len(set(rules))
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
    for result in run["results"]:
        assert set(result) <= {"ruleId", "level", "message", "locations", "partialFingerprints",
                               "stacks", "suppressions", "properties", "baselineState"}
        assert result["ruleId"] in rules and result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert result.get("baselineState", "new") in ("new", "unchanged", "updated", "absent")
        places = result["locations"] + [frame["location"] for stack in result.get("stacks", [])
                                        for frame in stack["frames"]]
        for place in places:
            artifact = place.get("physicalLocation", {}).get("artifactLocation")
            if artifact:
                assert " " not in artifact["uri"] and "\\" not in artifact["uri"]
                assert artifact["uri"].startswith("file:///") == ("uriBaseId" not in artifact)
                region = place["physicalLocation"].get("region", {"startLine": 1})
                assert region["startLine"] >= 1
        for one in result["suppressions"]:
            assert one["kind"] in ("external", "inSource")
    return run["results"]


def test_sarif(case):
    builds(case)
    case.path("s.supp").write_text("leak:new_way\n")
    done = case.gputrack("report", "new.gt", "--format", "sarif", "--baseline", "old.gt",
                         "--suppressions", "s.supp")
    assert done.status == 0
    results = {r["stacks"][0]["frames"][0]["location"]["logicalLocations"][0]["fullyQualifiedName"]:
               r for r in check_sarif(json.loads(done.out))}
    assert results["keep_buffer"]["baselineState"] == "unchanged"
    assert results["forget_events"]["baselineState"] == "updated"
    assert results["forget_events"]["level"] == "error"
    assert results["new_way"]["baselineState"] == "new"
    assert results["new_way"]["suppressions"][0]["kind"] == "external"
    where = results["keep_buffer"]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "app.c", "uriBaseId": "%SRCROOT%"}
    # the site keeps its fingerprint though its line has moved
    before = {r["properties"]["function"] + r["partialFingerprints"]["gputrackSite/v1"]
              for r in check_sarif(json.loads(case.gputrack("report", "old.gt", "--format",
                                                            "sarif").out))}
    after = {r["properties"]["function"] + r["partialFingerprints"]["gputrackSite/v1"]
             for r in results.values()}
    assert len(before & after) == 2 and len(before | after) == 4


def test_sarif_matches_its_own_schema(case):
    builds(case)
    case.path("s.supp").write_text("leak:new_way\n")
    for number, more in enumerate(([], ["--baseline", "old.gt"], ["--suppressions", "s.supp"],
                                   ["--max-peak", "1", "--baseline", "old.gt"],
                                   ["--fail-on-leak=memory", "--baseline", "old.gt"])):
        path = case.path(f"{number}.sarif")
        done = case.gputrack("report", "new.gt", "--format", "sarif", "-o", path, *more)
        assert done.status in (0, 23), done.err
        peaks = [r for r in check_sarif(json.loads(path.read_text())) if r["ruleId"] == "peak"]
        assert len(peaks) == ("--max-peak" in more), peaks
        assert all(r["locations"][0]["physicalLocation"]["region"] for r in peaks), peaks
        readers.check(case, "sarif", path)
    wrong = json.loads(path.read_text())
    wrong["runs"][0]["results"][0]["level"] = "dreadful"
    path.write_text(json.dumps(wrong))
    try:
        readers.check(case, "sarif", path)
    except AssertionError as mistake:
        assert "dreadful" in str(mistake)
    else:
        raise AssertionError("the schema finds no mistake in anything")


def test_github_annotations(case):
    build(case, 0, "third", 5)
    record(case, "g.gt")
    done = case.gputrack("report", "g.gt", "--format", "github", "--fail-on-leak=memory")
    lines = done.out.splitlines()
    assert done.status == 23 and len(lines) == 3, done.out
    assert lines[0].startswith("::error file=app.c,line="), lines
    assert "title=1 buffer leaked by clCreateBuffer (OpenCL)%3A 1.00 MiB%2C at keep_buffer app.c%3A" in lines[0]
    assert "%0A  keep_buffer (app.c:" in lines[0]
    assert lines[2].startswith("::warning file=app.c,line=") and "5 events" in lines[2]


def test_reports_match_their_schema(case):
    builds(case)
    case.path("s.supp").write_text("leak:new_way\n")
    for analysis in case.analyses():
        report = case.report("new.gt", analysis)
        assert report["analysis"] == analysis
        readers.check_report(case, report)
    verdict = case.report("new.gt", "leakage", "--baseline", "old.gt", "--suppressions", "s.supp")
    readers.check_report(case, verdict)
    assert verdict["verdict"]["outcome"] == "leaked"
    assert verdict["verdict"]["suppressed"] == {"count": 1, "bytes": 4096}
    assert verdict["verdict"]["known"] == {"count": 6, "bytes": 1 << 20}
    assert [group["stack"][0]["function"] for group in verdict["groups"]] == ["forget_events"]


def test_the_schema_rejects_wrong_reports(case):
    builds(case)
    good = case.report("new.gt", "leakage", "--baseline", "old.gt")
    readers.check_report(case, good)
    for path, value, words in ((("verdict", "outcome"), "maybe", "'maybe' is not one of"),
                               (("recording", "path"), None, "'path' is a required property"),
                               (("totals", "count"), -1, "-1 is less than the minimum of 0"),
                               (("totals", "count"), 1.0, "1.0 is not of type 'integer'"),
                               (("totals", "count"), True, "True is not of type 'integer'"),
                               (("groups", 0, "objects", 0, "handle"), "7", "'7' does not match"),
                               (("schema",), 2, "1 was expected")):
        wrong = json.loads(json.dumps(good))
        place = wrong
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        if value is None:
            del place[path[-1]]
        try:
            readers.check_report(case, wrong)
        except AssertionError as mistake:
            assert words in str(mistake), mistake
        else:
            raise AssertionError(f"{value!r} fits as {path}")
