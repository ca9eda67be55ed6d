# SPDX-License-Identifier: MIT
"""nsys_export.py - makes small SQLite exports like those of Nsight Systems, of any schema."""
import sqlite3

KINDS = ["PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC",
         "UNKNOWN"]
PINNED, DEVICE, ARRAY, MANAGED, DEVICE_STATIC, MANAGED_STATIC = 1, 2, 3, 4, 5, 6
ALLOCATION, DEALLOCATION = 0, 1
RUNTIME, DRIVER, BACKTRACE = 0, 1, 67

MEMORY = ["start", "globalPid", "deviceId", "contextId", "address", "pc", "bytes", "memKind",
          "memoryOperationType", "name", "correlationId"]
MEMORY_2024 = MEMORY + ["localMemoryPoolAddress", "localMemoryPoolReleaseThreshold",
                        "localMemoryPoolSize", "localMemoryPoolUtilizedSize",
                        "importedMemoryPoolAddress", "importedMemoryPoolProcessId"]
MEMORY_LATEST = MEMORY_2024 + ["streamId"]


# Ranges of NVTX, as of 2024; types of rows.
RANGES = ["start", "end", "eventType", "rangeId", "category", "color", "text", "globalTid",
          "endGlobalTid", "textId", "domainId", "uint64Value", "int64Value", "doubleValue",
          "uint32Value", "int32Value", "floatValue", "jsonTextId", "jsonText"]
NVTX_CATEGORY, NVTX_MARK, PUSH_POP, START_END, NVTX_DOMAIN = 33, 34, 59, 60, 75


def global_id(pid, tid=0):
    """Hardware 8 bits, VM 8, process 24, thread 24."""
    return 1 << 48 | pid << 24 | tid


