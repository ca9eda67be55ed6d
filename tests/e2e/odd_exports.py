# SPDX-License-Identifier: MIT
"""odd_exports.py - Nsight exports that no nsys writes: broken, hostile, or only unusual.

REFUSED: name -> (words of the message, how to make it); READ: name -> (words that import prints, how
to make it). A maker gets the path and may return another.
"""
import os
import pathlib
import random
import sqlite3

from nsys_export import BACKTRACE, Export

MIB = 1 << 20
MEMORY, CALLS = "CUDA_GPU_MEMORY_USAGE_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"
WHOLE = "5 allocations and 0 frees"
SIX = "start INTEGER, globalPid INTEGER, address INTEGER{}, bytes INTEGER, memKind INTEGER, " \
      "memoryOperationType INTEGER"
ROW = f"INSERT INTO {MEMORY} (start, globalPid, address, bytes, memKind, memoryOperationType) VALUES "
REFUSED, READ = {}, {}


def usual(**how):
    export = Export(**how)
    for i in range(5):
        at = 1000 * i + 1000
        for more in ({}, {"event_class": BACKTRACE,
                          "stack": [("cudaMalloc", "/lib/c.so"), ("main", "/app/x")]}):
            export.call(at - 100, at + 100, i + 1, "cudaMalloc_v3020", **more)
        export.alloc(at, 0x1000 * (i + 1), MIB, correlation=i + 1)
    return export


def change(path, *statements, export=None):
    (export or usual()).save(path)
    with sqlite3.connect(path) as db:
        for sql in statements:
            db.execute(*(sql if isinstance(sql, tuple) else (sql,)))
    db.close()


def sql(table, name, words, *statements):
    table[name] = words, lambda path: change(path, *statements)


def made(table, words):
    def add(function):
        table[function.__name__] = words, function
        return function
    return add


def noise(size):
    return random.Random(size).randbytes(size)


def view(name):
    return f"ALTER TABLE {name} RENAME TO t", f"CREATE VIEW {name} AS SELECT * FROM t"


# Refused.

@made(REFUSED, "is empty")
def empty(path):
    path.write_bytes(b"")


@made(REFUSED, "is not an SQLite database")
def ten_bytes(path):
    path.write_bytes(usual().save(path).read_bytes()[:10])


