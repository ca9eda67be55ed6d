# SPDX-License-Identifier: MIT
"""The resource tracker's log: its lines, its levels, what the driver left, what is still alive."""
import json
import re

import harness
import readers
from tracker_csv import (ALLOCATES, CREATES, DESTROYS, FREES, UNLOGGED, Count, ENTRY, NOT_ON_INTEL,
                         REFUSED_BY_INTEL, app_output, log_of,
                         own_log, read_csv, read_log, the_csv)

LABELS = {"Contexts": "Context", "CommandQueues": "CommandQueue", "Modules": "Module",
          "Kernels": "Kernel", "EventPools": "EventPool", "CommandLists": "CommandList",
          "Events": "Event", "Fences": "Fence", "Images": "Image", "Samplers": "Sampler"}
CALL = re.compile(r"(\w+): (?:(\w+) Count=(-?\d+), )?handle=(0x[0-9a-f]+)(?:, size=(\d+))?, Delta: "
                  r"VmRSS=([+-]\d+)KB, VmSize=([+-]\d+)KB, VmData=([+-]\d+)KB")
USE = re.compile(r"\n  System Use After Call:\n    Total System: VmRSS=(\d+)KB, VmSize=(\d+)KB, "
                 r"VmData=(\d+)KB, Threads=(\d+)((?:\n    L0 .*)*)")
KIND = re.compile(r"    L0 ([\w ]+) \((?:Total: (\d+) bytes / (\d+) KB|(\d+))\): "
                  r"VmRSS=(-?\d+)KB, VmSize=(-?\d+)KB, VmData=(-?\d+)KB")


def debug_run(case, *arguments, program="ze_app", **more):
    """The run, and its log as entries."""
    path, settings = log_of(case, ZEL_LOADER_LOGGING_LEVEL="debug", **more)
    run = case.run(case.program(program), *arguments, env=case.tracker(**settings))
    assert run.status == 0 and run.err == "", run.err
    return run, read_log(path.read_text())


def level_run(case, level, *arguments, program="ze_app", **more):
    """The entries of a run with this level; None: no file was made."""
    path, settings = log_of(case, **more)
    if level is not None:
        settings["ZEL_LOADER_LOGGING_LEVEL"] = level
    if path.exists():
        path.unlink()
    run = case.run(case.program(program), *arguments, env=case.tracker(**settings))
    assert run.status == 0 and run.err == "", run.err
    return read_log(path.read_text()) if path.exists() else None


def kinds_in(use):
    """{label: (count or bytes, VmRSS, VmSize)} of the lines of a System Use block."""
    found = {}
    for line in USE.fullmatch(use).group(5).splitlines()[1:]:
        m = KIND.fullmatch(line)
        assert m, line
        found[m.group(1)] = (int(m.group(2) or m.group(4)), int(m.group(5)), int(m.group(6)))
    return found


# Lines.

@harness.also_on("intel")
def test_lines(case):
    """Each call's two entries against the program's record, and against the CSV."""
    run, entries = debug_run(case, "--log", "own", ZEL_SYSTEM_RESOURCE_TRACKER_CSV="tracker.csv")
    calls, rows = own_log(case.path("own")), read_csv(the_csv(case, run.pid))
    count, at = Count(), 0
    refused = [text.split(":")[0] for _, text in entries if ": failed with 0x" in text]
    # of functions that the driver does not even have, the loader answers, and no layer sees it
    assert refused == ([name for name in REFUSED_BY_INTEL if not name.endswith("Ext")]
                       if case.driver == "intel" else []), refused
    entries = [entry for entry in entries if ": failed with 0x" not in entry[1]]
    # Intel's keeps some memory once: a second line says so
    assert [level for level, _ in entries] == ["debug"] * (2 * len(rows)) + \
        ["info"] * (2 if case.driver == "intel" else 1)
    for i, row in enumerate(rows):
        line, use = CALL.fullmatch(entries[2 * i][1]), USE.fullmatch(entries[2 * i + 1][1])
        assert line and use, entries[2 * i:2 * i + 2]
        function, label, number, handle, size = line.groups()[:5]
        assert function == row["APICall"]
        if function not in UNLOGGED:
            name, own_handle, own_size = calls[at]
            assert (function, int(handle, 16)) == (name, own_handle)
            count.apply(*calls[at])
            at += 1
        alive = dict(zip(LABELS, count.counters()))
        if function in CREATES or function in DESTROYS:
            column = CREATES.get(function) or DESTROYS[function]
            assert (label, int(number)) == (LABELS[column], alive[column]), line.group(0)
        elif function in ALLOCATES + FREES:
            assert (label, int(size)) == ("Memory", own_size)
        elif "Append" in function or function == "zeCommandListReset":
            assert label is None and size is None
        shown = kinds_in(entries[2 * i + 1][1])
        assert [int(n) for n in use.groups()[:4]] == [row["VmRSS_KB"], row["VmSize_KB"],
                                                      row["VmData_KB"], row["Threads"]]
        for column, n in alive.items():
            assert shown.get(column, (0,))[0] == n, (column, entries[2 * i + 1][1])
        assert shown.get("Memory Allocations", (0,))[0] == count.counters()[-1]
    assert at == len(calls)


