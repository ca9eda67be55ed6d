# SPDX-License-Identifier: MIT
"""test_opencl.py - the OpenCL door: every kind of object, and the sample that the demo runs."""
import collections
import json
import re
import shutil

from opencl_lives import (KINDS, SOURCES, assert_nothing_lost, by_handle, leaked, living,
                          read_events, read_log, where)

# Every kind of object, against the program's own log.

def run_objects(case, env, *more):
    done = case.gputrack("run", "-q", "-o", "o.gt", case.program("objects"), "--log", "o.log",
                         *more, env=env)
    assert done.status == 0, (done.status, done.out, done.err)
    assert done.err == "", done.err
    return done


def platform_name(case, env):
    listing = case.run("clinfo", "-l", env=env).out
    return re.search(r"Platform #0: (.*)", listing).group(1).strip()


def check_objects(case, env, wanted_kinds):
    run_objects(case, env)
    logged, events = read_log(case.path("o.log")), case.events("o.gt")
    assert {life.kind for life in logged if life.effect == "create"} == wanted_kinds

    # root devices are nobody's to release: the program asks for it once, and does not log it
    born = {e["handle"] for e in events if e["effect"] == "create"}
    roots = [e for e in events if e["kind"] == "sub-device" and e["handle"] not in born
             and e["outcome"] == "done"]
    assert sorted(e["effect"] for e in roots) == ["release", "retain"], roots
    events = [e for e in events if e not in roots]

    recorded = read_events(events, *SOURCES["objects"])
    assert len(recorded) == len(logged)
    assert by_handle(recorded) == by_handle(logged)

    # failed calls are told of, and change nothing
    failed = collections.Counter(e["function"] for e in events if e["outcome"] == "failed")
    for function in ("clEnqueueFillBuffer", "clEnqueueCopyBuffer", "clEnqueueNDRangeKernel",
                     "clEnqueueMarkerWithWaitList", "clCreateKernelsInProgram"):
        assert failed[function] == 1, failed

    name = platform_name(case, env)
    assert {e["place"] for e in events if e["effect"] == "create" and e["outcome"] == "done"} \
        == {name}
    tids = {e["tid"] for e in events if e["effect"] == "create"}
    assert tids == {events[0]["pid"]}, tids

    summary = case.report("o.gt", "summary")
    assert_nothing_lost(summary)
    assert summary["totals"] == {"count": 0, "bytes": 0} and summary["groups"] == []
    assert summary["redundant"] == [] and summary["unknown_ends"] == 0 == summary["replaced"]
    created = collections.Counter(life.kind for life in logged if life.effect == "create")
    assert {k["kind"]: k["created"] for k in summary["kinds"] if k["created"]} == created
    assert all(k["ended"] == k["created"] and k["live"] == 0 for k in summary["kinds"])
    failures = collections.Counter()
    for failure in summary["failures"]:
        failures[failure["function"]] += failure["count"]
        if failure["function"] != "clCreateBuffer":
            assert failure["result"] != 0 and failure["result_name"].startswith("CL_"), failure
    assert failures == failed
    # the code where the program asked for it, and otherwise none
    assert [(f["result"], f["result_name"]) for f in summary["failures"]
            if f["function"] == "clCreateBuffer"] == [(-61, "CL_INVALID_BUFFER_SIZE"), (None, None)]
    assert [e["result"] for e in events if e["function"] == "clCreateBuffer"
            and e["outcome"] == "failed"] == [-61, None]
    return events, recorded


COMMON_KINDS = {"context", "queue", "buffer", "sub-buffer", "image", "sampler", "program",
                "kernel", "event", "SVM block"}


def test_objects_on_pocl_match_the_programs_log(case):
    events, recorded = check_objects(case, case.pocl(), COMMON_KINDS | {"sub-device"})
    devices = [e for e in events if e["function"] == "clCreateSubDevices"]
    assert devices and len({e["handle"] for e in devices}) == len(devices)
    # several at once: two calls of three kernels
    kernels = [life.where for life in recorded if life.kind == "kernel" and life.effect == "create"]
    assert sorted(collections.Counter(kernels).values())[-2:] == [3, 3], kernels


def test_objects_on_intel_match_the_programs_log(case):
    _, recorded = check_objects(case, case.intel(), COMMON_KINDS | {
        "pipe", "host memory", "device memory", "shared memory"})
    usm = [life for life in recorded if life.kind.endswith(" memory")]
    assert {life.bytes for life in usm if life.effect == "create"} == {3000, 5000, 7000}
    assert len(usm) == 12


