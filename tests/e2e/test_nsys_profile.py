# SPDX-License-Identifier: MIT
"""test_nsys_profile.py - what an Nsight export says besides its memory events: failed calls, the
functions that were called, GPUs, clocks, and profiles without memory events."""
import json
import os
import re
import signal
import sqlite3
import time

from nsys_export import (BACKTRACE, DEVICE_STATIC, DRIVER, Export, MEMORY, MEMORY_2024, MEMORY_LATEST,
                         PINNED)
from test_nsys import MAIN, MIB, need_import, refuse, shared, stand_in, take, tsv

GIB = 1 << 30
MALLOC, FREE = "cudaMalloc_v3020", "cudaFree_v3020"


def allocate(export, number, at, size=GIB, **more):
    export.call(at, at + 100, number, MALLOC, tid=more.pop("tid", 7), **more)
    export.alloc(at + 50, number * 8 * GIB, size, correlation=number)


def out_of_memory():
    """Nine blocks of 4 GiB on a GPU of 39.5 GiB; the tenth call fails, in runtime and driver."""
    export = Export()
    export.gpu(0, "NVIDIA A100-SXM4-40GB", 42405855232)
    for i in range(9):
        allocate(export, i + 1, 1000 * (i + 1), 4 * GIB)
    export.call(313000000, 313900000, 50, MALLOC, tid=7, result=2)
    export.call(313100000, 313800000, 51, "cuMemAlloc_v2", DRIVER, tid=7, result=2)
    export.call(313950000, 313960000, 52, "cudaGetLastError_v3020", tid=7, result=2)
    return export


def test_a_program_that_ran_out_of_memory_has_not_leaked(case):
    take(case, out_of_memory(), "o")
    text = case.gputrack("report", "o.gt").out
    assert "OUT OF MEMORY at 0.313 s: cudaMalloc failed, 36.0 of 39.5 GiB of device" in text, text
    assert text.index("OUT OF MEMORY") < text.index("ALIVE WHEN KILLED") and "LEAKED" not in text
    assert "the program stopped there" in text and "9 blocks of device memory  cudaMalloc" in text
    summary = case.report("o.gt", "summary")
    short = summary["out_of_memory"]
    assert short["function"] == "cudaMalloc" and short["time_ns"] == 313000000, short
    assert short["held_bytes"] == 36 * GIB and short["capacity_bytes"] == 42405855232
    assert short["stopped"] and short["count"] == 1 and short["requested_bytes"] is None
    assert [f["count"] for f in summary["failures"]] == [1], summary["failures"]
    assert summary["fates"]["killed"]["count"] == 9 and summary["fates"]["leaked"]["count"] == 0
    done = case.gputrack("report", "o.gt", "--fail-on-leak")
    assert done.status == 25 and "ran out of memory at 0.313 s" in done.err, done.err
    assert case.gputrack("report", "o.gt", "--fail-on-leak", "--killed-is-leak").status == 23


def test_a_program_that_went_on_after_it_ran_out_of_memory_has_leaked(case):
    export = out_of_memory()
    allocate(export, 60, 400000000, MIB)
    take(case, export, "w")
    text = case.gputrack("report", "w.gt").out
    assert "OUT OF MEMORY" in text and "the program went on" in text and "LEAKED  10" in text, text
    assert not case.report("w.gt", "summary")["out_of_memory"]["stopped"]


def test_diff_says_that_one_side_ran_out_of_memory(case):
    export = Export()
    allocate(export, 1, 1000)
    take(case, export, "old")
    take(case, out_of_memory(), "new")
    done = case.gputrack("diff", "old.gt", "new.gt")
    assert "out of memory at 0.313 s" in done.out and "the program stopped there" in done.out
    done = case.gputrack("diff", "old.gt", "new.gt", "--format", "json")
    totals = json.loads(done.out)["totals"]
    assert totals["old"]["out_of_memory"] is None and totals["new"]["out_of_memory"]["stopped"]