@harness.also_on("intel")
def test_heads(case):
    """[date time] [thread-id: N] [level]; the thread of a program that has one is its pid."""
    path, settings = log_of(case, ZEL_LOADER_LOGGING_LEVEL="debug")
    run = case.run(case.program("ze_app"), env=case.tracker(**settings))
    heads = [ENTRY.match(line) for line in path.read_text().splitlines() if line.startswith("[")]
    assert heads and all(h and h.group(1) == str(run.pid) for h in heads)


def test_deltas_of_a_call(case):
    """Signed, and of this call alone, not of what happened since the one before."""
    for kb in (4, 256, 10240):
        _, entries = debug_run(case, GT_FAKE_ZE_RESIDUE=f"zeSamplerCreate:{kb}")
        lines = [text for _, text in entries if text.startswith("zeSamplerCreate")]
        assert f"Delta: VmRSS=+{kb}KB, VmSize=+{kb}KB, VmData=+{kb}KB" in lines[-1], lines
        case.path("logs/ze_loader.log").unlink()
    # a mapping of its own shrinks the process when it goes: 64 KB of physical memory, touched
    lines = [CALL.fullmatch(text) for _, text in entries if text.startswith("zeVirtualMem")]
    deltas = {m.group(1): [int(n) for n in m.groups()[5:]] for m in lines}
    assert deltas["zeVirtualMemReserve"][1] == 128 and deltas["zeVirtualMemFree"][1] == -128
    assert deltas["zeVirtualMemUnmap"][0] == -64, deltas


def test_memory_cost_of_live_objects(case):
    """A kind's line tells what its live objects have cost, appends included, until they go."""
    _, entries = debug_run(case, GT_FAKE_ZE_RESIDUE=(
        "zeCommandQueueCreate:1000,zeCommandListAppendBarrier:300@1,zeEventCreate:40"))
    uses = [text for _, text in entries if "System Use" in text]
    queues = {kinds_in(use)["CommandQueues"] for use in uses if "L0 CommandQueues" in use}
    assert {q[1:] for q in queues} == {(1000, 1000)}, queues
    events = {kinds_in(use)["Events"] for use in uses if "L0 Events" in use}
    assert events == {(1, 40, 40), (2, 80, 80)}, events
    lists = {kinds_in(use)["CommandLists"][2] for use in uses if "L0 CommandLists" in use}
    assert lists == {0, 300}, lists


@harness.also_on("intel")
def test_ipc_handles_die_with_their_owner(case):
    """Memory and pool are gone at the end, and with them the IPC handles made of them."""
    _, entries = debug_run(case)
    last = [text for _, text in entries if "System Use" in text][-1]
    assert kinds_in(last) == {}, last


# Where it goes.

@harness.also_on("intel", is_long=True)
def test_default_file(case):
    case.path("home").mkdir()
    run = case.run(case.program("ze_app"), env=case.tracker(
        HOME=str(case.path("home")), ZEL_ENABLE_LOADER_LOGGING="1",
        ZEL_LOADER_LOGGING_LEVEL="debug"))
    assert (run.status, run.out, run.err) == (0, app_output(case), "")
    log = case.path("home/.oneapi_logs/ze_loader.log")
    assert [p for p in case.folder.rglob("*") if p.is_file()] == [log]
    first = len(read_log(log.read_text()))
    assert first > 80
    # appended to
    case.run(case.program("ze_app"), env=case.tracker(
        HOME=str(case.path("home")), ZEL_ENABLE_LOADER_LOGGING="1",
        ZEL_LOADER_LOGGING_LEVEL="debug"))
    assert len(read_log(log.read_text())) == 2 * first