@made(REFUSED, "is cut")
def half(path):
    data = usual().save(path).read_bytes()
    path.write_bytes(data[:len(data) // 2])


@made(REFUSED, "is damaged")
def damaged_rows(path):
    data = usual().save(path).read_bytes()
    path.write_bytes(data[:4096] + noise(len(data) - 4096))


@made(REFUSED, "is damaged")
def damaged_schema(path):
    data = usual().save(path).read_bytes()
    path.write_bytes(data[:100] + noise(3996) + data[4096:])


@made(REFUSED, "is not a file")
def folder(path):
    path.mkdir()


@made(REFUSED, "is not a file")
def pipe(path):
    os.mkfifo(path)


for table in (MEMORY, CALLS, "StringIds", "CUDA_CALLCHAINS"):
    sql(REFUSED, f"view_{table}", f"its {table} is a view", *view(table))
sql(REFUSED, "endless_view", "is a view", f"DROP TABLE {MEMORY}",
    f"CREATE VIEW {MEMORY} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i "
    "AS start, i AS globalPid, i AS address, 0 AS memoryOperationType FROM n")
sql(REFUSED, "another_database", "is no export of Nsight Systems", f"DROP TABLE {MEMORY}",
    f"DROP TABLE {CALLS}", "DROP TABLE StringIds")
sql(REFUSED, "no_columns", "has no column start", f"DROP TABLE {MEMORY}",
    f"CREATE TABLE {MEMORY} (x INTEGER)")
sql(REFUSED, "strings_without_columns", "StringIds has no column id", "DROP TABLE StringIds",
    'CREATE TABLE StringIds ("id; DROP TABLE x" INTEGER)')
sql(REFUSED, "chains_without_symbols", "CUDA_CALLCHAINS has no column symbol",
    "ALTER TABLE CUDA_CALLCHAINS RENAME COLUMN symbol TO sym")
sql(REFUSED, "only_invalid_rows", f"none of the 5 rows of its table {MEMORY} is valid",
    f"UPDATE {MEMORY} SET bytes = 'many'", f"DELETE FROM {CALLS}")
sql(REFUSED, "ids_beyond_64_bits", "none of the 5 rows", f"DELETE FROM {CALLS}",
    f"UPDATE {MEMORY} SET address = 18446744073709551615 WHERE rowid % 2",
    f"UPDATE {MEMORY} SET address = '18446744073709551615' WHERE rowid % 2 = 0")

# Read.

sql(READ, "rows_without_numbers", "2 rows were out of order", f"DROP TABLE {MEMORY}",
    f"CREATE TABLE {MEMORY} ({SIX.format(' PRIMARY KEY')}) WITHOUT ROWID",
    *(ROW + f"({9000 - 1000 * i}, {100 << 24}, {4096 * (i + 1)}, 10, 2, 0)" for i in range(3)))
sql(READ, "blobs", "2 allocations and 0 frees",
    f"UPDATE {MEMORY} SET bytes = x'0102', address = x'ff' WHERE rowid % 2")
sql(READ, "floats", "1 row was invalid and skipped", f"DROP TABLE {MEMORY}",
    f"CREATE TABLE {MEMORY} ({SIX.format('').replace('INTEGER', 'REAL')})",
    ROW + f"(1000.0, {100 << 24}.0, 4096.0, 10.0, 2.0, 0.0)", ROW + "(1000.5, 1e300, 4096, -1e300, 2, 0)")
sql(READ, "long_strings", WHOLE, (f"UPDATE {MEMORY} SET name = ?", ("x" * 2_000_000,)),
    ("UPDATE StringIds SET value = ?", ("cudaMalloc" + "y" * 2_000_000,)))
sql(READ, "strings_that_are_none", WHOLE,
    ("UPDATE StringIds SET value = ?", (b"\xff\xfe\x00\x1b[31m\n\t",)),
    (f"UPDATE {MEMORY} SET name = ?", (b"\x00\xff\n",)),
    ("UPDATE PROCESSES SET name = ?", ("a\nb\x1b[2J\t" * 500,)))
sql(READ, "no_strings", WHOLE, "UPDATE StringIds SET value = NULL")
sql(READ, "negative_times", WHOLE, f"UPDATE {MEMORY} SET start = -start",
    f"UPDATE {CALLS} SET start = -start - 200, end = -end")
sql(READ, "extreme_times", WHOLE,
    f"UPDATE {MEMORY} SET start = -9223372036854775808 WHERE rowid = 1",
    f"UPDATE {MEMORY} SET start = 9223372036854775807 WHERE rowid = 5")
sql(READ, "extreme_correlations", WHOLE, f"UPDATE {MEMORY} SET correlationId = 9223372036854775807",
    f"UPDATE {CALLS} SET correlationId = 9223372036854775807, nameId = 1e19, callchainId = -1")
sql(READ, "one_correlation", WHOLE, f"UPDATE {CALLS} SET correlationId = 1, start = 0, end = 9000",
    f"UPDATE {MEMORY} SET correlationId = 1")
sql(READ, "one_chain", "1 with a call stack", "CREATE TABLE c AS SELECT * FROM CUDA_CALLCHAINS",
    "DROP TABLE CUDA_CALLCHAINS", "CREATE TABLE CUDA_CALLCHAINS AS SELECT 1 AS id, c.symbol, "
    "c.module, 0 AS stackDepth FROM c, c AS d")
sql(READ, "no_chains", "0 with a call stack", "DELETE FROM CUDA_CALLCHAINS")
sql(READ, "two_memory_tables", WHOLE, f"CREATE TABLE {MEMORY}_2 AS SELECT * FROM {MEMORY}")
sql(READ, "lower_case", WHOLE, f"ALTER TABLE {MEMORY} RENAME TO t",
    f"ALTER TABLE t RENAME TO {MEMORY.lower()}")
sql(READ, "extreme_enums", WHOLE, "UPDATE ENUM_CUDA_MEM_KIND SET id = id * 1000000007",
    "INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES (-1, '_ALLOCATION', ''), "
    "(9223372036854775807, '_DEALLOCATION', ''), (0, NULL, NULL)")
sql(READ, "odd_processes", "3 allocations and 0 frees of 2 processes",
    f"UPDATE {MEMORY} SET globalPid = rowid - 2 WHERE rowid < 3",
    f"UPDATE {MEMORY} SET globalPid = NULL WHERE rowid = 3")
sql(READ, "odd_devices", WHOLE, f"UPDATE {MEMORY} SET deviceId = -1 WHERE rowid = 1",
    f"UPDATE {MEMORY} SET deviceId = 9223372036854775807 WHERE rowid = 2",
    f"UPDATE {MEMORY} SET deviceId = 60 + rowid WHERE rowid > 2")
sql(READ, "calls_that_end_before_they_begin", WHOLE, f"UPDATE {CALLS} SET end = start - 5000")
sql(READ, "computed_names", "1 allocation", f"DROP TABLE {MEMORY}",
    f"CREATE TABLE {MEMORY} ({SIX.format('')}, name TEXT GENERATED ALWAYS AS "
    "(hex(zeroblob(400000000))) VIRTUAL)", ROW + f"(1000, {100 << 24}, 4096, 10, 2, 0)")


@made(READ, WHOLE)
def garbage_log(path):
    usual().save(path)
    pathlib.Path(f"{path}-wal").write_bytes(noise(50000))


@made(READ, WHOLE)
def garbage_journal(path):
    usual().save(path)
    pathlib.Path(f"{path}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + noise(50000))


@made(READ, "1 allocation and")
def link_to_a_log(path):
    """The log lies beside the file, not beside the link."""
    real = path.with_name(f"real_{path.name}")
    usual().save(real)
    db = sqlite3.connect(real, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute(f"DELETE FROM {MEMORY} WHERE rowid > 1")
    kept = {p: p.read_bytes() for p in real.parent.glob(f"{real.name}*") if p.suffix != ".sqlite-shm"}
    db.close()
    for name, data in kept.items():
        name.write_bytes(data)
    path.symlink_to(real)


def with_pragma(path, pragma):
    db = sqlite3.connect(path)
    db.execute(pragma)
    db.execute("CREATE TABLE t (a)")
    db.commit()
    db.close()
    usual().save(path)


READ["sixteen_bit_texts"] = WHOLE, lambda path: with_pragma(path, "PRAGMA encoding = 'UTF-16'")
READ["large_pages"] = WHOLE, lambda path: with_pragma(path, "PRAGMA page_size = 65536")
READ["small_pages"] = WHOLE, lambda path: with_pragma(path, "PRAGMA page_size = 512")


@made(READ, WHOLE)
def name_of_all_sorts(path):
    return usual().save(path.with_name("a b?c#d%20'e\"\n;.sqlite"))


@made(READ, WHOLE)
def deep_stacks(path):
    export = usual()
    export.frames[0] = [(f"f{i % 7}", "/m") for i in range(20000)]
    export.save(path)


@made(READ, WHOLE)
def odd_clocks(path):
    export = usual(epoch=None)
    export.insert("TARGET_INFO_SESSION_START_TIME", utcEpochNs="soon", utcTime="x" * 1000,
                  localTime=b"\xff")
    export.insert("ANALYSIS_DETAILS", duration=9223372036854775807)
    export.save(path)


@made(READ, WHOLE)
def distant_clocks(path):
    export = usual(epoch=9223372036854775807)
    export.insert("ANALYSIS_DETAILS", duration=-3)
    export.save(path)


@made(READ, WHOLE)
def odd_work(path):
    export = usual()
    for start, end, device in ((5, 1, 0), (None, None, None), ("a", "b", "c"), (-100, -50, 0),
                               (100, 200, 99), (2**62, 2**63 - 1, 0), (-2**63, 2**63 - 1, 0)):
        export.insert("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device)
    export.save(path)


@made(READ, "2 migrations")
def odd_moves(path):
    export = usual()
    for start, size, kind, cause, address in (
            (1, 1, "11", 2, 5), (2, None, 11, None, None), (3, "x", 12, "y", "z"), (None, 5, 13, 1, 1),
            (4, 2**63 - 1, 11, 2, 2**63 - 1)):
        export.insert("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, bytes=size, copyKind=kind,
                      migrationCause=cause, virtualAddress=address)
    export.save(path)


@made(READ, WHOLE)
def odd_gpus(path):
    export = usual()
    for i in range(200):
        export.gpu(i, "G" * (10 * i), [-1, None, "big", 2**63 - 1][i % 4], cuda=i % 3)
    export.save(path)


@made(READ, WHOLE)
def many_complaints(path):
    export = usual()
    for i in range(300):
        export.insert("DIAGNOSTIC_EVENT", timestamp=i, source=1, severity=3,
                      text=f"lost {i}\nline\x1b[31m")
    export.save(path)