def test_the_stack_of_a_failed_call_is_shown(case):
    export = out_of_memory()
    export.call(313000000, 313900000, 50, "cudaMalloc", BACKTRACE, tid=7,
                stack=[("cudaMalloc", "/lib/libcudart.so")] + MAIN)
    take(case, export, "s")
    failed, = case.report("s.gt", "summary")["failures"]
    assert [f["function"] for f in failed["stack"]][1:] == ["allocate", "main"], failed


def test_other_failures_are_listed_but_those_of_queries_are_not(case):
    export = Export()
    allocate(export, 1, 1000)
    export.call(2000, 2100, 2, FREE, result=1)
    export.call(3000, 3100, 3, "cudaEventQuery_v3020", result=600)
    export.call(4000, 4100, 4, "cudaStreamCreate_v3020", result=709)
    take(case, export)
    failed = case.report("x.gt", "summary")["failures"]
    assert [(f["result"], f["kind"]) for f in failed] == [(1, "device memory"), (709, "stream")]
    text = case.gputrack("report", "x.gt").out
    assert "1 x cudaFree with CUDA_ERROR_INVALID_VALUE" in text and "OUT OF MEMORY" not in text
    assert "LEAKED  1" in text


def test_an_event_without_a_stack_has_its_function_and_thread(case):
    """By correlation id or, where that is 0, as the only call that allocates at that time."""
    for correlation in (5, 0):
        export = Export()
        export.call(1000, 2000, 5, "cudaHostAlloc_v3020", tid=77)
        export.alloc(1500, 0x1000, MIB, PINNED, correlation=correlation)
        export.call(1400, 1600, 6, "cudaMemcpy_v3020", tid=78)
        export.alloc(1550, 0x2000, 64, DEVICE_STATIC, name="table")
        take(case, export, f"n{correlation}")
        leak, = case.report(f"n{correlation}.gt", "leakage")["groups"]
        assert leak["objects"][0]["tid"] == 77, leak
        text = case.gputrack("report", f"n{correlation}.gt").out
        assert "1 block of host memory by cudaHostAlloc (CUDA)" in text, text
        head, rows = tsv(case, f"n{correlation}.gt", "leakage")
        assert rows[0]["trace_type"] == "1" and rows[0]["stack"] == "STACK_NOT_FOUND", rows


def test_each_event_has_the_start_and_duration_of_its_call(case):
    export = out_of_memory()
    export.call(20000, 20700, 40, FREE, tid=8)  # the runtime's call holds the driver's
    export.call(20100, 20600, 40, "cuMemFree_v2", DRIVER, tid=8)
    export.free(20300, 8 * GIB, 4 * GIB, correlation=40)
    export.alloc(30000, 1, MIB, correlation=99)  # a call that is not in the export
    export.call(40000, 40030, 41, "cudaMalloc", BACKTRACE, tid=8, stack=MAIN)
    export.call(40005, 40025, 41, MALLOC, tid=8)
    export.alloc(40010, 2, MIB, correlation=41)
    export.alloc(40020, 3, MIB, correlation=41)
    take(case, export, "d")
    events = case.events("d.gt")
    calls = [(e["start_ns"], e["duration_ns"]) for e in events if "duration_ns" in e]
    assert calls == [(1000 * (i + 1), 100) for i in range(9)] + [(20000, 700)] \
        + [(40005, 20)] * 2 + [(313000000, 900000)], calls
    unknown, = [e for e in events if "duration_ns" not in e]
    assert unknown["time_ns"] == 30000 and "start_ns" not in unknown
    for form, separator in (("tsv", "\t"), ("csv", ",")):
        head, *rows = case.gputrack("export", "d.gt", "--format", form).out.splitlines()
        assert head.split(separator)[-2:] == ["start_ns", "duration_ns"]
        assert [tuple(row.split(separator)[-2:]) for row in rows] == \
            [(str(e.get("start_ns", "")), str(e.get("duration_ns", ""))) for e in events]
    slices = [e for e in json.loads(case.gputrack("export", "d.gt", "--format", "chrome").out)
              ["traceEvents"] if e["ph"] == "X"]
    assert [(e["ts"], e["dur"], e["tid"]) for e in slices] == \
        [(i + 1, 0.1, 7) for i in range(9)] + [(20, 0.7, 8), (40.005, 0.02, 8), (313000, 900, 7)]
    assert [e["name"] for e in slices[:10]] == ["cudaMalloc"] * 9 + ["cuMemFree_v2"], slices
    assert slices[-1]["args"]["result"] == 2 and slices[-1]["name"] == "cudaMalloc"