@harness.also_on("intel", is_long=True)
def test_folder_and_file(case):
    case.path("there").mkdir()
    for settings, place in (({"ZEL_LOADER_LOG_DIR": "there"}, "there/ze_loader.log"),
                            ({"ZEL_LOADER_LOG_DIR": str(case.path("new"))}, "new/ze_loader.log"),
                            ({"ZEL_LOADER_LOG_DIR": "there", "ZEL_LOADER_LOG_FILE": "my.log"},
                             "there/my.log"),
                            ({"HOME": str(case.path("there")), "ZEL_LOADER_LOG_FILE": "other"},
                             "there/.oneapi_logs/other")):
        run = case.run(case.program("ze_app"), env=case.tracker(
            ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOGGING_LEVEL="debug", **settings))
        assert (run.status, run.err) == (0, "")
        files = [p for p in case.folder.rglob("*") if p.is_file()]
        assert files == [case.path(place)], files
        assert len(read_log(files[0].read_text())) > 100
        files[0].unlink()


@harness.also_on("intel", is_long=True)
def test_console(case):
    run = case.run(case.program("ze_app"), env=case.tracker(
        HOME=str(case.folder), ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOGGING_LEVEL="debug",
        ZEL_LOADER_LOG_CONSOLE="1"))
    assert run.out == app_output(case) and len(read_log(run.err)) > 80
    assert not list(case.folder.iterdir())


@harness.also_on("intel", is_long=True)
def test_log_is_written_only_on_request(case):
    for settings in ({}, {"ZEL_ENABLE_LOADER_LOGGING": "0"},
                     {"ZEL_ENABLE_LOADER_LOGGING": "1",
                      "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER": "0"}):
        run = case.run(case.program("ze_app"), env=case.tracker(**dict(
            {"HOME": str(case.folder), "ZEL_LOADER_LOGGING_LEVEL": "debug"}, **settings)))
        assert (run.status, run.err) == (0, "") and not list(case.folder.iterdir())


def test_log_that_cannot_be_opened(case):
    case.path("file").write_text("")
    for settings in ({"ZEL_LOADER_LOG_DIR": "file"}, {"ZEL_LOADER_LOG_DIR": "no/such/folder"},
                     {"HOME": str(case.path("file"))},
                     {"ZEL_LOADER_LOG_DIR": ".", "ZEL_LOADER_LOG_FILE": "x" * 300}):
        run = case.run(case.program("ze_app"), env=case.tracker(
            ZEL_ENABLE_LOADER_LOGGING="1", **settings))
        assert (run.status, run.out) == (0, "rounds=1 live=0\n")
        assert len(run.err.splitlines()) == 1 and run.err.startswith("gputrack: "), run.err
        assert "log" in run.err
        assert [p.name for p in case.folder.iterdir()] == ["file"]
    # both: a line each, and the program's status passes
    run = case.run(case.program("ze_app"), "--leak", "nonsense", env=case.tracker(
        ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOG_DIR="file",
        ZEL_SYSTEM_RESOURCE_TRACKER_CSV="file/x.csv"))
    assert run.status == 2 and len([l for l in run.err.splitlines() if "gputrack: " in l]) == 2


def test_log_with_an_endless_path(case):
    run = case.run(case.program("ze_app"), env=case.tracker(
        ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOG_DIR="x/" * 2500))
    assert (run.status, run.out) == (0, "rounds=1 live=0\n")
    assert len(run.err.splitlines()) == 1 and "log" in run.err, repr(run.err)


def test_levels(case):
    residue = {"GT_FAKE_ZE_RESIDUE": "zeContextDestroy:384"}
    for level, wanted in (("trace", {"debug", "warning", "error"}),
                          ("debug", {"debug", "warning", "error"}),
                          ("info", {"warning", "error"}), ("warn", {"warning", "error"}),
                          ("error", {"error"}), ("critical", set()),
                          ("WARN", {"warning", "error"}), ("nonsense", {"warning", "error"}),
                          (None, {"warning", "error"})):
        entries = level_run(case, level, "--rounds", "2", "--leak", "event", **residue)
        assert {name for name, _ in entries} == wanted, (level, entries[:3])
    assert level_run(case, "off", "--leak", "event", **residue) is None
    # without anything to warn of, a line that says so is for those who want to know
    assert level_run(case, "info") == [
        ("info", "no memory leaks: 0 KB left behind by the driver in all")]
    assert level_run(case, "warn") == []


