# SPDX-License-Identifier: MIT
"""test_nsys.py - Nsight Systems exports: imported, analysed, written out again.

Figures are recomputed here straight from the database, by code that shares nothing with gputrack.
"""
import hashlib
import os
import random
import resource
import signal
import sqlite3
import stat

from nsys_export import (ARRAY, BACKTRACE, DEVICE, DEVICE_STATIC, DRIVER, Export, KINDS, MANAGED,
                         MANAGED_STATIC, MEMORY, MEMORY_2024, MEMORY_LATEST, PINNED)

MIB = 1 << 20
FLAGS = "--cuda-memory-usage=true --cudabacktrace=memory:0"
HOST, STATIC = (0, 1), (5, 6)
MAIN = [("allocate", "/app/lib.so"), ("main", "/app/program")]


def need_import(case):
    if "built without" in case.gputrack("import", "/dev/null/none").err:
        case.skip("built without SQLite")


def shared(case):
    folder = case.source.parent / "shared" / "data" / "nsys"
    if not folder.is_dir():
        case.skip("the real exports are not here")
    return sorted(folder.glob("*.sqlite"))


def take(case, export, name="x"):
    """Imports it; gives what was printed."""
    need_import(case)
    if isinstance(export, Export):
        export = export.save(case.path(f"{name}.sqlite"))
    done = case.gputrack("import", export, "-o", f"{name}.gt")
    assert done.status == 0, done.err
    assert done.err == ""
    return done.out


def refuse(case, path):
    """One line on stderr, and nothing left behind."""
    need_import(case)
    done = case.gputrack("import", path, "-o", "refused.gt")
    assert done.status == 1 and done.out == "", (done.status, done.out)
    assert len(done.err.splitlines()) == 1 and done.err.startswith("gputrack: "), done.err
    assert not case.path("refused.gt").exists()
    return done.err


def table(text):
    head, *rows = [line.split("\t") for line in text.splitlines()]
    assert all(len(row) == len(head) for row in rows), text
    return head, [dict(zip(head, row)) for row in rows]


def tsv(case, recording, analysis):
    out = f"{analysis}.tsv"
    done = case.gputrack("report", recording, "-a", analysis, "--format", "tsv", "-o", out)
    assert done.status == 0 and done.out == "" and done.err == "", done.err
    return table(case.path(out).read_text())


# The independent computation.

class Model:
    """Plays the rows of an export in order of time; one dictionary says what is alive."""

    def __init__(self, path):
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        db.row_factory = sqlite3.Row
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        self.db, self.chains = db, "CUDA_CALLCHAINS" in tables
        rows = db.execute("SELECT rowid, * FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start, "
                          "correlationId, rowid").fetchall()
        self.alive, self.usage, self.peak, self.at_peak = {}, [], 0, {}
        self.unknown = self.replaced = self.mismatched = 0
        self.first = None
        self.classes = {}
        for row in rows:
            self.play(row)

    def class_of(self, row):
        calls = self.db.execute(
            "SELECT eventClass, callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE "
            "correlationId = ? AND globalTid >> 24 = ? >> 24 AND start <= ? AND end >= ?",
            [row["correlationId"], row["globalPid"], row["start"], row["start"]]).fetchall()
        for call in calls:
            if call["eventClass"] == 67 and call["callchainId"] is not None and self.chains and \
                    self.db.execute("SELECT 1 FROM CUDA_CALLCHAINS WHERE id = ?",
                                    [call["callchainId"]]).fetchone():
                return "valid"
        return "driver" if any(call["eventClass"] == 1 for call in calls) else "invalid"

    def total(self, which=None):
        return sum(size for kind, size, c in self.alive.values()
                   if kind not in HOST and (which is None or c == which))

    def play(self, row):
        family = ("array",) if row["memKind"] == 3 else \
            ("static",) if row["memKind"] in STATIC else ()
        key = (row["globalPid"], row["deviceId"], row["address"]) + family
        kind, of = row["memKind"], self.class_of(row)
        self.classes[of] = self.classes.get(of, 0) + 1
        if row["memoryOperationType"] == 0:
            self.replaced += key in self.alive
            self.alive[key] = (kind, row["bytes"], of)
            return self.total_after(row)
        if key not in self.alive:  # the device that a free names need not be the block's
            key = next((k for k in self.alive if k[0] == key[0] and k[2:] == key[2:]), key)
        if key in self.alive:
            self.mismatched += self.alive.pop(key)[1] != row["bytes"]
        else:
            self.unknown += 1
        return self.total_after(row)

    def total_after(self, row):
        if row["memKind"] in HOST:
            return
        if self.first is None:
            self.first = row["start"]
        state = (row["start"] - self.first, self.total(), self.total("valid"),
                 self.total("invalid"), self.total("driver"))
        if self.usage and self.usage[-1][0] == state[0]:
            self.usage.pop()
        self.usage.append(state)
        if state[1] > self.peak:
            self.peak, self.at_peak = state[1], dict(self.alive)