def check_leaks(case, env, kinds, folder):
    """Each of these kinds once, and nothing else."""
    recording, log = f"{folder}.gt", f"{folder}.log"
    done = case.gputrack("run", "-q", "--fail-on-leak", "-o", recording, case.program("objects"),
                         "--log", log, "--leak", ",".join(kinds), env=env)
    assert done.status == 23, (kinds, done.status, done.out, done.err)
    done = case.gputrack("report", recording, "-a", "leakage")
    expected = living(read_log(case.path(log)))
    report = case.report(recording, "leakage")
    assert_nothing_lost(report)
    found = leaked(report, *SOURCES["objects"])
    # a leaked sub-buffer keeps the buffer that it is a part of, which the program has released
    kept = {handle: found.pop(handle) for handle, what in list(found.items()) if not what[2]}
    assert [what[:2] for what in kept.values()] == [("buffer", 8192)] * kinds.count("sub-buffer")
    assert ("released, but kept alive by 1 sub-buffer" in done.out) == bool(kept), done.out
    assert found == expected, kinds
    assert sorted(what[0] for what in expected.values()) == sorted(KINDS.get(k, k) for k in kinds)
    assert report["totals"]["count"] == len(kinds) + len(kept) == len(report["groups"])
    assert report["totals"]["bytes"] == sum(size for kind, size, _, _ in
                                            (*expected.values(), *kept.values())
                                            if kind != "sub-buffer")
    for group in report["groups"]:
        assert group["objects"][0]["place"] and group["api"] == "opencl"


def test_exactly_the_leaked_kinds_on_pocl_are_found(case):
    for kinds in (["event"], ["context"], ["buffer", "program", "sampler", "svm"],
                  ["queue", "sub-buffer", "image", "kernel", "sub-device"]):
        check_leaks(case, case.pocl(), kinds, kinds[0])


def test_all_leaked_kinds_on_intel_are_found_together(case):
    check_leaks(case, case.intel(), [
        "context", "queue", "buffer", "sub-buffer", "image", "pipe", "sampler", "program",
        "kernel", "event", "svm", "host-memory", "device-memory", "shared-memory"], "all")


def test_two_platforms_in_one_process_keep_their_names(case):
    case.pocl(), case.intel()  # skips where one is missing
    both = dict(case.intel())
    del both["OCL_ICD_VENDORS"]
    for wanted, env in (("portable", case.pocl()), ("intel", case.intel())):
        done = case.gputrack("run", "-q", "-o", wanted, case.program("killed"), "--platform",
                             wanted, "--how", "return", "--calls", "20", env=both)
        assert done.status == 0, done.err
        places = {e["place"] for e in case.events(wanted) if e["effect"] == "create"}
        assert places == {platform_name(case, env)}


# The sample that the demo runs.

def leaky_lines(case):
    """The lines of the sample's leaks, found in its source."""
    lines = (case.source / "samples" / "leaky.c").read_text().splitlines()
    marks = {"task": "clEnqueueTask(", "read": "clEnqueueReadBuffer(a",
             "scratch": "SCRATCH_BYTES, NULL"}
    return {name: next(i for i, line in enumerate(lines, 1) if mark in line)
            for name, mark in marks.items()}


def check_leaky(case, env, status):
    done = case.gputrack("run", "-o", "leaky.gt", case.program("leaky"), env=env)
    assert done.status == status, done.err
    lines = leaky_lines(case)
    report = case.report("leaky.gt", "leakage")
    assert_nothing_lost(report)
    assert report["totals"] == {"count": 21, "bytes": 1 << 20}
    found = [(g["kind"], g["type"], g["count"], g["bytes"], where(g["stack"]),
              g["stack"][0]["function"]) for g in report["groups"]]
    assert found[0] == ("buffer", "cl_mem", 1, 1 << 20, f"leaky.c:{lines['scratch']}",
                        "make_scratch_buffer")
    assert sorted(found[1:]) == sorted([
        ("event", "cl_event", 10, 0, f"leaky.c:{lines['task']}", "start_addition"),
        ("event", "cl_event", 10, 0, f"leaky.c:{lines['read']}", "fetch_sum")])
    # the end report and the text of the analysis say the same
    text = case.gputrack("report", "leaky.gt", "-a", "leakage").out
    for out in (done.err, text):
        assert "LEAKED  21 resources" in out, out
        assert "1 buffer (1.00 MiB), 20 events" in out, out
        assert out.count("10 events by clEnqueue") == 2, out
        for line in lines.values():
            assert f"leaky.c:{line}" in out, out
    return done


def test_leaky_has_two_sites_of_ten_events_and_a_buffer(case):
    done = check_leaky(case, case.pocl(), 0)
    assert "every sum is 15.0" in done.out
    assert len(done.err.splitlines()) <= 40, "the end report is a screen"
    assert "leaky.gt -a leakage" in done.err and "exit status 0" in done.err