@harness.also_on("intel")
def test_no_lines_are_lost_in_a_crash(case):
    for how, status in (("_exit", 0), ("abort", -6), ("kill9", -9)):
        path, settings = log_of(case, ZEL_LOADER_LOGGING_LEVEL="debug")
        run = case.run(case.program("ze_end"), "--how", how, "--log", "own",
                       env=case.tracker(**settings))
        assert run.status == status
        lines = [CALL.fullmatch(text) for _, text in read_log(path.read_text())
                 if "System Use" not in text]
        assert [(m.group(1), int(m.group(4), 16)) for m in lines] == \
            [call[:2] for call in own_log(case.path("own"))]
        path.unlink()


# What the driver left behind.

WITHIN = re.compile(r"TOTAL LEAKS of (\d+) KB are not above (\d+) KB \(GPUTRACK_VERDICT_KB\): "
                    r"they may be the driver's caches")


def sums(entries):
    """(level of the summary, its text, (total, limit) where the total is no verdict)"""
    found = [(level, text) for level, text in entries if "SUMMARY" in text]
    within = [WITHIN.fullmatch(text) for _, text in entries if "GPUTRACK_VERDICT_KB" in text]
    assert len(found) == 1 and len(within) <= 1, entries
    return (*found[0], tuple(int(n) for n in within[0].groups()) if within else None)


def leaks(entries):
    """([(label, RSS, size, total)] of the warnings, the summary's text or None). A warning is of
    the fourth handle that left memory, or of a later one: before, nobody knows that it goes on."""
    pattern = re.compile(r"MEMORY LEAK DETECTED: (\w+) handle=0x[0-9a-f]+ - After destroy: "
                         r"VmRSS=\+(\d+)KB, VmSize=\+(\d+)KB \(Total (\w+) leaks: (\d+)KB\)")
    warnings, summary = [], None
    for level, text in entries:
        if level == "warning" and ("SUMMARY" in text or WITHIN.fullmatch(text)):
            continue
        if level == "warning":
            m = pattern.fullmatch(text)
            assert m and m.group(1) == m.group(4), text
            warnings.append((m.group(1), int(m.group(2)), int(m.group(3)), int(m.group(5))))
        elif level == "error" and "SUMMARY" in text:
            assert summary is None
            summary = text
        else:
            assert level in ("info", "debug"), (level, text)
    return warnings, summary


def summary_of(*lines):
    total = sum(kb for _, kb in lines)
    return "\n".join(["", "=== MEMORY LEAK SUMMARY ==="] + [f"  {label} leaks: {kb} KB" for label, kb
                                                            in lines] +
                     [f"  TOTAL LEAKS: {total} KB", "==========================="])


def check_warnings(warnings, wanted):
    """[(label, KB, total)]. A page that was touched for the first time may be in the VmRSS, and the
    kernel counts resident pages in batches."""
    assert sorted((label, size, total) for label, _, size, total in warnings) == sorted(wanted), warnings
    assert all(size - 16 <= rss <= size + 16 for _, rss, size, _ in warnings), warnings


def kept_once(entries):
    """{label: KB} of what was kept once: the only entry besides that of no leaks."""
    first, *rest = entries
    assert first == ("info", "no memory leaks: 0 KB left behind by the driver in all"), entries
    if not rest:
        return {}
    total, *parts = re.fullmatch(r"kept by the driver once, on first use: (.*)",
                                 rest[0][1]).group(1).split(", ")
    found = {part.split()[0]: int(part.split()[1]) for part in parts}
    assert len(rest) == 1 and total == f"{sum(found.values())} KB", rest
    return found


def test_planted_384_kb(case):
    """Two contexts in each round."""
    warnings, summary = leaks(level_run(case, "warn", "--rounds", "4",
                                        GT_FAKE_ZE_RESIDUE="zeContextDestroy:384"))
    assert warnings == [("Context", 384, 384, 384 * n) for n in range(4, 9)]
    assert summary == summary_of(("Context", 3072))


def test_what_happens_once_is_no_leak(case):
    """However much it is, and whichever handle it was."""
    for request, times in (("zeContextDestroy:384@1", 1), ("zeContextDestroy:20480@5", 1),
                           ("zeContextDestroy:384@1,zeContextDestroy:384@40", 2)):
        kb = int(re.search(r":(\d+)", request).group(1))
        entries = level_run(case, "info", "--rounds", "20", GT_FAKE_ZE_RESIDUE=request)
        assert kept_once(entries) == {"Context": kb * times}, (request, entries)


def test_what_stops_is_no_leak(case):
    """A cache that fills up: 20 of 200 contexts leave memory. That was a leak as long as it went
    on."""
    entries = level_run(case, "info", "--rounds", "100", GT_FAKE_ZE_RESIDUE=",".join(
        f"zeContextDestroy:64@{n}" for n in range(1, 21)))
    assert sum("MEMORY LEAK DETECTED" in text for _, text in entries) > 10
    assert entries[-2:] == [
        ("warning", "no memory leaks: 0 KB left behind by the driver in all, what was warned of "
                    "has not gone on"),
        ("info", "kept by the driver once, on first use: 1280 KB, Context 1280")], entries[-2:]