def check(case, path, name):
    """All that gputrack says of an export against the model."""
    model = Model(path)
    take(case, path, name)
    recording = f"{name}.gt"
    head, rows = tsv(case, recording, "usage")
    assert head[:5] == ["time(ns)", "total (B)", "valid (B)", "invalid (B)", "driver (B)"]
    assert [tuple(int(row[c]) for c in head[:5]) for row in rows] == model.usage
    leaks = {k: v for k, v in model.alive.items() if v[0] not in STATIC}
    for analysis, wanted in (("leakage", leaks),
                             ("watermark", {k: v for k, v in model.at_peak.items()
                                            if v[0] not in HOST})):
        head, rows = tsv(case, recording, analysis)
        assert head[:8] == ["address", "start_time", "bytes", "memkind", "mem_op_type", "var_name",
                            "trace_type", "stack"]
        numbers = {"valid": "0", "invalid": "1", "driver": "2"}
        assert sorted((int(row["address"], 16), int(row["bytes"]), row["trace_type"])
                      for row in rows) == \
            sorted((key[2], size, numbers[c]) for key, (kind, size, c) in wanted.items())
    leakage, usage = case.report(recording, "leakage"), case.report(recording, "usage")
    watermark, summary = case.report(recording, "watermark"), case.report(recording, "summary")
    assert leakage["device_bytes"] == sum(v[1] for v in leaks.values() if v[0] not in HOST)
    assert leakage["host_bytes"] == sum(v[1] for v in leaks.values() if v[0] in HOST)
    statics = [v for v in model.alive.values() if v[0] in STATIC]
    assert sum(g["bytes"] for g in leakage["lasting"]) == sum(v[1] for v in statics)
    assert sum(g["count"] for g in leakage["lasting"]) == len(statics)
    assert usage["peak"]["device_bytes"] == watermark["peak"]["device_bytes"] == model.peak
    assert sum(d["device_bytes"] for d in watermark["by_device"]) == model.peak
    assert sum(d["device_bytes"] for d in watermark["by_process"]) == model.peak
    for c in ("valid", "invalid", "driver"):
        held = sum(v[1] for v in model.at_peak.values() if v[0] not in HOST and v[2] == c)
        assert watermark["classes"][c] == usage["peak"][c] == held
    redundant = sum(r["count"] for r in summary["redundant"])
    assert summary["unknown_ends"] + redundant == model.unknown
    assert summary["replaced"] == model.replaced
    assert summary["size_mismatches"] == model.mismatched
    return model


# Real exports.

def test_every_real_export_with_memory_matches_its_rows(case):
    seen = 0
    for path in shared(case):
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master")]
        if "CUDA_GPU_MEMORY_USAGE_EVENTS" in names and \
                db.execute("SELECT count(*) FROM CUDA_GPU_MEMORY_USAGE_EVENTS").fetchone()[0]:
            check(case, path, path.name[:12])
            seen += 1
    assert seen == 4, seen


def test_every_real_export_without_memory_says_so(case):
    for path in shared(case):
        name = path.name
        if "NO_MEM_TABLE" in name or "uvmTorch" in name:
            error = refuse(case, path)
            assert "no device allocation recorded" in error and FLAGS in error, error
        elif "no_mem" in name or "mem0rows" in name:
            take(case, path, "n")
            calls = {c["function"]: c for c in case.report("n.gt", "summary")["calls"]}
            counts = dict(sqlite3.connect(f"file:{path}?immutable=1", uri=True).execute(
                "SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds s ON "
                "s.id = nameId WHERE eventClass <> 67 GROUP BY 1").fetchall())
            assert calls["cudaMalloc"]["calls"] == counts["cudaMalloc_v3020"], name
            text = case.gputrack("report", "n.gt").out
            assert "HANDLES UNKNOWN" in text and "--cuda-memory-usage=true" in text, text