class Export:
    """Rows are kept until `save`, so that a test can shuffle them."""

    def __init__(self, columns=MEMORY, enums=True, meta="META_DATA_EXPORT", epoch=1700000000 * 10**9):
        self.columns, self.enums, self.meta, self.epoch = columns, enums, meta, epoch
        self.memory, self.calls, self.pools, self.frames, self.strings = [], [], [], [], {}
        self.processes, self.index = {}, True
        self.extra = []  # SQL, run last
        self.runtime = ["start", "end", "eventClass", "globalTid", "correlationId", "nameId",
                        "returnValue", "callchainId"]

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def row(self, operation, start, address, size, kind=DEVICE, pid=100, device=0, name=None,
            correlation=0):
        self.processes.setdefault(pid, f"./program{pid}")
        self.memory.append(dict(start=start, globalPid=global_id(pid), deviceId=device, contextId=1,
                                address=address, pc=0, bytes=size, memKind=kind,
                                memoryOperationType=operation, name=name,
                                correlationId=correlation))

    def alloc(self, *row, **more):
        self.row(ALLOCATION, *row, **more)

    def free(self, *row, **more):
        self.row(DEALLOCATION, *row, **more)

    def call(self, start, end, correlation, name, event_class=RUNTIME, pid=100, tid=None,
             stack=None, result=0):
        """A call; `stack` is a list of (function, module), innermost first."""
        chain = None
        if stack is not None:
            chain = len(self.frames)
            self.frames.append(stack)
        self.calls.append((start, end, event_class, global_id(pid, tid or pid), correlation,
                           self.string(name), result, chain))

    def gpu(self, number, name, size, cuda=None):
        self.table("TARGET_INFO_GPU", ["vmId", "id", "name", "totalMemory"])
        self.extra.append(("INSERT INTO TARGET_INFO_GPU VALUES (0, ?, ?, ?)", (number, name, size)))
        if cuda is not None:
            self.table("TARGET_INFO_CUDA_DEVICE", ["gpuId", "cudaId", "pid"])
            self.extra.append(("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, 100)",
                               (number, cuda)))

    def table(self, name, columns):
        self.extra.append((f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)})", ()))

    def insert(self, table, **row):
        self.table(table, list(row))
        self.extra.append((f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})",
                           tuple(row.values())))

    def nvtx(self, start, end, text, kind=PUSH_POP, pid=100, tid=7, domain=0, columns=RANGES,
             **more):
        """A range, a mark, or the name of a domain or category."""
        row = dict(start=start, end=end, eventType=kind, text=text, globalTid=global_id(pid, tid),
                   domainId=domain, **more)
        self.table("NVTX_EVENTS", columns)
        self.extra.append((f"INSERT INTO NVTX_EVENTS VALUES ({','.join('?' * len(columns))})",
                           tuple(row.get(c) for c in columns)))

    def captured(self, name, value):
        self.insert("META_DATA_CAPTURE", name=name, value=value)

    def pool(self, start, operation, address, pid=100, device=0):
        self.pools.append((start, global_id(pid), device, address, operation, 1, 0))

    def save(self, path):
        db = sqlite3.connect(path)
        if self.memory or self.columns:
            db.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS ("
                       + ", ".join(f"{c} {'TEXT' if c == 'name' else 'INTEGER'}"
                                   for c in self.columns) + ")")
            db.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES ("
                           + ",".join("?" * len(self.columns)) + ")",
                           [[row.get(c) for c in self.columns] for row in self.memory])
        names = ["start", "end", "eventClass", "globalTid", "correlationId", "nameId",
                 "returnValue", "callchainId"]
        db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ("
                   + ", ".join(f"{c} INTEGER" for c in self.runtime) + ")")
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ("
                       + ",".join("?" * len(self.runtime)) + ")",
                       [[dict(zip(names, call))[c] for c in self.runtime] for call in self.calls])
        if self.frames:
            key = ", PRIMARY KEY (id, stackDepth)" if self.index else ""
            db.execute("CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, "
                       f"unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER{key})")
            rows = [(i, self.string(f), self.string(m), None, 4096, depth)
                    for i, stack in enumerate(self.frames) for depth, (f, m) in enumerate(stack)]
            # not in the order of depth: nobody promises it
            db.executemany("INSERT INTO CUDA_CALLCHAINS VALUES (?,?,?,?,?,?)", rows[::-1])
        if self.pools:
            db.execute("CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER, globalPid INTEGER, "
                       "deviceId INTEGER, address INTEGER, operationType INTEGER, poolType INTEGER, "
                       "correlationId INTEGER)")
            db.executemany("INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (?,?,?,?,?,?,?)",
                           self.pools)
        key = "PRIMARY KEY" if self.index else ""
        db.execute(f"CREATE TABLE StringIds (id INTEGER NOT NULL {key}, value TEXT)")
        db.executemany("INSERT INTO StringIds VALUES (?,?)",
                       [(number, text) for text, number in self.strings.items()])
        if self.enums:
            self.save_enums(db)
        if self.meta:
            db.execute(f"CREATE TABLE {self.meta} (name TEXT, value TEXT)")
            db.executemany(f"INSERT INTO {self.meta} VALUES (?,?)",
                           [("EXPORT_PRODUCT_VERSION", "2024.9.9"), ("EXPORT_SCHEMA_VERSION", "3.16.1")])
            db.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
            db.executemany("INSERT INTO PROCESSES VALUES (?,?,?)",
                           [(global_id(pid), pid, name) for pid, name in self.processes.items()])
        if self.epoch:
            db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
            db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", [self.epoch])
        for sql, values in self.extra:
            db.execute(sql, values)
        db.commit()
        db.close()
        return path

    def save_enums(self, db):
        for table, names in (
                ("ENUM_CUDA_MEM_KIND", [f"CUDA_MEMOPR_MEMORY_KIND_{k}" for k in KINDS]),
                ("ENUM_CUDA_DEV_MEM_EVENT_OPER", ["CUDA_DEV_MEM_EVENT_OPR_ALLOCATION",
                                                  "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION"])):
            db.execute(f"CREATE TABLE {table} (id INTEGER, name TEXT, label TEXT)")
            db.executemany(f"INSERT INTO {table} VALUES (?,?,?)",
                           [(i, name, name.lower()) for i, name in enumerate(names)])