def test_summary_as_documented(case):
    """The documentation's example, with a driver that leaks just so."""
    warnings, summary = leaks(level_run(case, "warn", "--rounds", "4", GT_FAKE_ZE_RESIDUE=(
        "zeContextDestroy:48,zeEventPoolDestroy:96,zeCommandListDestroy:48,zeEventDestroy:24")))
    assert summary == ("\n=== MEMORY LEAK SUMMARY ===\n  Context leaks: 384 KB\n"
                       "  EventPool leaks: 384 KB\n  CommandList leaks: 384 KB\n"
                       "  Event leaks: 192 KB\n  TOTAL LEAKS: 1344 KB\n"
                       "===========================")
    check_warnings(warnings, [(label, kb, kb * n) for label, kb in
                              (("CommandList", 48), ("Context", 48), ("Event", 24))
                              for n in range(4, 9)] + [("EventPool", 96, 384)])


def check_residue(case, request, label, kb):
    once = level_run(case, "info", GT_FAKE_ZE_RESIDUE=request)
    assert kept_once(once) == {label: kb}, (request, once)


def test_residue_of_memory(case):
    """The host memory that the program touches and gives back is a mapping of its own: that it goes
    takes nothing from what was left by the others."""
    for request in ("zeMemAllocDevice:600", "zeMemAllocShared:600", "zeMemFree:600@1",
                    "zeMemFreeExt:600"):
        check_residue(case, request, "Memory", 600)


def test_residue_of_touched_memory(case):
    """Pages that the program touched go with the handle, so that of its own residue those are not
    to be seen: 8 KB here, and never more."""
    for request in ("zeMemAllocHost:600", "zeMemFree:600@2"):
        once = kept_once(level_run(case, "info", GT_FAKE_ZE_RESIDUE=request))
        assert list(once) == ["Memory"] and 592 <= once["Memory"] <= 600, (request, once)


def test_residue_of_every_kind(case):
    """At any call on a handle, from its creation to its end, and of any size."""
    for request, label, kb in (("zeCommandQueueCreate:132", "CommandQueue", 132),
                               ("zeCommandQueueDestroy:2048", "CommandQueue", 2048),
                               ("zeModuleCreate:512", "Module", 512),
                               ("zeModuleDestroy:512", "Module", 512),
                               ("zeKernelCreate:104", "Kernel", 104),
                               ("zeFenceDestroy:204", "Fence", 204),
                               ("zeImageCreate:300@1", "Image", 300),
                               ("zeImageDestroy:300@1", "Image", 300),
                               ("zeSamplerDestroy:20480", "Sampler", 20480),
                               ("zeModuleBuildLogDestroy:144", "BuildLog", 144),
                               ("zePhysicalMemDestroy:144", "PhysicalMemory", 144),
                               ("zeCommandListAppendBarrier:200@1", "CommandList", 200),
                               ("zeCommandListReset:200", "CommandList", 200),
                               ("zeContextCreateEx:400", "Context", 400)):
        check_residue(case, request, label, kb)


def test_small_residues_add_up(case):
    """No single one above the verdict's threshold, all together are."""
    warnings, summary = leaks(level_run(case, "warn", "--rounds", "20",
                                        GT_FAKE_ZE_RESIDUE="zeFenceDestroy:8"))
    check_warnings(warnings, [("Fence", 8, 8 * n) for n in range(4, 21)])
    assert summary == summary_of(("Fence", 160))


def test_residue_among_touched_memory(case):
    """Memory that the program touched and gave back is no credit for what the driver keeps later,
    or has kept before."""
    for function in ("zeMemFreeExt", "zeMemAllocDevice"):  # one of three in each round
        _, summary = leaks(level_run(case, "warn", "--rounds", "43",
                                     GT_FAKE_ZE_RESIDUE=f"{function}:384"))
        kb = int(re.search(r"Memory leaks: (\d+) KB", summary).group(1))
        assert 0.9 * 43 * 384 < kb <= 43 * 384 and summary == summary_of(("Memory", kb)), summary