def test_the_balanced_gemm_has_no_leaks_but_static_variables(case):
    path = [p for p in shared(case) if p.name.startswith("gemm_balanced")][0]
    take(case, path, "g")
    leakage = case.report("g.gt", "leakage")
    assert leakage["totals"] == {"count": 0, "bytes": 0} and leakage["groups"] == []
    names = {o["name"] for g in leakage["lasting"] for o in g["objects"]}
    assert "_ZN6cublas8internal15deviceConstantsE" in names and len(names) == 3
    text = case.gputrack("report", "g.gt", "-a", "leakage").out
    assert "No leaks" in text and "3 static device variables" in text
    assert "cublas::internal::deviceConstants" in text
    metrics = case.gputrack("export", "g.gt", "--format", "prometheus").out.splitlines()
    leaked = [line for line in metrics if line.startswith("gputrack_leaked")]
    assert len(leaked) == 4 and all(line.endswith(" 0") for line in leaked), leaked
    for value in ("leaked", "objects"):
        assert not case.gputrack("export", "g.gt", "--format", "collapsed", "--value", value).out
    plot = case.gputrack("plot", "g.gt", "-o", "g.txt")
    assert plot.status == 0 and " 0 resources (0 B) alive at the end" in plot.out, plot.out


def test_an_export_is_not_changed_and_nothing_appears_beside_it(case):
    path = case.path("x.sqlite")
    export = Export()
    export.alloc(10, 0x1000, 64)
    export.save(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns
    path.chmod(stat.S_IRUSR)
    files = set(os.listdir(case.folder))
    take(case, path, "y")
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) == before
    assert set(os.listdir(case.folder)) - files == {"y.gt"}


# Made up ones, for what the real ones lack.

def mixed(columns=MEMORY, **how):
    """Two processes, two devices, all classes, all kinds."""
    e = Export(columns, **how)
    e.call(90, 110, 1, "cudaMalloc_v3020")
    e.call(90, 110, 1, "cudaMalloc", BACKTRACE, stack=MAIN)
    e.alloc(100, 0x1000, 4 * MIB, correlation=1)
    e.call(190, 210, 2, "cuMemAlloc_v2", DRIVER)
    e.alloc(200, 0x2000, 2 * MIB, device=1, correlation=2)
    e.alloc(250, 0x3000, MIB, kind=MANAGED)
    e.alloc(260, 0x9000, 8 * MIB, kind=PINNED)
    e.alloc(270, 0x4000, 128, kind=DEVICE_STATIC, name="table\tof\nnames")
    e.alloc(271, 0x4100, 64, kind=MANAGED_STATIC, name="_Z3fooi")
    # the same addresses in another process are others
    e.call(290, 310, 1, "cudaMalloc", BACKTRACE, pid=200, stack=MAIN + [("_start", "/app/program")])
    e.alloc(300, 0x1000, 3 * MIB, pid=200, correlation=1)
    e.alloc(310, 0x5000, MIB, kind=ARRAY, pid=200)
    e.call(390, 410, 3, "cudaFree", BACKTRACE, stack=[("release", "/app/program")])
    e.free(400, 0x1000, 4 * MIB, correlation=3)
    # a correlation id of another process's call, and of a call that is over
    e.alloc(500, 0x6000, MIB, pid=200, correlation=3)
    e.alloc(600, 0x7000, MIB, correlation=1)
    e.free(700, 0x9000, 8 * MIB, kind=PINNED)
    return e


def test_processes_devices_kinds_and_classes(case):
    model = check(case, mixed().save(case.path("m.sqlite")), "m")
    assert model.peak == 11 * MIB + 192 and set(model.classes) == {"valid", "driver", "invalid"}
    usage = case.report("m.gt", "usage")
    assert {p["pid"]: p["peak_bytes"] for p in usage["by_process"]} == \
        {100: 7 * MIB + 192, 200: 5 * MIB}
    assert {d["device"]: d["peak_bytes"] for d in usage["by_device"]}["GPU 1"] == 2 * MIB
    text = case.gputrack("report", "m.gt", "-a", "watermark").out
    assert "managed" in text and "pid 200" in text and "GPU 1" in text and "valid" in text
    # one process alone
    only = case.report("m.gt", "usage", "--pid", "200")
    assert only["peak"]["device_bytes"] == 5 * MIB


def test_every_schema_is_read(case):
    for i, (columns, enums, meta, epoch) in enumerate((
            (MEMORY, False, None, None), (MEMORY, False, "EXPORT_META_DATA", 1),
            (MEMORY_2024, True, "META_DATA_EXPORT", 1), (MEMORY_LATEST, True, "META_DATA_EXPORT", 1))):
        path = mixed(columns, enums=enums, meta=meta, epoch=epoch and 1700000000 * 10**9).save(
            case.path(f"s{i}.sqlite"))
        check(case, path, f"s{i}")
        info = case.path(f"s{i}.gt/info").read_text()
        assert ("2024.9.9" in info) == bool(meta)
        assert ("2023-11-14T22:13:20" in info) == bool(epoch)


