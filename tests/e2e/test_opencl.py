"""test_opencl.py - the OpenCL door: every kind of object, the extension, the layer, bad endings."""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import time

# The programs' names of kinds -> gputrack's, where they differ.
KINDS = {"svm": "SVM block", "host-memory": "host memory", "device-memory": "device memory",
         "shared-memory": "shared memory"}
# One release call serves a whole family, so its event has the family's name.
FAMILIES = {"sub-buffer": "buffer", "image": "buffer", "pipe": "buffer",
            "host memory": "device memory", "shared memory": "device memory"}

Life = collections.namedtuple("Life", "effect kind handle bytes where")


def read_log(path):
    """The calls that a program's own --log tells of; kill -9 can cut the last line."""
    lives = []
    for line in pathlib.Path(path).read_text().split("\n")[:-1]:
        effect, kind, handle, *rest = line.split()
        kind = KINDS.get(kind, kind)
        if effect == "create":
            lives.append(Life(effect, kind, handle, int(rest[0]), f"{rest[2]}:{rest[1]}"))
        else:
            lives.append(Life(effect, FAMILIES.get(kind, kind), handle, None, None))
    return lives


def where(stack, *files):
    """file:line of the innermost frame in one of the program's sources, or of any frame at all."""
    for frame in stack:
        name = os.path.basename(frame["file"] or "")
        if frame["line"] and (not files or name in files):
            return f"{name}:{frame['line']}"
    return None


def read_events(events, *files):
    """The same of gputrack's events that were done; a free is a release to the programs."""
    lives = []
    for event in events:
        if event["outcome"] != "done":
            continue
        if event["effect"] == "create":
            lives.append(Life("create", event["kind"], event["handle"], event["bytes"],
                              where(event["stack"], *files)))
        else:
            effect = "retain" if event["effect"] == "retain" else "release"
            lives.append(Life(effect, event["kind"], event["handle"], None, None))
    return lives


def by_handle(lives):
    """What befell each handle, in order: threads of a driver may shuffle different handles."""
    table = collections.defaultdict(list)
    for life in lives:
        table[FAMILIES.get(life.kind, life.kind), life.handle].append(life)
    return dict(table)


def living(lives):
    """handle -> (kind, bytes, references, where) of what is left in the end."""
    left = {}
    for life in lives:
        key = FAMILIES.get(life.kind, life.kind), life.handle
        if life.effect == "create":
            left[key] = [life.kind, life.bytes, 1, life.where]
        else:
            left[key][2] += 1 if life.effect == "retain" else -1
            if not left[key][2]:
                del left[key]
    return {handle: tuple(what) for (_, handle), what in left.items()}


def leaked(report, *files):
    """The same of a leakage or summary report."""
    left = {}
    for group in report["groups"]:
        for item in group["objects"]:
            left[item["handle"]] = (group["kind"], item.get("view_bytes", item["bytes"]),
                                    item["references"], where(group["stack"], *files))
    return left


SOURCES = {"objects": ("objects.c", "objects_enqueue.c", "objects_memory.c"),
           "killed": ("killed.c",)}


def assert_nothing_lost(report):
    assert report["lost"] == 0, report["lost"]
    for process in report["recording"]["processes"]:
        assert process["lost_stacks"] == 0 and process["unknown"] == 0, process
        assert process["damage"] is None, process


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
        assert failure["result"] != 0 and failure["result_name"].startswith("CL_"), failure
    assert failures == failed
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
    expected = living(read_log(case.path(log)))
    report = case.report(recording, "leakage")
    assert_nothing_lost(report)
    assert leaked(report, *SOURCES["objects"]) == expected, kinds
    assert sorted(what[0] for what in expected.values()) == sorted(KINDS.get(k, k) for k in kinds)
    assert report["totals"]["count"] == len(kinds) == len(report["groups"])
    assert report["totals"]["bytes"] == sum(size for kind, size, _, _ in expected.values()
                                            if kind != "sub-buffer")
    for group in report["groups"]:
        assert group["objects"][0]["place"] and group["api"] == "opencl"


def test_every_leaked_kind_on_pocl_is_found_and_no_other(case):
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
    """Where the sample's leaks are, found in its text."""
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


# The extension.

def layer(case, env, **more):
    """The loader's own way to a layer, without gputrack run."""
    return dict(env, OPENCL_LAYERS=str(case.build / "libgputrack_opencl.so"), **more)