def test_thresholds(case):
    planted = {"GT_FAKE_ZE_RESIDUE": "zeContextDestroy:96"}
    for settings, warned, summed in (({}, 1, True),
                                     ({"GPUTRACK_WARN_KB": "95"}, 1, True),
                                     ({"GPUTRACK_WARN_KB": "96"}, 0, True),
                                     ({"GPUTRACK_VERDICT_KB": "383"}, 1, True),
                                     ({"GPUTRACK_VERDICT_KB": "384"}, 1, False),
                                     ({"GPUTRACK_WARN_KB": "nonsense"}, 1, True)):
        warnings, summary = leaks(level_run(case, "warn", "--rounds", "2", **planted, **settings))
        assert (len(warnings), summary is not None) == (warned, summed), settings
    # by default: a warning above 0, a verdict above 100
    for rounds, summed in ((4, False), (25, False), (26, True)):
        warnings, summary = leaks(level_run(case, "warn", "--rounds", rounds,
                                            GT_FAKE_ZE_RESIDUE="zeEventPoolDestroy:4"))
        check_warnings(warnings, [("EventPool", 4, 4 * n) for n in range(4, rounds + 1)])
        assert (summary is not None) == summed


def test_summary_below_the_verdict(case):
    """The sums are told as soon as there was a warning; that they are no verdict is said apart."""
    four = {"GT_FAKE_ZE_RESIDUE": "zeEventPoolDestroy:16"}
    entries = level_run(case, "warn", "--rounds", "4", **four)
    assert sums(entries) == ("warning", summary_of(("EventPool", 64)), (64, 100)), entries
    assert not any("no memory leaks" in text for _, text in entries)
    entries = level_run(case, "info", "--rounds", "4", **four, GPUTRACK_WARN_KB="16")
    assert sums(entries) == ("info", summary_of(("EventPool", 64)), (64, 100)), entries
    entries = level_run(case, "warn", "--rounds", "4", **four, GPUTRACK_VERDICT_KB="63")
    assert sums(entries) == ("error", summary_of(("EventPool", 64)), None), entries


def test_residue_in_the_recording(case):
    """Log, report, JSON, exit status and the CSV's figures say the same of one run."""
    env = case.levelzero(GT_FAKE_ZE_RESIDUE="zeCommandListDestroy:64")
    lists = case.build / "samples/guide/before/lists"
    run = case.gputrack("run", "-q", "--fail-on-leak", "-o", "r.gt", "--csv", "r.csv", "--log",
                        "r.log", lists, env=env)
    assert run.status == 0, run.err  # no resource leaked, and only those count
    assert "TOTAL LEAKS: 6400 KB" in case.path("r.log").read_text()
    for analysis in ("summary", "leakage"):
        report = case.report("r.gt", analysis)
        readers.check_report(case, report)
        assert report["residue"] == {"kb": 6400, "processes": 1, "labels": [
            {"label": "CommandList", "kb": 6400}], "once": {"kb": 0, "labels": []}}
        text = case.gputrack("report", "r.gt", "-a", analysis).out
        assert "nothing was left behind" not in text and "No leaks: " in text
        assert "the driver kept 6.25 MiB of process memory" in text and "CommandList 6400 KB" in text, text
    for spec, status in (("residue", 23), ("residue>6399KiB", 23), ("residue>6400KiB", 0),
                         ("any", 0), ("any,residue", 23)):
        done = case.gputrack("report", "r.gt", f"--fail-on-leak={spec}")
        assert done.status == status, (spec, done.err)
    assert "6.25 MiB kept by the driver" in done.err, done.err
    for form, mark in (("junit", 'failures="1"'), ("github", "::error"), ("sarif", '"error"')):
        done = case.gputrack("report", "r.gt", "--fail-on-leak=residue", "--format", form)
        assert done.status == 23 and mark in done.out and "the driver kept 6.25 MiB after resources were destroyed" in done.out, done.out
    (result,) = json.loads(done.out)["runs"][0]["results"]
    assert result["ruleId"] == "residue", result
    done = case.gputrack("plot", next(case.folder.glob("r_pid*.csv")), "-o", "r.txt")
    assert "No memory leaks detected" not in done.out + case.path("r.txt").read_text(), done.out
    assert re.search(r"zeCommandListDestroy: 6\.\d\d MB in 100 calls", done.out), done.out