def test_rows_in_any_order_give_the_same_figures(case):
    export = mixed()
    ordered = check(case, export.save(case.path("a.sqlite")), "a")
    random.Random(7).shuffle(export.memory)
    random.Random(8).shuffle(export.calls)
    said = take(case, export, "b")
    check(case, case.path("b.sqlite"), "b")
    assert "out of order" in said
    for analysis in ("usage", "watermark", "leakage"):
        assert tsv(case, "a.gt", analysis) == tsv(case, "b.gt", analysis)
    assert case.report("b.gt", "summary")["out_of_order"] > 0
    assert "out of order" in case.gputrack("report", "b.gt").out
    assert ordered.peak > 0


def test_an_export_without_indexes_is_read_too(case):
    export = mixed()
    export.index = False
    check(case, export.save(case.path("n.sqlite")), "n")


def test_mistakes_are_counted_and_never_fatal(case):
    e = Export()
    e.alloc(10, 0x1000, 100)
    e.alloc(20, 0x1000, 200)            # twice
    e.free(30, 0x2000, 50)              # never allocated
    e.free(40, 0x1000, 150)             # of another size
    e.free(50, 0x1000, 150)             # again
    e.alloc(60, 0x3000, 10, pid=1)
    e.free(70, 0x3000, 10, pid=2)       # another process's
    e.alloc(80, 0x4000, 20, device=0)
    e.free(90, 0x4000, 20, device=1)    # under another device's number
    e.alloc(100, 0x4000, 30, device=1)
    e.free(110, 0x4000, 30, device=1)
    model = check(case, e.save(case.path("w.sqlite")), "w")
    assert (model.replaced, model.mismatched, model.unknown) == (1, 1, 3)
    assert sum(v[1] for v in model.alive.values()) == 10
    text = case.gputrack("report", "w.gt").out
    for words in ("freed with a size other than the allocated one", "created with a handle still in use",
                  "REDUNDANT RELEASES  1 call"):
        assert words in text, text


def test_invalid_rows_are_left_out_and_counted(case):
    e = Export()
    e.alloc(10, 0x1000, 100)
    e.row(9, 20, 0x2000, 100)
    e.alloc(30, 0x3000, -5)
    e.alloc(40, 0x4000, 100, kind=77)   # a kind of the future is an unknown kind
    e.alloc(50, 0x5000, 100, pid=0)     # found by fuzzing: its events were never seen again
    assert "3 rows were invalid and skipped" in take(case, e)
    _, rows = tsv(case, "x.gt", "leakage")
    assert [row["memkind"][24:] for row in rows] == ["DEVICE", "UNKNOWN"]


def test_pools_come_and_go(case):
    e = Export()
    e.pool(5, 1, 0xa000)
    e.alloc(10, 0x1000, 100)
    e.pool(15, 3, 0xa000)               # trimmed
    e.pool(20, 1, 0xb000)
    e.free(30, 0x1000, 100)
    e.pool(40, 2, 0xa000)
    take(case, e)
    leakage = case.report("x.gt", "leakage")
    assert [(g["kind"], g["count"]) for g in leakage["groups"]] == [("memory pool", 1)]
    assert [o["handle"] for o in leakage["groups"][0]["objects"]] == ["0xb000"]
    # tables have the names of the rows, people get words
    assert "1 memory pool by pool created in Nsight (CUDA)" in case.gputrack("report", "x.gt").out
    functions = [event["function"] for event in case.events("x.gt")]
    assert functions == ["nsysPoolCreated", "nsysDeviceAllocation", "nsysPoolCreated",
                         "nsysDeviceDeallocation", "nsysPoolDestroyed"]


def test_enum_tables_of_the_export_take_precedence(case):
    path = Export(enums=False)
    path.alloc(10, 0x1000, 100, kind=40)
    path = path.save(case.path("e.sqlite"))
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT)")
    db.execute("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (40, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', '')")
    db.commit()
    db.close()
    take(case, path, "e")
    assert tsv(case, "e.gt", "leakage")[1][0]["memkind"] == "CUDA_MEMOPR_MEMORY_KIND_ARRAY"


def test_the_recording_keeps_the_clock_of_the_export(case):
    e = mixed()
    take(case, e)
    assert [event["time_ns"] for event in case.events("x.gt")] == \
        [row["start"] for row in e.memory]
    assert case.report("x.gt", "usage")["recording"]["started"].startswith("2023-11-14T22:13:20")


# What cannot be imported.