def test_starts_and_durations_of_real_exports_match_their_rows(case):
    need_import(case)
    count = 0
    for path in shared(case):
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'CUDA_GPU_MEMORY_USAGE_EVENTS'") \
                .fetchone():
            continue
        calls = db.execute(
            "SELECT r.start, max(r.end - r.start) FROM CUDA_GPU_MEMORY_USAGE_EVENTS m, "
            "CUPTI_ACTIVITY_KIND_RUNTIME r WHERE r.correlationId = m.correlationId "
            "AND r.globalTid >> 24 = m.globalPid >> 24 AND r.start <= m.start AND r.end >= m.start "
            "AND r.eventClass != 67 GROUP BY m.rowid").fetchall()
        if not calls:
            continue
        name = f"{count}.gt"
        assert case.gputrack("import", path, "-o", name).status == 0
        events = [(e["start_ns"], e["duration_ns"]) for e in case.events(name)
                  if "duration_ns" in e and e["outcome"] == "done" and "Pool" not in e["function"]]
        assert sorted(events) == sorted(calls), path
        count += 1
    assert count > 1


def test_no_thread_is_invented(case):
    export = Export()
    export.alloc(1500, 0x1000, MIB)
    export.call(5000, 6000, 5, MALLOC, tid=77)
    export.call(5000, 6000, 6, MALLOC, tid=78)
    export.alloc(5500, 0x2000, MIB)
    take(case, export)
    head, rows = tsv(case, "x.gt", "leakage")
    assert [row["tid"] for row in rows] == ["0", "0"], rows


def test_gpus_are_named_and_the_profile_has_its_own_length(case):
    export = Export()
    export.gpu(0, "NVIDIA T4", 15 * GIB, cuda=1)
    export.gpu(1, "NVIDIA A100", 40 * GIB, cuda=0)
    allocate(export, 1, 1000)
    export.insert("ANALYSIS_DETAILS", globalVid=1, duration=5000000000)
    export.captured("PROCESS_0:ARGUMENT_0", "--steps")
    export.captured("PROCESS_0:ARGUMENT_1", "9")
    export.insert("DIAGNOSTIC_EVENT", timestamp=1, source=1, severity=3,
                  text="Not all CUDA events might have been collected.")
    export.insert("DIAGNOSTIC_EVENT", timestamp=1, source=1, severity=1, text="Profiling began.")
    take(case, export)
    report = case.report("x.gt", "usage")
    assert report["recording"]["duration_ns"] == 5000000000
    assert report["recording"]["command"] == "./program100 --steps 9"
    text = case.gputrack("report", "x.gt").out
    assert "Nsight Systems: Not all CUDA events might have been collected." in text, text
    assert "Profiling began" not in text
    place, = {row["place"] for row in tsv(case, "x.gt", "leakage")[1]}
    assert place == "GPU 0: NVIDIA A100", place


def test_exports_without_memory_events_count_the_calls(case):
    export = Export(columns=None)
    for i in range(15):
        export.call(1000 * i, 1000 * i + 10, i + 1, MALLOC)
    for i in range(3):
        export.call(50000 + i, 50001 + i, 30 + i, FREE)
    export.call(60000, 60010, 40, "cudaMalloc_v3020", result=2)
    for tracking, words in ((None, "memory was not tracked"), ("false", "memory tracking was off"),
                            ("true", "memory tracking was on")):
        export.extra = []
        if tracking:
            export.captured("COLLECT_GPU_MEMORY_USAGE", tracking)
        take(case, export, f"c{tracking}")
        text = case.gputrack("report", f"c{tracking}.gt").out
        assert "HANDLES UNKNOWN" in text and words in text, text
        assert "16 x cudaMalloc (1 failed), 3 x cudaFree: 12 more created than released" in \
            " ".join(text.split()), text
        assert "OUT OF MEMORY" in text and "No leaks" not in text
    calls = case.report("cNone.gt", "summary")["calls"]
    assert calls == [{"function": "cudaMalloc", "effect": "create", "kind": "device memory",
                      "calls": 16, "failed": 1},
                     {"function": "cudaFree", "effect": "release", "kind": "device memory",
                      "calls": 3, "failed": 0}]
    assert case.gputrack("report", "cNone.gt", "--fail-on-leak").status == 24


