# SPDX-License-Identifier: MIT
"""test_opencl_programs.py - the OpenCL door in odd programs: mistakes, C++, plugins, children."""
import os
import re

from harness import no_cores
from opencl_lives import assert_nothing_lost, leaked, where

# Mistakes of the program.

def check_redundant(case, env, kind, *more, status=None):
    done = case.gputrack("run", "-o", "r.gt", case.program("redundant"), "--kind", kind, *more,
                         env=env, preexec=no_cores)
    assert done.out.startswith("first release: 0\n"), (done.out, done.err)
    if status is not None:
        assert done.status == status, (done.status, done.out)
    summary = case.report("r.gt", "summary")
    redundant, = summary["redundant"]
    died = done.status < 0
    assert redundant["fatal"] == died and redundant["count"] == 1, redundant
    assert redundant["kind"] == kind, redundant
    functions = {key: [frame["function"] for frame in redundant[key]]
                 for key in ("stack", "ended", "created")}
    assert functions["stack"][0] == functions["ended"][0] == "kind_release", functions
    assert functions["stack"][1] == "release_again" and functions["ended"][1] == "main", functions
    assert functions["created"][:2] == ["make", "main"], functions
    text = " ".join(done.err.split())  # lines are broken where the terminal ends
    for words in ("REDUNDANT RELEASES", "released again at", "already released at", "created at",
                  "release_again"):
        assert words in text, text
    assert ("during which the process died" in text) == died, text
    if died:
        last, = summary["last_calls"]
        assert last["function"] == redundant["function"] and last["handle"] == redundant["handle"]
        unfinished = [e for e in case.events("r.gt") if e["outcome"] == "unfinished"]
        assert [e["handle"] for e in unfinished] == [redundant["handle"]]
    else:
        answer = int(re.search(r"second release: (-?\d+)", done.out).group(1))
        assert redundant["result"] == answer and summary["last_calls"] == []
    # nothing is released twice in the ledger: a buffer lives as long as its sub-buffer
    is_live = kind in {k["kind"] for k in summary["kinds"] if k["live"]}
    assert is_live == ("--held" in more) or kind == "context"
    return done


def test_redundant_releases_on_pocl_have_both_stacks(case):
    for kind in ("buffer", "context"):
        check_redundant(case, case.pocl(), kind, "--held", status=0)


def test_a_redundant_release_that_crashes_is_the_call_the_process_died_in(case):
    crashes = 0
    for kind in ("event", "sampler", "queue"):
        crashes += check_redundant(case, case.pocl(), kind).status < 0
    assert crashes, "PoCL no longer crashes: this test needs another program"


def test_redundant_releases_on_intel_have_both_stacks(case):
    for kind in ("event", "buffer", "sampler", "queue"):
        check_redundant(case, case.intel(), kind)


def test_a_crash_that_the_program_survives_leaves_no_false_leak(case):
    done = case.gputrack("run", "-q", "-o", "r.gt", case.program("redundant"), "--catch",
                         env=case.pocl(), preexec=no_cores)
    assert done.status == 0, (done.status, done.out, done.err)
    summary = case.report("r.gt", "summary")
    assert summary["totals"]["count"] == 0, summary["groups"]
    assert summary["recording"]["exit_status"] == 0


# C++, plugins, children.

def test_a_program_started_through_its_loader_has_names(case):
    """`ld.so ./app`: /proc/self/exe is the loader, not the program."""
    loader = re.search(r"interpreter: (.*)\]", case.run("readelf", "-l", case.program("redundant")).out)
    done = case.gputrack("run", "-q", "-o", "r.gt", "--log", "r.log", loader[1], case.build / "samples/leaky",
                         env=case.pocl())
    assert done.status == 0, done.err
    group = next(g for g in case.report("r.gt", "leakage")["groups"] if g["kind"] == "buffer")
    assert [f["function"] for f in group["stack"]][:2] == ["make_scratch_buffer", "main"], group
    log, = case.path("r.log").parent.glob("r*.log")
    assert re.search(r"make_scratch_buffer \(.*leaky\.c:\d+\)", log.read_text()), log.read_text()


def test_objects_released_by_static_destructors_are_not_leaks(case):
    for env in (case.pocl(), case.intel()):
        done = case.gputrack("run", "-o", "s.gt", "--fail-on-leak", case.program("static_dtor"),
                             env=env)
        assert done.status == 0, done.err
        assert done.out == "main returns\n" and "No leaks: all 6 resources" in done.err, done.err
        report = case.report("s.gt", "summary")
        assert_nothing_lost(report)
        assert report["totals"]["count"] == 0 and report["recording"]["events"] == 12
        assert report["recording"]["processes"][0]["state"] == "ended"