def live_lines(out):
    return re.findall(r"^ Live (\S+) object: (0x[0-9a-f]+) refcount (\d+)$", out, re.M)


def check_live_sample(out):
    lines = live_lines(out)
    assert [(kind, count) for kind, _, count in lines] == [("cl_event", "1")] * 20, out
    assert len({handle for _, handle, _ in lines}) == 20
    return [handle for _, handle, _ in lines]


def test_live_objects_sample_lists_twenty_events_newest_first(case):
    program = case.program("live_objects")
    done = case.gputrack("run", "-q", "-o", "live.gt", program, env=case.pocl())
    assert done.status == 0 and done.out.endswith("counted to 10\n"), done.out
    listed = check_live_sample(done.out)
    made = [e["handle"] for e in case.events("live.gt")
            if e["effect"] == "create" and e["kind"] == "event"]
    assert listed == made[::-1]
    # the layer alone, with nothing recorded
    done = case.run(program, env=layer(case, case.pocl()))
    assert done.status == 0 and done.err == "", done.err
    check_live_sample(done.out)
    assert [p.name for p in case.folder.iterdir()] == ["live.gt"]
    # without any layer it runs and lists nothing; nor without tracking
    for env, option in ((case.pocl(), []), (layer(case, case.pocl()), ["--no-debug"])):
        done = case.run(program, *option, env=env)
        assert done.status == 0 and done.out == "counted to 10\n" and done.err == ""


def test_live_objects_sample_works_on_intel(case):
    done = case.run(case.program("live_objects"), env=layer(case, case.intel()))
    assert done.status == 0, done.err
    check_live_sample(done.out)


def live_api(case, name, env, *more):
    done = case.run(case.program("live_api"), "--case", name, *more, env=env)
    assert done.status == 0 and done.err == "", (name, done.status, done.out, done.err)
    return done.out.splitlines()


NAMES = ["clTrackLiveObjectsIntelFPGA", "clTrackLiveObjectsAltera", "clReportLiveObjectsIntelFPGA",
         "clReportLiveObjectsAltera", "clReportLiveObjectsWithStacksGPUTRACK"]


def check_live_api(case, env):
    with_layer = layer(case, env)
    assert live_api(case, "lookup", with_layer) == \
        [f"{name} found found" for name in NAMES] + ["clNoSuchFunctionAltera missing missing"]
    assert live_api(case, "wrong", with_layer)[-1] == "nothing happened"
    assert live_api(case, "release", with_layer) == ["released while listing"]
    assert live_api(case, "before", with_layer) == ["only what came after"]
    assert live_api(case, "counts", with_layer) == [
        "cl_event 7", "cl_kernel 6", "cl_program 5", "cl_sampler 4", "cl_mem 3",
        "cl_command_queue 2", "cl_context 1"]
    assert live_api(case, "env", with_layer) == ["listed 0"]
    assert live_api(case, "env", dict(with_layer, ACL_TRACK_LEAKS="1")) == ["listed 2"]


def test_extension_functions_on_pocl(case):
    check_live_api(case, case.pocl())
    # the same while gputrack run records, in which the recorder has its own view of it all
    done = case.gputrack("run", "-q", "-o", "a.gt", case.program("live_api"), "--case", "release",
                         env=case.pocl())
    assert done.status == 0 and done.out == "released while listing\n", done.err
    assert case.report("a.gt", "summary")["totals"]["count"] == 0


def test_extension_functions_on_intel(case):
    check_live_api(case, case.intel())


def test_extension_tells_platforms_apart(case):
    case.pocl()
    both = dict(case.intel())
    del both["OCL_ICD_VENDORS"]
    for platform in ("portable", "intel"):
        out = live_api(case, "wrong", layer(case, both), "--platform", platform)
        assert out == ["2 platforms", "nothing happened"]


def test_live_objects_with_stacks_tell_file_line_size_and_thread(case):
    out = live_api(case, "stacks", layer(case, case.pocl()))
    thread, line = re.match(r"expect thread (\d+) line (\d+)", out[0]).groups()
    handle = re.match(r"expect buffer (\S+)", out[1]).group(1)
    assert out[2] == f"object {handle} cl_mem buffer clCreateBuffer refcount 1 size 12345 " \
                     f"thread {thread}", out
    function, place, module = out[3].split()[1:]
    assert function == "make_in_thread" and module == case.program("live_api"), out[3]
    assert pathlib.Path(place).name == f"live_api.c:{line}", out[3]
    assert out[4].split()[1] == "thread_main", out
    context = next(i for i, text in enumerate(out) if text.startswith("object ") and i > 2)
    assert "cl_context context clCreateContext refcount 1 size 0" in out[context]
    assert thread not in out[context].split(), "the context was made by another thread"