# Odd exports.

def test_calls_without_columns_that_old_versions_lack_are_read(case):
    for missing in ("callchainId", "returnValue", "eventClass", "correlationId", "nameId"):
        export = Export()
        allocate(export, 1, 1000)
        export.runtime = [c for c in export.runtime if c != missing]
        take(case, export, missing)
        assert case.report(f"{missing}.gt", "usage")["peak"]["device_bytes"] == GIB


# year -> how its exports differ: columns of memory events, of calls; tables; order
YEARS = {
    2019: {"columns": None, "meta": None, "enums": False, "runtime": ["callchainId"]},
    2021: {"columns": None, "meta": None, "enums": False},
    2022: {"columns": MEMORY, "meta": "EXPORT_META_DATA", "enums": False, "correlation": False},
    2023: {"columns": MEMORY, "meta": "META_DATA_EXPORT"},
    2024: {"columns": MEMORY_2024},
    2025: {"columns": MEMORY_LATEST, "shuffled": True},
    2026: {"columns": MEMORY_LATEST + ["greenContextId", "aNewColumn"], "shuffled": True},
}


def test_exports_of_2019_to_2026_are_read(case):
    """The same program, with what each version tells of it."""
    for year, how in YEARS.items():
        export = Export(how["columns"], how.get("enums", True), how.get("meta", "META_DATA_EXPORT"))
        export.runtime = [c for c in export.runtime if c not in how.get("runtime", ())]
        for i in range(4):
            at = 1000 * (i + 1)
            export.call(at, at + 100, i + 1, MALLOC, tid=7)
            if how["columns"]:
                export.alloc(at + 50, (i + 1) * GIB, GIB,
                             correlation=(i + 1) * how.get("correlation", True))
        export.call(9000, 9100, 9, FREE, tid=7)
        if how["columns"]:
            export.free(9050, GIB, GIB, correlation=9 * how.get("correlation", True))
        if how.get("shuffled"):
            export.memory.reverse()
            export.calls.reverse()
        export.insert("CUPTI_ACTIVITY_KIND_KERNEL", start=5000, end=6000, deviceId=0)
        take(case, export, str(year))
        text = " ".join(case.gputrack("report", f"{year}.gt").out.split())
        if not how["columns"]:
            assert "4 x cudaMalloc, 1 x cudaFree: 3 more created than released" in text, (year, text)
            continue
        assert "LEAKED 3 resources, 3.00 GiB" in text and "PEAK 4.00 GiB" in text, (year, text)
        leaks = case.report(f"{year}.gt", "leakage")["groups"][0]
        assert leaks["place"]["function"] == "cudaMalloc" and leaks["objects"][0]["tid"] == 7, year


def test_a_missing_column_is_named_in_one_line(case):
    for column in ("start", "globalPid", "address", "memoryOperationType"):
        export = Export(columns=[c for c in MEMORY if c != column])
        allocate(export, 1, 1000)
        error = refuse(case, export.save(case.path(f"{column}.sqlite")))
        assert f"its table CUDA_GPU_MEMORY_USAGE_EVENTS has no column {column}" in error, error
    export = Export()
    allocate(export, 1, 1000)
    export.runtime = [c for c in export.runtime if c != "globalTid"]
    error = refuse(case, export.save(case.path("tid.sqlite")))
    assert "its table CUPTI_ACTIVITY_KIND_RUNTIME has no column globalTid" in error, error