def test_files_that_are_not_exports_are_refused_in_one_line(case):
    path = case.path("f")
    assert "No such file" in refuse(case, path)
    path.write_bytes(b"")
    assert "is empty" in refuse(case, path)
    path.write_bytes(b"not a database at all, but long enough to be one" * 100)
    assert "not an SQLite database" in refuse(case, path)
    profile = case.path("p.nsys-rep")
    profile.write_bytes(b"\x00" * 4096)
    assert f"nsys export --type sqlite {profile}" in refuse(case, profile)
    assert "not a file" in refuse(case, case.folder)
    db = sqlite3.connect(case.path("other.sqlite"))
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()
    assert "no export of Nsight Systems" in refuse(case, case.path("other.sqlite"))


def test_a_truncated_export_is_distinguished_from_a_damaged_one(case):
    e = Export()
    for i in range(5000):
        e.alloc(i, 0x1000 + i, 10)
    whole = e.save(case.path("whole.sqlite")).read_bytes()
    path = case.path("c.sqlite")
    for size in (60, 2000, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "is cut" in refuse(case, path), size
    broken = bytearray(whole)
    for at in range(4096, len(broken), 4096):
        broken[at:at + 64] = b"\xff" * 64
    path.write_bytes(broken)
    assert "damaged" in refuse(case, path)


def test_no_allocations_and_no_tracking_are_distinguished(case):
    nothing = Export(columns=None)
    nothing.call(1, 2, 1, "cuInit", DRIVER)
    error = refuse(case, nothing.save(case.path("n.sqlite")))
    assert "no device allocation recorded" in error and FLAGS in error
    for value, words in (("true", "memory tracking was on"), ("false", "memory tracking was off")):
        nothing.extra = []
        nothing.captured("COLLECT_GPU_MEMORY_USAGE", value)
        error = refuse(case, nothing.save(case.path(f"{value}.sqlite")))
        assert "no device allocation recorded" in error and words in error, error
        assert (FLAGS in error) == (value == "false"), error


def test_an_existing_recording_is_kept_as_old_and_survives_a_failure(case):
    e = Export()
    e.alloc(10, 0x1000, 100)
    take(case, e)
    take(case, case.path("x.sqlite"))
    assert case.path("x.gt.old").is_dir()
    done = case.gputrack("import", case.path("none.sqlite"), "-o", "x.gt")
    assert done.status == 1 and case.path("x.gt/info").exists()
    # with the slash that shells put behind folders
    done = case.gputrack("import", case.path("x.sqlite"), "-o", "x.gt/")
    assert done.status == 0 and "imported into x.gt\n" in done.out, done.err


# Frames.

RUNTIME_FRAMES = [("0x7f0588", "/nsys/libcupti.so.11.7"), ("0x7f26b6", "/usr/lib/libcuda.so.525.105")]
CUDART = "/cuda/lib64/libcudart.so.11.7.60"


def stacked():
    """Two calls of one function of a program, through the runtime and its template."""
    e = Export()
    malloc = RUNTIME_FRAMES + [("cudaMalloc", CUDART),
                               ("cudaError cudaMalloc<double>(double**, unsigned long)", "/app/saxpy"),
                               ("main", "/app/saxpy"), ("__libc_start_main", "/lib/libc.so.6")]
    copy = RUNTIME_FRAMES + [("cudaMemcpy", CUDART)] + malloc[-2:]
    e.call(90, 110, 1, "cudaMalloc", BACKTRACE, stack=malloc)
    e.alloc(100, 0x1000, 4 * MIB, correlation=1)
    e.call(190, 210, 2, "cudaMemcpy", BACKTRACE, stack=copy)
    e.alloc(200, 0x2000, MIB, correlation=2)
    e.alloc(300, 0x3000, 8 * MIB, kind=PINNED)
    return e, malloc, copy


def test_the_cuda_call_stays_in_a_folded_stack(case):
    export, malloc, copy = stacked()
    take(case, export, "s")
    frames = [[f["function"] for f in group["stack"]]
              for group in case.report("s.gt", "leakage")["groups"] if group["kind"] != "host memory"]
    assert frames == [["cudaMalloc", "main"], ["cudaMemcpy", "main"]], frames
    text = case.gputrack("report", "s.gt", "-a", "leakage").out
    assert "cudaMalloc" in text and "cudaMemcpy" in text and "libcupti" not in text, text
    assert "libcupti" in case.gputrack("report", "s.gt", "-a", "leakage", "--all-frames").out
    # the table has what the scripts have
    written = " -> ".join(f"[{function}] ({module})" for function, module in malloc)
    for analysis in ("leakage", "watermark"):
        rows = tsv(case, "s.gt", analysis)[1]
        assert written in [row["stack"] for row in rows], rows
    done = case.gputrack("report", "s.gt", "-f", "tsv", "-a", "leakage", "--baseline", "s.gt",
                         "--fail-on-leak")
    assert done.status == 0, done.err


def test_host_memory_can_be_separated(case):
    take(case, stacked()[0], "s")
    leakage = case.report("s.gt", "leakage")
    assert (leakage["device_bytes"], leakage["host_bytes"]) == (5 * MIB, 8 * MIB)
    rows = tsv(case, "s.gt", "leakage")[1]
    assert sum(int(r["bytes"]) for r in rows if r["memory"] != "host") == 5 * MIB
    text = case.gputrack("report", "s.gt", "-a", "leakage").out
    assert "5.00 MiB of device memory, 8.00 MiB of host memory" in text, text


# The three files.

def test_export_writes_the_three_files_of_the_scripts(case):
    take(case, mixed(), "m")
    done = case.gputrack("export", "m.gt", "--format", "tsv", "-o", "out")
    assert done.status == 0 and done.out == "" and done.err == "", done.err
    files = {}
    for name in ("valid", "invalid", "driver"):
        head, files[name] = table(case.path(f"out_{name}.tsv").read_text())
        assert head == ["PID", "address", "start_time", "bytes", "memkind", "mem_op_type",
                        "var_name", "call_stack"]
    assert [row["call_stack"] for row in files["valid"]] == [
        "[allocate] (/app/lib.so) -> [main] (/app/program)",
        "[allocate] (/app/lib.so) -> [main] (/app/program) -> [_start] (/app/program)",
        "[release] (/app/program)"]
    assert files["valid"][0] == {
        "PID": "100", "address": "0x1000", "start_time": "100", "bytes": str(4 * MIB),
        "memkind": "CUDA_MEMOPR_MEMORY_KIND_DEVICE",
        "mem_op_type": "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "var_name": "",
        "call_stack": "[allocate] (/app/lib.so) -> [main] (/app/program)"}
    assert files["valid"][2]["mem_op_type"] == "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION"
    assert files["valid"][2]["bytes"] == str(4 * MIB)
    assert [row["call_stack"] for row in files["driver"]] == ["cuMemAlloc_v2"]
    assert {row["call_stack"] for row in files["invalid"]} == {"STACK_NOT_FOUND"}
    assert {row["memkind"][24:] for row in files["invalid"]} == \
        {"MANAGED", "PINNED", "DEVICE_STATIC", "MANAGED_STATIC", "ARRAY", "DEVICE"}
    assert "table\\tof\\nnames" in [row["var_name"] for row in files["invalid"]]
    assert sum(map(len, files.values())) == len(mixed().memory)
    assert {row["PID"] for rows in files.values() for row in rows} == {"100", "200"}


def test_every_kind_of_memory_has_its_word_and_its_total(case):
    export = Export()
    for kind in range(len(KINDS)):
        export.alloc(1000 + kind, 0x1000 * (kind + 1), 1 << kind, kind=kind)
    take(case, export)
    assert case.gputrack("export", "x.gt", "-f", "tsv", "-o", "out").status == 0
    rows = table(case.path("out_invalid.tsv").read_text())[1]
    assert [(row["memkind"], int(row["bytes"])) for row in rows] == \
        [(f"CUDA_MEMOPR_MEMORY_KIND_{kind}", 1 << i) for i, kind in enumerate(KINDS)], rows
    # pageable and pinned memory are the host's; what may be there counts as the device's
    assert case.report("x.gt", "usage")["peak"]["device_bytes"] == (1 << len(KINDS)) - 1 - 3
    text = case.gputrack("report", "x.gt", "-a", "watermark").out
    assert "may reside on the host" in " ".join(text.split()), text


def test_a_tsv_name_writes_the_table_of_all_events(case):
    take(case, mixed(), "m")
    assert case.gputrack("export", "m.gt", "-o", "all.tsv").status == 0
    head, rows = table(case.path("all.tsv").read_text())
    assert head[0] == "time_ns" and len(rows) == len(mixed().memory)
    assert not case.path("all.tsv_valid.tsv").exists()
    # and where one of the three cannot be written, none is
    case.path("bad_driver.tsv").mkdir()
    done = case.gputrack("export", "m.gt", "-o", "bad")
    assert done.status == 1 and len(done.err.splitlines()) == 1, done.err
    assert not case.path("bad_valid.tsv").exists() and not case.path("bad_invalid.tsv").exists()


def test_files_in_a_folder_are_named_like_those_of_the_scripts(case):
    take(case, mixed(), "m")
    case.path("tsv").mkdir()
    assert case.gputrack("export", "m.gt", "-f", "tsv", "-o", "tsv/").status == 0
    assert sorted(os.listdir(case.path("tsv"))) == ["driver.tsv", "invalid.tsv", "valid.tsv"]


def test_no_file_is_left_if_one_of_three_does_not_fit(case):
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    e = mixed()
    for i in range(12):  # too much for the limit, and less than a stream holds back
        e.call(1000 + i, 1001 + i, 10 + i, "cudaMalloc", BACKTRACE, stack=MAIN)
        e.alloc(1000 + i, 0x100000 + i * 4096, 4096, correlation=10 + i)
    take(case, e, "m")
    done = case.gputrack("export", "m.gt", "-f", "tsv", "-o", "p", preexec=little_room)
    assert done.status == 1 and "p_valid.tsv" in done.err, (done.status, done.err)
    assert not list(case.folder.glob("p*")), list(case.folder.glob("p*"))


def test_names_that_imply_compression_are_refused(case):
    take(case, mixed(), "m")
    for command in (("export", "m.gt", "-f", "csv", "-o", "x.csv.zst"),
                    ("export", "m.gt", "-o", "x.tsv.gz"), ("report", "m.gt", "-o", "x.txt.xz")):
        done = case.gputrack(*command)
        assert done.status == 2 and "compressed" in done.err, done.err
    assert case.gputrack("export", "m.gt", "-f", "pprof", "-o", "x.pb.gz").status == 0
    assert sorted(p.name for p in case.folder.glob("x.*")) == ["x.pb.gz"]


# nsys in one command, with a stand-in that hands over an export.

NSYS = """#!/bin/sh
printf '%s\\n' "$*" >>"$NSYS_LOG"
case $1 in
profile)
	shift
	while :; do
		case $1 in
		--output=*) output=${1#--output=} ;;
		--*) ;;
		*) break ;;
		esac
		shift
	done
	"$@"
	status=$?
	echo report >"$output.nsys-rep"
	exit $status ;;
export)
	echo 'Processing [=====100%]'
	[ -n "${NSYS_EXPORT-}" ] || { echo 'nsys: the report is of another version' >&2; exit 1; }
	for word; do
		case $word in --output=*) cat "$NSYS_EXPORT" >"${word#--output=}" ;; esac
	done ;;
esac
"""


def stand_in(case, script=NSYS, **env):
    folder = case.path("bin")
    folder.mkdir(exist_ok=True)
    (folder / "nsys").write_text(script)
    (folder / "nsys").chmod(0o755)
    tmp = case.path("tmp")
    tmp.mkdir(exist_ok=True)
    return dict(env, PATH=f"{folder}:{os.environ['PATH']}", NSYS_LOG=str(case.path("log")),
                TMPDIR=str(tmp))


def with_nsys(case, env, *command):
    need_import(case)
    done = case.gputrack("run", "--with", "nsys", *command, env=env)
    assert not os.path.isdir(env.get("TMPDIR", "")) or os.listdir(env["TMPDIR"]) == []
    return done


def test_nsys_runs_the_program_exports_and_is_imported(case):
    export = mixed().save(case.path("e.sqlite"))
    env = stand_in(case, NSYS_EXPORT=str(export))
    done = with_nsys(case, env, "-o", "n.gt", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert done.status == 7 and done.out == "out\n"
    assert done.err.startswith("err\n") and "LEAKED" in done.err and "PEAK" in done.err
    profile, exported = case.path("log").read_text().splitlines()
    assert profile.startswith("profile ") and profile.endswith("exit 7")
    assert "--cuda-memory-usage=true" in profile and "--cudabacktrace=memory:0" in profile
    assert exported.startswith("export --type=sqlite ")
    assert case.report("n.gt", "usage")["peak"]["device_bytes"] == 11 * MIB + 192
    assert case.report("n.gt", "usage")["recording"]["exit_status"] == 7


def test_nsys_output_is_kept_on_request(case):
    export = mixed().save(case.path("e.sqlite"))
    env = stand_in(case, NSYS_EXPORT=str(export))
    assert with_nsys(case, env, "-q", "-o", "n.gt", "true").status == 0
    assert not case.path("n.sqlite").exists() and not case.path("n.nsys-rep").exists()
    for old in (False, True):
        assert with_nsys(case, env, "-q", "--keep-nsys", "-o", "n.gt", "true").status == 0
        assert case.path("n.nsys-rep").read_text() == "report\n"
        assert case.path("n.sqlite").read_bytes() == export.read_bytes()
        assert case.path("n.sqlite.old").exists() == old
    assert case.gputrack("import", "n.sqlite", "-o", "again.gt").status == 0
    # from another file system, and where there was nothing to import
    empty = Export()
    empty.call(1, 2, 1, "cuInit", DRIVER)
    env = stand_in(case, NSYS_EXPORT=str(empty.save(case.path("none.sqlite"))))
    if os.access("/dev/shm", os.W_OK) and os.stat("/dev/shm").st_dev != case.folder.stat().st_dev:
        env["TMPDIR"] = "/dev/shm"
    done = case.gputrack("run", "--with", "nsys", "--keep-nsys", "-o", "m.gt", "true", env=env)
    assert done.status == 1 and len(done.err.splitlines()) == 1, done.err
    assert case.path("m.nsys-rep").exists() and case.path("m.sqlite").exists()
    assert not case.path("m.gt").exists()


def test_nsys_with_a_real_export(case):
    path = [p for p in shared(case) if p.name.startswith("DERIVED")][0]
    done = with_nsys(case, stand_in(case, NSYS_EXPORT=str(path)), "-o", "n.gt", "true")
    assert done.status == 0 and "12 resources" in done.err, done.err
    done = with_nsys(case, stand_in(case, NSYS_EXPORT=str(path)), "-q", "--fail-on-leak",
                     "-o", "n.gt", "true")
    assert done.status == 23 and done.err == "FAILED --fail-on-leak=any: 12 resources, 12.0 MiB\n", done.err


def test_a_missing_or_failing_nsys_is_reported_in_one_line(case):
    def line(done, status=1):
        assert done.status == status and done.out == "", (done.status, done.out)
        assert len(done.err.splitlines()) == 1 and done.err.startswith("gputrack: "), done.err
        return done.err

    error = line(with_nsys(case, {"PATH": str(case.path("nowhere"))}, "/bin/true"))
    assert "cannot run nsys" in error and "install Nsight Systems" in error
    env = stand_in(case, "#!/bin/sh\necho 'unrecognised option --trace' >&2\nexit 1\n")
    assert "unrecognised option --trace" in line(with_nsys(case, env, "true"))
    assert "another version" in line(with_nsys(case, stand_in(case), "true"))
    nothing = Export(columns=None)
    nothing.call(1, 2, 1, "cuInit", DRIVER)
    env = stand_in(case, NSYS_EXPORT=str(nothing.save(case.path("n.sqlite"))))
    assert "no device allocation recorded" in line(with_nsys(case, env, "true"))
    # the program's own failure is passed on all the same
    line(with_nsys(case, env, "sh", "-c", "exit 5"), 5)
    assert not [name for name in os.listdir(case.folder) if name.endswith(".gt")]
    done = case.gputrack("run", "--with", "nsys", "--csv", "x.csv", "true")
    assert done.status == 2 and "--csv" in done.err


def test_names_computed_on_reading_take_no_memory(case):
    """A column may be an expression: a few bytes of the file that stand for 400 MB."""
    need_import(case)
    export = Export()
    for i in range(20):
        export.call(1000 * i, 1000 * i + 500, i + 1, "cudaMalloc", BACKTRACE, stack=MAIN)
        export.alloc(1000 * i + 50, 0x1000 * (i + 1), 4096, correlation=i + 1)
    path = export.save(case.path("x.sqlite"))
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE StringIds")
        db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, n INTEGER, value TEXT AS "
                   "(hex(zeroblob(n))) VIRTUAL)")
        db.executemany("INSERT INTO StringIds (id, n) VALUES (?, 1)", [(i,) for i in range(40)])
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, 'zeroblob(n)', "
                   "'zeroblob(n + 200000000)') WHERE name = 'StringIds'")
    # by a small program: a process begins with the size of the one that it was forked from
    done = case.run(case.build / "bench/measure", "times", case.build / "gputrack", "import", path,
                    "-o", "x.gt")
    assert done.status == 0 and len(case.events("x.gt")) == 20, done.err
    peak_kb = int(case.path("times").read_text().split()[2])
    assert peak_kb < 200 << 10, peak_kb


def test_more_processes_than_a_recording_holds_are_refused_at_once(case):
    """Before the first trace is made: there are not enough descriptors for so many."""
    need_import(case)
    export = Export()
    for i in range(4097):
        export.alloc(1000 + i, 0x1000 * (i + 1), 4096, pid=100 + i)
    done = case.run("prlimit", "--nofile=64", case.build / "gputrack", "import",
                    export.save(case.path("x.sqlite")), "-o", "x.gt")
    assert done.status == 1 and "more than 4096 processes" in done.err, done.err
    assert not case.path("x.gt").exists()