EXTENSION = "cl_altera_live_object_tracking"


def check_extension_string(case, env):
    bare, ours = live_api(case, "info", env), live_api(case, "info", layer(case, env))
    size, _, names = bare[0].partition(" ")[2].partition(" ")
    names = names.split()
    assert ours[0].split()[2:] == names + [EXTENSION]
    grown = int(ours[0].split()[1]) - int(size)
    assert grown in (len(EXTENSION), len(EXTENSION) + 1), "the space before it may be there already"
    assert ours[1:-1] == bare[1:]
    assert len(bare) == 1 or ours[-1].split()[2] == EXTENSION


def test_extension_name_is_in_the_platforms_strings(case):
    check_extension_string(case, case.pocl())


def test_extension_name_is_in_intels_strings(case):
    check_extension_string(case, case.intel())


def without_extension(text):
    """clinfo's output less the one name; blanks are its way to line up columns."""
    kept = []
    for line in text.splitlines():
        words = [word for word in line.split() if not word.startswith(EXTENSION)]
        # in the list with versions it has a line of its own
        if EXTENSION not in line or any(not re.fullmatch(r"[0x().]+", word) for word in words):
            kept.append(" ".join(words))
    return kept


def check_clinfo(case, env):
    """What differs between two runs without gputrack (clocks, free memory) is not looked at."""
    for options in ([], ["--raw"]):
        bare, again = [case.run("clinfo", *options, env=env) for _ in range(2)]
        ours = case.gputrack("run", "-q", "-o", "c.gt", "clinfo", *options, env=env)
        assert bare.status == ours.status == 0 and ours.err == bare.err, ours.err
        assert bare.out.count(EXTENSION) == 0 and ours.out.count(EXTENSION) in (1, 2)
        lines = [without_extension(done.out) for done in (bare, again, ours)]
        assert len(lines[0]) == len(lines[1]) == len(lines[2])
        steady = [(a, c) for a, b, c in zip(*lines) if a == b]
        assert len(steady) > 0.9 * len(lines[0])
        assert [(a, c) for a, c in steady if a != c] == []


def test_clinfo_prints_the_same_but_for_the_extension(case):
    check_clinfo(case, case.pocl())


def test_clinfo_prints_the_same_on_intel(case):
    check_clinfo(case, case.intel())


# The layer as a loader sees it.

def test_layer_speaks_the_khronos_loaders_protocol(case):
    program, library = case.program("layer_protocol"), case.build / "libgputrack_opencl.so"
    for entries, expected in ((100, 100), (149, 149), (150, 149)):
        for how in ([], ["--properties"]):
            done = case.run(program, "--layer", library, "--entries", entries, *how)
            assert done.status == 0 and done.err == "", (entries, how, done.err)
            assert done.out == f"layer gputrack\noffered {entries} got {expected} of 149\n"
    # what went through such a table is recorded like anything else
    done = case.run(program, "--layer", library, env={"GPUTRACK_RECORDING": str(case.path("p.gt"))})
    assert done.status == 0, done.err
    assert [(e["function"], e["outcome"]) for e in case.events("p.gt")] == [
        ("clCreateUserEvent", "done"), ("clReleaseEvent", "done"), ("clCreateUserEvent", "done")]
    assert {e.get("place") for e in case.events("p.gt") if e["effect"] == "create"} == {"fake"}


def exported(case, library):
    done = case.run("nm", "-D", "--defined-only", library)
    assert done.status == 0, done.err
    return {line.split()[-1].partition("@")[0] for line in done.out.splitlines()}


def test_layer_exports_what_loaders_ask_for_and_no_more(case):
    assert exported(case, case.build / "libgputrack_opencl.so") == {
        "clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties", "clDeinitLayer"}
    assert exported(case, case.build / "libgputrack_live.so") == set(NAMES)


# Threads, forks, endings.