def test_text_in_place_of_a_number_is_a_number_or_skipped(case):
    path = Export().save(case.path("x.sqlite"))
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE CUDA_GPU_MEMORY_USAGE_EVENTS")
        db.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start TEXT, globalPid TEXT, "
                   "address TEXT, bytes TEXT, memKind TEXT, memoryOperationType TEXT)")
        db.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?,?,?,?,?,?)", [
            (str(900), str(100 << 24), str(0x1000), str(MIB), "2", "0"),
            (str(10000), str(100 << 24), str(0x2000), str(MIB), "2", "0"),
            (str(2000), str(100 << 24), str(0x3000), "a lot", "2", "0"),
            ("late", str(100 << 24), str(0x4000), str(MIB), "2", "0")])
    out = take(case, path)
    assert "2 allocations" in out and "2 rows were invalid and skipped" in out, out
    assert [row["time(ns)"] for row in tsv(case, "x.gt", "usage")[1]] == ["0", "9100"]


def test_an_interrupted_import_leaves_nothing(case):
    need_import(case)
    path = case.path("big.sqlite")
    done = case.run(case.build / "bench/make_nsys", path, "150000", "shuffled")
    assert done.status == 0, done.err
    process = case.start(case.build / "gputrack", "import", path, "-o", "i.gt")
    while not case.path("i.gt").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1].decode()
    assert process.returncode == 1 and "interrupted" in err, (process.returncode, err)
    assert not [n for n in os.listdir(case.folder) if ".gt" in n], os.listdir(case.folder)


def test_rows_in_a_log_beside_the_export_are_read(case):
    """As a program leaves them that wrote the export and did not close it."""
    export = Export()
    allocate(export, 1, 1000)
    path = export.save(case.path("w.sqlite"))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS SELECT start + 5000, globalPid, deviceId, "
               "contextId, address, pc, bytes, memKind, 1, name, 0 FROM "
               "CUDA_GPU_MEMORY_USAGE_EVENTS")
    before = {p.name: p.read_bytes() for p in case.folder.glob("w.sqlite*")}
    assert len(before["w.sqlite-wal"]) > 0
    tmp = case.path("tmp")
    tmp.mkdir()
    done = case.gputrack("import", path, "-o", "w.gt", env={"TMPDIR": str(tmp)})
    assert done.status == 0 and "1 allocation and 1 free" in done.out, (done.out, done.err)
    assert {p.name: p.read_bytes() for p in case.folder.glob("w.sqlite*")} == before
    assert not os.listdir(tmp)
    db.close()


def test_a_change_that_never_ended_is_undone_in_a_copy(case):
    """As a program leaves it that was killed while it changed the export: a hot journal."""
    export = Export()
    for i in range(200):
        export.alloc(1000 + i, 0x1000 * (i + 1), MIB)
    path = export.save(case.path("j.sqlite"))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")
    db.execute("PRAGMA cache_spill = 1")
    db.execute("BEGIN")
    db.execute("UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET bytes = 1, name = hex(randomblob(500))")
    kept = {p.name: p.read_bytes() for p in case.folder.glob("j.sqlite*")}
    db.execute("ROLLBACK")
    db.close()
    assert len(kept["j.sqlite-journal"]) > 512
    for name, data in kept.items():
        case.path(name).write_bytes(data)
    tmp = case.path("tmp")
    tmp.mkdir()
    done = case.gputrack("import", path, "-o", "j.gt", env={"TMPDIR": str(tmp)})
    assert done.status == 0 and "200 allocations" in done.out, (done.out, done.err)
    assert case.report("j.gt", "usage")["peak"]["device_bytes"] == 200 * MIB
    assert {p.name: p.read_bytes() for p in case.folder.glob("j.sqlite*")} == kept
    assert not os.listdir(tmp)
    done = case.gputrack("import", path, "-o", "n.gt", env={"TMPDIR": str(case.path("nowhere"))})
    assert done.status == 1 and "which was not closed" in done.err, done.err
    assert len(done.err.splitlines()) == 1 and not case.path("n.gt").exists()