def test_unmeasured_residue(case):
    env = case.levelzero(GT_FAKE_ZE_RESIDUE="zeCommandListDestroy:64")
    lists = case.build / "samples/guide/before/lists"
    for quiet in ([], ["-q"]):
        run = case.gputrack("run", *quiet, "--fail-on-leak=residue", "-o", "r.gt", lists, env=env)
        assert run.status == 25 and "driver residue was not measured" in run.err, run.err
    assert case.report("r.gt", "leakage")["residue"] is None
    run = case.gputrack("run", "-q", "--fail-on-leak=residue", "-o", "r.gt", "--csv", "r.csv",
                        case.build / "samples/guide/after/lists", env=env)
    assert run.status == 0, run.err  # one list, once
    report = case.report("r.gt", "leakage")
    readers.check_report(case, report)
    assert report["residue"] == {"kb": 0, "processes": 1, "labels": [], "once": {
        "kb": 64, "labels": [{"label": "CommandList", "kb": 64}]}}
    assert "the driver kept 64.0 KiB of process memory once, on first use, and no more with each " \
        "handle: CommandList 64 KB" in " ".join(case.gputrack("report", "r.gt").out.split())


def test_program_that_grows(case):
    """100,000 allocations, all freed, while the program keeps more and more: nobody is to blame."""
    entries = level_run(case, "info", program="ze_grow")
    assert entries == [("info", "no memory leaks: 0 KB left behind by the driver in all")], entries[:5]


def test_program_that_grows_fast(case):
    entries = level_run(case, "info", "--count", "2000", "--bytes", "100000", program="ze_grow")
    assert entries == [("info", "no memory leaks: 0 KB left behind by the driver in all")], entries[:5]


def test_planted_in_a_program_that_grows(case):
    """What is the driver's is found among what is the program's."""
    warnings, summary = leaks(level_run(case, "warn", "--count", "3000", "--bytes", "20000",
                                        program="ze_grow",
                                        GT_FAKE_ZE_RESIDUE="zeMemFree:256"))
    check_warnings(warnings, [("Memory", 256, 256 * n) for n in range(4, 3001)])
    assert summary == summary_of(("Memory", 256 * 3000))


def test_program_that_grows_in_another_thread(case):
    """Also in the middle of a call, where the size of the process alone cannot tell whose it is."""
    entries = level_run(case, "warn", program="ze_beside")
    assert entries == [], (len(entries), entries[:3])


def test_program_that_only_makes_calls(case):
    """Between calls that follow at once the process is not measured twice: what the tracker takes
    for its own tables meanwhile is not the driver's, and what is the driver's is found."""
    for settings in ({}, {"GPUTRACK_STACKS": "4"}):
        entries = level_run(case, "warn", program="ze_many", **settings)
        assert entries == [], (len(entries), entries[:3])
    for call in ("zeEventCreate", "zeEventDestroy"):
        warnings, summary = leaks(level_run(case, "warn", "--count", "1000", program="ze_many",
                                            GT_FAKE_ZE_RESIDUE=f"{call}:8"))
        check_warnings(warnings, [("Event", 8, 8 * n) for n in range(4, 1001)])
        assert summary == summary_of(("Event", 8000)), (call, summary)
    # of handles that were created before the tracker asked malloc: what their destruction adds
    _, summary = leaks(level_run(case, "warn", "--count", "10000", program="ze_many",
                                 GT_FAKE_ZE_RESIDUE="zeEventDestroy:8"))
    kb = int(re.search(r"Event leaks: (\d+) KB", summary).group(1))
    assert 1000 < kb <= 80000 and summary == summary_of(("Event", kb)), summary


def test_threads_are_not_blamed(case):
    """Calls that overlapped cannot be told apart: what they cost is held against no handle."""
    for threads in (4, 16):
        entries = level_run(case, "warn", "--threads", threads, "--rounds", "200",
                            program="ze_threads", GPUTRACK_WARN_KB="64")
        assert entries == [], entries[:3]


# Still alive at exit.

# --leak KIND: (label, created by, bytes)
ALIVE = {"context": ("Context", "zeContextCreate", 0),
         "queue": ("CommandQueue", "zeCommandQueueCreate", 0),
         "module": ("Module", "zeModuleCreate", 0), "build_log": ("BuildLog", "zeModuleCreate", 0),
         "kernel": ("Kernel", "zeKernelCreate", 0), "event_pool": ("EventPool", "zeEventPoolCreate", 0),
         "event": ("Event", "zeEventCreate", 0), "list": ("CommandList", "zeCommandListCreate", 0),
         "immediate": ("CommandList", "zeCommandListCreateImmediate", 0),
         "fence": ("Fence", "zeFenceCreate", 0), "image": ("Image", "zeImageCreate", 1024),
         "view": ("Image", "zeImageViewCreateExp", 0), "sampler": ("Sampler", "zeSamplerCreate", 0),
         "device": ("Memory", "zeMemAllocDevice", 8192), "host": ("Memory", "zeMemAllocHost", 8192),
         "shared": ("Memory", "zeMemAllocShared", 8192),
         "physical": ("PhysicalMemory", "zePhysicalMemCreate", 65536),
         "reservation": ("VirtualReservation", "zeVirtualMemReserve", 131072),
         "mapping": ("VirtualMapping", "zeVirtualMemMap", 65536),
         "ipc_memory": ("IpcMemory", "zeMemOpenIpcHandle", 8192),
         "ipc_pool": ("IpcEventPool", "zeEventPoolOpenIpcHandle", 0)}