def check_threads(case, env, *how):
    done = case.gputrack("run", "-q", "-o", "t.gt", case.program("threads"), "--threads", "8", *how,
                         env=env, timeout=300)
    assert done.status == 0 and done.err == "", (done.out, done.err)
    creates, retains, releases = map(int, re.findall(r"\d+", done.out))
    summary = case.report("t.gt", "summary")
    assert_nothing_lost(summary)
    assert summary["recording"]["events"] == creates + retains + releases
    assert summary["totals"] == {"count": 0, "bytes": 0}
    assert sum(kind["created"] for kind in summary["kinds"]) == creates
    assert sum(kind["ended"] for kind in summary["kinds"]) == creates
    assert summary["redundant"] == [] == summary["failures"] == summary["last_calls"]
    assert summary["unknown_ends"] == 0 == summary["replaced"]
    return creates


def test_eight_threads_end_at_zero_with_nothing_lost(case):
    seconds = 60 if os.environ.get("GPUTRACK_TEST_LONG") == "1" else 3
    assert check_threads(case, case.pocl(), "--seconds", seconds) > 1000


def test_eight_threads_on_intel_end_at_zero(case):
    check_threads(case, case.intel(), "--rounds", "2000")


def no_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def check_ending(case, env, how, status):
    program = case.program("killed")
    bare = case.run(program, "--how", how, env=env, preexec=no_cores)
    done = case.gputrack("run", "-q", "-o", f"{how}.gt", program, "--how", how, "--log",
                         f"{how}.log", env=env, preexec=no_cores)
    assert (done.status, done.out, done.err) == (bare.status, bare.out, bare.err), (how, done.err)
    assert done.status == status, how
    logged = read_log(case.path(f"{how}.log"))
    assert len(logged) == 1001
    events = case.events(f"{how}.gt")
    assert read_events(events, "killed.c") == logged, how
    assert [e for e in events if e["outcome"] != "done"] == []
    report = case.report(f"{how}.gt", "leakage")
    assert_nothing_lost(report)
    expected = living(logged)
    assert leaked(report, "killed.c") == expected, how
    assert report["totals"]["count"] == len(expected) > 20
    assert report["totals"]["bytes"] == sum(what[1] for what in expected.values())
    info = report["recording"]
    assert (info["signal"], info["exit_status"]) == \
        ((-status, None) if status < 0 else (None, status)), how


ENDINGS = {"kill9": -signal.SIGKILL, "term": -signal.SIGTERM, "abort": -signal.SIGABRT,
           "segv": -signal.SIGSEGV, "_exit": 0, "exit": 0, "quick_exit": 0, "return": 0}


def test_every_ending_leaves_exactly_what_was_alive(case):
    for how, status in ENDINGS.items():
        check_ending(case, case.pocl(), how, status)


def test_every_ending_on_intel_leaves_exactly_what_was_alive(case):
    for how in ("kill9", "segv", "exit"):
        check_ending(case, case.intel(), how, ENDINGS[how])


def kill_in_the_middle(case, env, number, lines):
    """Kills the program from outside once it has logged that many lines."""
    recording, log = case.path(f"{number}.gt"), case.path(f"{number}.log")
    process = case.start(case.build / "gputrack", "run", "-q", "-o", recording,
                         case.program("killed"), "--calls", "100000000", "--log", log, env=env)
    while not log.exists() or log.stat().st_size < 30 * lines:
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    traces = list(recording.glob("*.trace"))
    assert len(traces) == 1, traces
    os.kill(int(traces[0].stem), signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (-signal.SIGKILL, b"", b""), (out, err)
    return recording, log


def check_killed(case, env, number, lines):
    recording, log = kill_in_the_middle(case, env, number, lines)
    logged, recorded = read_log(log), read_events(case.events(recording), "killed.c")
    # a call may have been recorded and its line not yet been logged
    assert len(logged) <= len(recorded) <= len(logged) + 1, (len(logged), len(recorded))
    assert recorded[:len(logged)] == logged, number
    report = case.report(recording, "leakage")
    assert_nothing_lost(report)
    assert leaked(report, "killed.c") == living(recorded), number


def test_kill_nine_at_any_moment_loses_no_call(case):
    env, chance = case.pocl(), random.Random(2)
    moments = [chance.randrange(1, 2000) for _ in range(30)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: check_killed(case, env, n, moments[n]), range(30)))


# A disk that fills.