def test_a_block_freed_under_another_device_is_freed(case):
    export = Export()
    export.alloc(1000, 0x1000, MIB, device=0)
    export.alloc(1100, 0x2000, MIB, device=0)
    export.alloc(1200, 0x2000, MIB, device=1)
    export.free(2000, 0x1000, MIB, device=1)
    export.free(2100, 0x2000, MIB, device=1)
    take(case, export)
    head, rows = tsv(case, "x.gt", "leakage")
    assert [(row["address"], row["place"]) for row in rows] == [("0x2000", "GPU 0")], rows
    assert case.report("x.gt", "summary")["unknown_ends"] == 0


def test_a_report_is_exported_first(case):
    export = Export()
    allocate(export, 1, 1000)
    made = export.save(case.path("e.sqlite"))
    case.path("r.nsys-rep").write_text("report")
    env = stand_in(case, NSYS_EXPORT=str(made))
    done = case.gputrack("import", "r.nsys-rep", env=env)
    assert done.status == 0 and "imported into r.gt" in done.out, done.err
    assert case.path("log").read_text().startswith("export --type=sqlite")
    assert not os.listdir(env["TMPDIR"])
    assert "imported from r.nsys-rep" in case.gputrack("report", "r.gt").out
    for env, words in ((stand_in(case), "another version"),
                       ({"PATH": str(case.path("nowhere"))}, "nsys export --type sqlite r.nsys-rep")):
        done = case.gputrack("import", "r.nsys-rep", "-o", "n.gt", env=env)
        assert done.status == 1 and words in done.err and len(done.err.splitlines()) == 1, done.err
        assert not case.path("n.gt").exists()


def test_memory_held_while_the_gpu_idles_is_measured(case):
    """1 GiB from 1 s to the end at 11 s; work from 3 to 5 s, overlapping, and from 6 to 7 s."""
    export = Export()
    export.alloc(10**9, 0x1000, GIB)
    for table, start, end in (("KERNEL", 3, 4), ("KERNEL", 6, 7), ("MEMCPY", 3.5, 5)):
        export.insert(f"CUPTI_ACTIVITY_KIND_{table}", start=int(start * 1e9), end=int(end * 1e9),
                      deviceId=0)
    export.insert("ANALYSIS_DETAILS", duration=11 * 10**9)
    take(case, export)
    idle = case.report("x.gt", "idle")
    assert idle["known"] and idle["busy_ns"] == 3 * 10**9, idle
    assert [round(idle[f"{k}_byte_seconds"] / GIB, 3) for k in
            ("held", "idle_before", "idle_between", "idle_after")] == [10, 2, 1, 4], idle
    text = case.gputrack("report", "x.gt", "-a", "idle").out
    assert "IDLE  70 % of the device memory" in text and "57 %  of that after the last" in text
    export = Export()
    export.alloc(1000, 0x1000, GIB)
    take(case, export, "n")
    assert "No GPU work was recorded: imported profiles" in case.gputrack("report", "n.gt", "-a", "idle").out


def test_places_that_hold_memory_while_the_gpu_idles_are_named(case):
    """Work from 2 to 4 s and from 6 to 7 s, the end at 9 s; each place has its own hours."""
    export = Export()
    second = 10**9
    for number, (function, size, begin, end) in enumerate((
            ("early", 1, 0.5, 3), ("between", 2, 3, 6.5), ("late", 4, 6.5, None)), 1):
        at = int(begin * second)
        export.call(at - 5, at + 5, number, MALLOC, BACKTRACE,
                    stack=[("cudaMalloc", "/lib/libcudart.so"), (function, "./program100")])
        export.alloc(at, 0x1000 * number * GIB, size * GIB, correlation=number)
        if end:
            export.free(int(end * second), 0x1000 * number * GIB, size * GIB)
    for start, end in ((2, 4), (6, 7)):
        export.insert("CUPTI_ACTIVITY_KIND_KERNEL", start=start * second, end=end * second,
                      deviceId=0)
    export.insert("ANALYSIS_DETAILS", duration=9 * second)
    take(case, export)
    idle = case.report("x.gt", "idle")
    wanted = {"late": [10, 0, 0, 8], "between": [7, 0, 4, 0], "early": [2.5, 1.5, 0, 0]}
    assert [g["stack"][1]["function"] for g in idle["groups"]] == list(wanted), idle["groups"]
    for group, areas in zip(idle["groups"], wanted.values()):
        assert [round(group[f"{k}_byte_seconds"] / GIB, 3) for k in
                ("held", "idle_before", "idle_between", "idle_after")] == areas, group
    text = case.gputrack("report", "x.gt", "-a", "idle").out
    assert re.search(r"HELD IDLE BY\n +59 % +8.00 GiB s  cudaMalloc .* < late", text), text
    head, rows = tsv(case, "x.gt", "idle")
    assert [row["kind"] for row in rows] == ["", "device memory", "device memory", "device memory"]
    assert int(rows[0]["idle_after"]) == 8 * GIB == int(rows[1]["idle_after"]), rows
    assert len(case.report("x.gt", "idle", "--by", "process")["groups"]) == 1