# What stays with it.
WITH = {"mapping": ["reservation"]}
HANDLES = {"device": "zeMemGetIpcHandle", "event_pool": "zeEventPoolGetIpcHandle"}
OWNERS = {"kernel": "zeModuleCreate", "event": "zeEventPoolCreate", "fence": "zeCommandQueueCreate",
          "view": "zeImageCreate", "mapping": "zePhysicalMemCreate"}


def alive_kinds(case):
    """The rows of ALIVE that the driver has. Intel's image of 16 × 16 is a tile of 32 rows."""
    if case.driver == "ours":
        return ALIVE
    return dict({kind: row for kind, row in ALIVE.items() if kind not in NOT_ON_INTEL},
                image=("Image", "zeImageCreate", 4096))


def handle_makers(case):
    return HANDLES if case.driver == "ours" else {"device": "zeMemGetIpcHandle"}


def line_of(case, function):
    """The first line of ze_app.c that calls the function."""
    source = (case.source / "tests/e2e/programs/ze_app.c").read_text().splitlines()
    return next(n for n, line in enumerate(source, 1) if re.search(rf"\({function}\b", line))


def alive_in(entries):
    """[(label, handle, bytes, owner, created by, [(function, file:line)])]"""
    pattern = re.compile(r"STILL ALIVE AT EXIT: (\w+) handle=(0x[0-9a-f]+)(?:, (\d+) bytes)?"
                         r"(?:, owner=(0x[0-9a-f]+))?, created by (\w+), thread (\d+)")
    found = []
    for level, text in entries:
        head, *frames = text.split("\n")
        m = pattern.fullmatch(head)
        assert level == "error" and m, (level, text)
        stack = [re.fullmatch(r"      (\S+) \((.*)\)", frame).groups() for frame in frames]
        found.append((m.group(1), int(m.group(2), 16), int(m.group(3) or 0),
                      int(m.group(4) or "0", 16), m.group(5), stack))
    return found


@harness.also_on("intel")
def test_alive_at_exit(case):
    """One of each kind: label, handle, size, owner, and the line that made it."""
    table, makers = alive_kinds(case), handle_makers(case)
    # one at a time; on a real driver all together, because it takes long to start
    for kinds in [[kind] for kind in table] if case.driver == "ours" else [list(table)]:
        entries = level_run(case, "error", "--log", "own", "--leak", ",".join(kinds))
        found = alive_in(entries)
        handle = {}
        for name, own_handle, _ in own_log(case.path("own")):
            handle.setdefault(name, own_handle)
        wanted = kinds + [other for kind in kinds for other in WITH.get(kind, [])]
        functions = [table[k][1] for k in wanted] + [makers[k] for k in kinds if k in makers]
        assert sorted(f[4] for f in found) == sorted(functions), (kinds, found)
        for k in wanted:
            label, function, size = table[k]
            entry = next(f for f in found if (f[0], f[4]) == (label, function))
            assert entry[2] == size, (k, entry)
            if k != "build_log":
                assert entry[1] == handle[function], (k, entry)
            owner = OWNERS.get(k, "zeContextCreate")
            if k != "context":
                assert entry[3] == handle[owner], (k, entry)
            assert entry[5][0][1].endswith(f"/ze_app.c:{line_of(case, function)}"), (k, entry)
            assert any(name == "main" for name, _ in entry[5]), entry


def test_alive_at_exit_none(case):
    assert level_run(case, "error") == []


def test_alive_in_a_child(case):
    """The child's own event is the child's leak, and what its parent had alive is not."""
    path, settings = log_of(case, ZEL_LOADER_LOGGING_LEVEL="error")
    run = case.run(case.program("ze_end"), "--how", "fork", "--log", "own",
                   env=case.tracker(**settings))
    assert (run.status, run.err) == (0, "")
    found = alive_in(read_log(path.read_text()))
    assert [(f[0], f[1]) for f in found] == [("Event", own_log(case.path("own.child"))[-1][1])]