def source_line(case, name, text):
    lines = (case.source / "tests" / "e2e" / "programs" / name).read_text().splitlines()
    found = [i for i, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, (name, text, found)
    return f"{name}:{found[0]}"


def test_inlined_frames_have_function_and_line(case):
    done = case.gputrack("run", "-o", "s.gt", case.program("static_dtor"), "--leak",
                         env=case.pocl())
    assert done.status == 0 and "leaked 4320 bytes" in done.out
    group, = case.report("s.gt", "leakage")["groups"]
    assert (group["kind"], group["bytes"], group["count"]) == ("buffer", 4320, 1)
    frames = [(f["function"], f"{os.path.basename(f['file'])}:{f['line']}", f["inlined"])
              for f in group["stack"]]
    name = "static_dtor.cpp"
    assert frames[:3] == [
        ("gpu::raw_buffer", source_line(case, name, "cl_mem buffer = clCreateBuffer("), True),
        ("gpu::typed_buffer<float>", source_line(case, name, "return raw_buffer("), True),
        ("gpu::cache<float>::allocate", source_line(case, name, "typed_buffer<T>(context, 1080)"),
         False)], frames
    assert frames[3][0] == "main" and len(frames) == 4, frames
    assert "gpu::typed_buffer " in done.err, done.err
    whole = case.gputrack("report", "s.gt", "-a", "leakage").out
    assert whole.count("(inlined)") >= 2 and "gpu::typed_buffer" in whole, whole


def test_leaks_in_unloaded_plugins_have_correct_names(case):
    done = case.gputrack("run", "-q", "-o", "p.gt", case.program("plugin"), "--rounds", "5",
                         env=case.pocl())
    assert done.status == 0, done.err
    report = case.report("p.gt", "leakage")
    assert_nothing_lost(report)
    found = []
    for group in report["groups"]:
        inner = group["stack"][0]
        found.append((group["count"], group["bytes"], inner["function"],
                      where(group["stack"]), os.path.basename(inner["module"])))
        assert [f["function"] for f in group["stack"]][1:] == ["plugin_run", "run_plugin", "main"]
    assert found == [
        (5, 11110, "leak_in_beta", source_line(case, "plugin_b.c", "clCreateBuffer("),
         "plugin_b.so"),
        (5, 5555, "leak_in_alpha", source_line(case, "plugin_a.c", "clCreateBuffer("),
         "plugin_a.so")]


def test_the_log_at_exit_says_which_stacks_are_older_than_an_unloaded_library(case):
    done = case.gputrack("run", "-q", "-o", "p.gt", "--log", "p.log", case.program("plugin"), "--rounds", "2",
                         env=case.pocl())
    assert done.status == 0, done.err
    log, = case.path("p.log").parent.glob("p*.log")
    entries = re.findall(r"STILL ALIVE AT EXIT: Memory.*, (1111|2222) bytes.*\n((?:      .*\n)*)", log.read_text())
    assert len(entries) == 4, log.read_text()
    assert all("a library was unloaded since" in frames for _, frames in entries), entries


def test_the_first_call_of_a_plugin_is_not_attributed_to_the_previous_one(case):
    done = case.gputrack("run", "-q", "-o", "p.gt", case.program("plugin"), "--rounds", "0",
                         "--turns", "10", env=case.pocl())
    assert done.status == 0, done.err
    groups = case.report("p.gt", "leakage")["groups"]
    assert sorted((g["stack"][0]["function"], g["count"], g["bytes"]) for g in groups) == [
        ("leak_in_alpha", 5, 5555), ("leak_in_beta", 5, 11110)], groups


def test_every_child_has_a_trace_and_its_own_leaks(case):
    done = case.gputrack("run", "-q", "-o", "f.gt", case.program("forks"), env=case.pocl())
    assert done.status == 0 and done.out == "every child ended well\n", (done.out, done.err)
    whole = case.report("f.gt", "leakage")
    assert_nothing_lost(whole)
    processes = whole["recording"]["processes"]
    assert len(processes) == 6 == len({p["pid"] for p in processes})
    assert all(p["state"] == "ended" for p in processes), processes
    assert whole["totals"] == {"count": 21, "bytes": sum(n * n * 1000 for n in range(1, 7))}
    shares = {}
    for process in processes:
        one = case.report("f.gt", "leakage", "--pid", process["pid"])
        assert [p["pid"] for p in one["recording"]["processes"]] == [process["pid"]]
        assert {g["kind"] for g in one["groups"]} == {"buffer"}
        sizes = {o["bytes"] for g in one["groups"] for o in g["objects"]}
        count = one["totals"]["count"]
        assert sizes == {count * 1000}, (count, sizes)
        shares[count] = process
    assert sorted(shares) == [1, 2, 3, 4, 5, 6]
    parent = shares[1]["pid"]
    assert all(shares[n]["ppid"] == parent for n in range(2, 7)), shares
    # the late child releases what its parent made: nothing of its own, and no mistake
    late = case.report("f.gt", "summary", "--pid", shares[3]["pid"])
    assert late["unknown_ends"] == 1 and late["redundant"] == [] and late["failures"] == []
    assert case.gputrack("report", "f.gt", "--pid", "1").status == 1


def test_other_layers_in_the_list_do_no_harm(case):
    """ocl-icd cuts the list for children: ours has to come first."""
    env = case.pocl(OPENCL_LAYERS="/nowhere/libother.so:/nowhere/libthird.so")
    done = case.gputrack("run", "-q", "-o", "f.gt", case.program("forks"), "--exec", "--spawn",
                         env=env)
    assert done.status == 0, (done.out, done.err)
    report = case.report("f.gt", "leakage")
    assert len(report["recording"]["processes"]) == 3
    assert report["totals"] == {"count": 11, "bytes": 1000 + 16000 + 36000}


def test_children_on_intel_have_traces(case):
    done = case.gputrack("run", "-q", "-o", "f.gt", case.program("forks"), "--early", "--exec",
                         "--spawn", env=case.intel())
    assert done.status == 0, (done.out, done.err)
    report = case.report("f.gt", "leakage")
    assert len(report["recording"]["processes"]) == 4
    assert report["totals"] == {"count": 13, "bytes": 1000 + 4000 + 16000 + 36000}