# nvidia-smi beside an export.

def steps():
    """0, 1, 3, 2 GiB and nothing again: a shape that fits in one place only."""
    export = Export(epoch=1766330999 * 10**9)
    second = 10**9
    for i, (at, size) in enumerate(((2, 1), (3, 2), (7, 1), (8, 3))):
        export.alloc(at * second, (i + 1) * 16 * GIB, size * GIB)
    export.free(5 * second, 32 * GIB, 2 * GIB)
    for i, size in ((0, 1), (2, 1), (3, 3)):
        export.free(9 * second, (i + 1) * 16 * GIB, size * GIB)
    export.insert("ANALYSIS_DETAILS", duration=10 * second)
    return export


USED = [0, 0, 1, 3, 3, 1, 1, 2, 5, 0, 0]  # GiB in each second


def log_of(case, hour, minute, before):
    """A log that begins `before` seconds early, with 1 GiB of others."""
    values = [0] * before + USED + [0] * 20
    rows = [f"2025/12/21 {hour:02}:{minute + (59 + i - before) // 60:02}:{(59 + i - before) % 60:02}"
            f".000, {v * 1024 + 1024}" for i, v in enumerate(values)]
    case.path("smi.log").write_text("\n".join(rows) + "\n")


def test_nvidia_smi_is_aligned_by_the_clock_of_the_profiled_machine(case):
    export = steps()
    export.epoch = None
    export.insert("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1766330999 * 10**9,
                  utcTime="2025-12-21T15:29:59", localTime="2025-12-21T17:29:59")
    take(case, export)
    log_of(case, 17, 29, 30)
    wanted = "clocks aligned: the nvidia-smi log begins 30.000 s before the recording"
    for zone in ("UTC", "America/Los_Angeles"):
        done = case.gputrack("plot", "x.gt", "-s", "smi.log", "-o", "x.txt", env={"TZ": zone})
        assert done.status == 0 and wanted in done.out, (done.out, done.err)
        # the table of the scripts has the clock, too: it begins with the first allocation
        tsv(case, "x.gt", "usage")
        done = case.gputrack("plot", "-u", "usage.tsv", "-s", "smi.log", "-o", "u.txt",
                             env={"TZ": zone})
        assert "begins 32.000 s before the recording" in done.out, (done.out, done.err)


def test_nvidia_smi_is_aligned_by_shape_without_a_clock(case):
    export = steps()
    export.epoch = None
    take(case, export)
    log_of(case, 17, 29, 9)
    done = case.gputrack("plot", "x.gt", "-s", "smi.log", "-o", "x.txt")
    found = re.search(r"shifted by -([\d.]+) s, where the shapes fit best "
                      r"\(correlation 0.9\d|1.00, sure\)", done.out)
    assert found and abs(float(found.group(1)) - 9) < 0.6, done.out
    case.path("smi.log").write_text("2025/12/21 17:00:00.000, 500\n2025/12/21 17:00:09.000, 500\n")
    done = case.gputrack("plot", "x.gt", "-s", "smi.log", "-o", "x.txt")
    assert "the shapes have nothing in common" in done.out, done.out