def check_stopped(case, recording, log, err, reason):
    """One line when it happens; then all that was recorded before is there, and said to be cut."""
    said = [line for line in err.splitlines() if line.startswith("gputrack:")]
    assert len(said) == 1 and "recording stopped" in said[0] and reason in said[0], err
    assert err.splitlines() == said, err
    logged, report = read_log(log), case.report(recording, "leakage")
    recorded = report["recording"]["events"]
    assert 100 < recorded < len(logged)
    process, = report["recording"]["processes"]
    assert process["state"] == "stopped" and reason in process["error"], process
    assert process["damage"] is None
    assert report["lost"] == len(logged) - recorded
    assert leaked(report, "killed.c") == living(logged[:recorded])
    for analysis in ("summary", "leakage"):
        done = case.gputrack("report", recording, "-a", analysis)
        text = " ".join(done.out.split())
        assert done.status == 0
        assert "recording STOPPED before the end" in text and reason in text, text
        assert f"{report['lost']:,} events were LOST" in text, text


def test_a_full_disk_stops_the_recording_and_not_the_program(case):
    for size, calls in (("256k", 30000), ("1m", 200000)):
        command = case.program("killed"), "--how", "return", "--calls", calls
        bare = case.run(*command, env=case.pocl())
        with case.small_disk(size) as folder:
            done = case.gputrack("run", "-q", "-o", folder / "f.gt", *command, "--log",
                                 case.path("full.log"), env=case.pocl())
            assert (done.status, done.out) == (0, bare.out), (done.status, done.out, done.err)
            check_stopped(case, folder / "f.gt", case.path("full.log"), done.err,
                          "No space left on device")


def test_a_disk_full_from_the_start_lets_the_program_run(case):
    bare = case.run(case.program("killed"), "--how", "return", env=case.pocl())
    with case.small_disk("64k") as folder:
        (folder / "filler").write_bytes(b"x" * 48 * 1024)
        done = case.gputrack("run", "-q", "-o", folder / "f.gt", case.program("killed"), "--how",
                             "return", env=case.pocl())
        assert (done.status, done.out) == (bare.status, bare.out), done.err
        said = done.err.splitlines()
        assert all(line.startswith("gputrack: ") for line in said), done.err
        assert len([line for line in said if "recording stopped" in line]) == 1, done.err
        assert "is whole" not in done.err, done.err
        assert case.gputrack("report", folder / "f.gt").status == 0


def test_a_file_size_limit_stops_the_recording_and_not_the_program(case):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 * 1024, 512 * 1024))

    command = case.program("killed"), "--how", "return", "--calls", "100000"
    bare = case.run(*command, env=case.pocl(), preexec=limit)
    assert bare.status == 0, bare.err
    done = case.gputrack("run", "-q", "-o", "f.gt", *command, env=case.pocl(), preexec=limit)
    assert (done.status, done.out) == (0, bare.out), (done.status, done.err)
    assert len(done.err.splitlines()) == 1 and "recording stopped: File too large" in done.err
    report = case.report("f.gt", "summary")
    process, = report["recording"]["processes"]
    assert process["state"] == "stopped" and "File too large" in process["error"]
    assert report["recording"]["events"] > 1000 and report["lost"] > 0
    assert report["recording"]["events"] + report["lost"] == 100001


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
    text = done.err
    for words in ("REDUNDANT RELEASES", "released again at", "already released at", "created at",
                  "release_again"):
        assert words in text, text
    assert ("in which the process died" in text) == died, text
    if died:
        last, = summary["last_calls"]
        assert last["function"] == redundant["function"] and last["handle"] == redundant["handle"]
        unfinished = [e for e in case.events("r.gt") if e["outcome"] == "unfinished"]
        assert [e["handle"] for e in unfinished] == [redundant["handle"]]
    else:
        answer = int(re.search(r"second release: (-?\d+)", done.out).group(1))
        assert redundant["result"] == answer and summary["last_calls"] == []
    # nothing is released twice in the ledger
    assert kind not in {k["kind"] for k in summary["kinds"] if k["live"]} or kind == "context"
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

def test_static_destructors_are_no_leaks(case):
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
    assert done.err.count("(inlined)") >= 2 and "gpu::typed_buffer<float>" in done.err


def test_leaks_in_unloaded_plugins_are_named_rightly(case):
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


def test_the_first_call_of_a_plugin_is_not_that_of_the_one_before(case):
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