def test_the_demo_ends_with_the_leak_report(case):
    if not shutil.which("dpkg-query"):
        case.skip("./dev looks for Debian's packages")
    done = case.run(case.source / "dev", "demo", env=case.pocl(BUILD=str(case.build)), timeout=600)
    assert done.status == 0, done.err
    report = done.err[done.err.index("LEAKED"):]
    assert report.startswith("LEAKED  21 resources, 1.00 MiB of device memory\n"), report
    assert report.count("10 events by clEnqueue") == 2, report
    for line in leaky_lines(case).values():
        assert f"leaky.c:{line}" in report, report


def test_leaky_on_intel_has_the_same_leaks(case):
    check_leaky(case, case.intel(), 1)  # kernels are not executed there: the sums are wrong


def read_tsv(text):
    head, *rows = [line.split("\t") for line in text.splitlines()]
    assert all(len(row) == len(head) for row in rows), text
    return [dict(zip(head, row)) for row in rows]


def total(rows, column):
    return sum(int(row[column]) for row in rows)


def test_all_analyses_agree_in_all_formats(case):
    case.gputrack("run", "-q", "-o", "leaky.gt", case.program("leaky"), env=case.pocl())
    forms = {}
    for analysis in ("summary", "leakage", "watermark", "usage", "sites"):
        for form in ("text", "json", "tsv"):
            done = case.gputrack("report", "leaky.gt", "-a", analysis, "--format", form)
            assert done.status == 0 and done.err == "", (analysis, form, done.err)
            assert done.out.endswith("\n"), (analysis, form)
            forms[analysis, form] = done.out
        loaded = json.loads(forms[analysis, "json"])
        assert loaded["schema"] == 1 and loaded["analysis"] == analysis and loaded["lost"] == 0
        assert loaded["recording"]["events"] == 33, loaded["recording"]
        wanted = {"count": 3, "bytes": 1572864} if analysis == "watermark" else \
            {"count": 21, "bytes": 1048576}
        assert loaded["totals"] == wanted, analysis
    jsons = {a: json.loads(t) for (a, form), t in forms.items() if form == "json"}
    tsvs = {a: read_tsv(t) for (a, form), t in forms.items() if form == "tsv"}

    assert total(tsvs["summary"], "live") == 21 and total(tsvs["summary"], "live_bytes") == 1 << 20
    assert total(tsvs["summary"], "created") == 27
    assert len(tsvs["leakage"]) == 21 and total(tsvs["leakage"], "bytes") == 1 << 20
    assert total(tsvs["sites"], "live") == 21 and total(tsvs["sites"], "live_bytes") == 1 << 20
    assert total(tsvs["sites"], "created") == 27
    assert total(tsvs["watermark"], "bytes") == 1572864
    assert tsvs["usage"][0]["time(ns)"] == "0"
    assert tsvs["usage"][-1]["total (B)"] == str(1 << 20)
    assert max(int(row["total (B)"]) for row in tsvs["usage"]) == 1572864
    assert all(row["valid (B)"] == row["total (B)"] for row in tsvs["usage"])
    for analysis in ("summary", "watermark", "usage"):
        assert jsons[analysis]["peak"]["device_bytes"] == 1572864
    for analysis in ("leakage", "watermark"):
        objects = [o for group in jsons[analysis]["groups"] for o in group["objects"]]
        assert [row["address"] for row in tsvs[analysis]] == [o["handle"] for o in objects]
        assert all(row["trace_type"] == "0" and row["stack"].startswith("[")
                   for row in tsvs[analysis])
    assert [int(row["live"]) for row in tsvs["sites"]] == \
        [group["count"] for group in jsons["sites"]["groups"]]
    assert [g["bytes"] for g in jsons["leakage"]["groups"]] == [1 << 20, 0, 0]
    points = jsons["usage"]["points"]
    assert points[-1]["device_bytes"] == 1 << 20 and points[-1]["objects"] == 21
    assert [p["time_ns"] for p in points] == sorted(p["time_ns"] for p in points)

    assert "1.50 MiB" in forms["watermark", "text"] and "1.50 MiB" in forms["usage", "text"]
    assert "LEAKED  21 resources" in forms["summary", "text"]
    assert "leaky.c" in forms["sites", "text"]
    top = json.loads(case.gputrack("report", "leaky.gt", "-a", "sites", "--top", "1", "--sort",
                                   "count", "--format", "json").out)
    assert len(top["groups"]) == 1 and top["groups"][0]["created"] == 10
    by_total = json.loads(case.gputrack("report", "leaky.gt", "-a", "sites", "--sort", "total",
                                        "--format", "json").out)["groups"]
    sizes = [g["total_bytes"] for g in by_total]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == 1 << 20
