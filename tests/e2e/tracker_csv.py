# SPDX-License-Identifier: MIT
"""tracker_csv.py - helpers for the Level Zero tests: readers of the tracker's CSV and log, and a
count of live objects from the programs' own logs.
"""
import csv
import mmap
import re

# As the documentation has it, byte for byte.
HEADER = ("CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,"
          "Delta_VmSize_KB,Delta_VmRSS_KB,Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,"
          "EventPools,CommandLists,Events,Fences,Images,Samplers,TotalMemory_Bytes")
COUNTERS = HEADER.split(",")[11:21]

CREATES = {
    "zeContextCreate": "Contexts", "zeContextCreateEx": "Contexts",
    "zeCommandQueueCreate": "CommandQueues", "zeModuleCreate": "Modules",
    "zeKernelCreate": "Kernels", "zeEventPoolCreate": "EventPools",
    "zeCommandListCreate": "CommandLists", "zeCommandListCreateImmediate": "CommandLists",
    "zeCommandListCreateCloneExp": "CommandLists",
    "zeEventCreate": "Events", "zeEventCounterBasedCreate": "Events",
    "zexCounterBasedEventCreate": "Events", "zexCounterBasedEventCreate2": "Events", "zeFenceCreate": "Fences",
    "zeImageCreate": "Images", "zeImageViewCreateExp": "Images", "zeImageViewCreateExt": "Images",
    "zeSamplerCreate": "Samplers"}
DESTROYS = {
    "zeContextDestroy": "Contexts", "zeCommandQueueDestroy": "CommandQueues",
    "zeModuleDestroy": "Modules", "zeKernelDestroy": "Kernels",
    "zeEventPoolDestroy": "EventPools", "zeCommandListDestroy": "CommandLists",
    "zeEventDestroy": "Events", "zeFenceDestroy": "Fences", "zeImageDestroy": "Images",
    "zeSamplerDestroy": "Samplers"}
ALLOCATES = ("zeMemAllocDevice", "zeMemAllocHost", "zeMemAllocShared")
FREES = ("zeMemFree", "zeMemFreeExt")
# Tracked, but not in the log of programs that use TRACKED alone.
UNLOGGED = ("zeMemGetIpcHandle", "zeEventPoolGetIpcHandle")

# Where Intel's driver without hardware and ours differ, and who is right. The specification makes
# both right: what a driver does not have it refuses, and a program must reckon with that. Ours has
# all of spec 1.4, so that every row of the table is exercised; Intel's version has these not.
REFUSED_BY_INTEL = (["zeCommandListAppendImageCopyFromMemoryExt",
                     "zeCommandListAppendImageCopyToMemoryExt"] * 2 +  # an extension of spec 1.3
                    ["zeCommandListAppendLaunchCooperativeKernel",  # not in lists that are closed later
                     "zePhysicalMemCreate",  # and with it all of virtual memory
                     "zeMemOpenIpcHandle",  # needs the kernel's driver
                     "zeEventPoolGetIpcHandle"])
# --leak KIND of ze_app that needs one of these.
NOT_ON_INTEL = {"physical", "reservation", "mapping", "ipc_memory", "ipc_pool"}


def app_output(case, rounds=1):
    """What ze_app prints. Ours knows how many of its objects are alive; Intel's does not say."""
    if case.driver == "ours":
        return f"rounds={rounds} live=0\n"
    refused = "".join(f"refused {function}\n" for function in REFUSED_BY_INTEL)
    return refused * rounds + f"rounds={rounds} live=-1\n"


def whole_lines(path):
    """SIGKILL may cut a write(2) where a page of the file ends, and nowhere else: such a line is of a
    call that has not returned."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    assert end == len(data) or len(data) % mmap.PAGESIZE == 0, f"{path.name} ends with {data[end:]}"
    return data[:end].decode()


def own_log(path):
    """The program's own record: [(function, handle, size)] of its successful calls."""
    calls = []
    for line in whole_lines(path).splitlines():
        words = line.split()
        fields = dict(word.split("=", 1) for word in words[1:])
        # one call of zeModuleCreate makes two objects, which the program writes in two lines
        if (words[0] == "zeModuleCreate" and fields.get("kind") == "build_log") \
                or int(fields.get("rc", "0"), 16):
            continue
        calls.append((words[0], int(fields["handle"], 16), int(fields["size"])))
    return calls


class Count:
    """What is alive, counted from the program's record. Unknown handles are not counted."""

    def __init__(self):
        self.alive = {}

    def apply(self, function, handle, size):
        if function in CREATES:
            self.alive[CREATES[function], handle] = 0
        elif function in ALLOCATES:
            self.alive["memory", handle] = size
        elif function in DESTROYS:
            self.alive.pop((DESTROYS[function], handle), None)
        elif function in FREES:
            self.alive.pop(("memory", handle), None)

    def counters(self):
        kinds = [kind for kind, _ in self.alive]
        return [kinds.count(name) for name in COUNTERS] + \
            [sum(size for (kind, _), size in self.alive.items() if kind == "memory")]


def read_csv(path, killed=False):
    """The rows as dictionaries with numbers, read by Python's csv module."""
    text = whole_lines(path) if killed else path.read_text()
    assert text.endswith("\n"), "the last row is not whole"
    rows = list(csv.DictReader(text.splitlines(), strict=True))
    for row in rows:
        assert None not in row and None not in row.values(), f"not 22 fields: {row}"
        for key in row:
            if key != "APICall":
                row[key] = int(row[key])
    return rows


def check_numbers(rows):
    """Checks for any CSV: numbering, deltas, and consistent figures."""
    for i, row in enumerate(rows):
        assert row["CallNumber"] == i + 1, row
        assert row["VmPeak_KB"] >= row["VmSize_KB"] >= row["VmRSS_KB"] > 0, row
        assert row["VmSize_KB"] > row["VmData_KB"] > 0 and row["Threads"] > 0, row
        assert all(row[name] >= 0 for name in COUNTERS + ["TotalMemory_Bytes"]), row
        if i:
            before = rows[i - 1]
            assert row["TimeMs"] >= before["TimeMs"], row
            for name in ("VmSize_KB", "VmRSS_KB", "VmData_KB"):
                assert row["Delta_" + name] == row[name] - before[name], (name, before, row)


def check_against(rows, calls, unlogged=UNLOGGED, cut=False):
    """Row by row against the program's record; cut: the last call may have had no time to be in it."""
    check_numbers(rows)
    count, at = Count(), 0
    for row in rows:
        if not (row["APICall"] in unlogged and
                (at == len(calls) or calls[at][0] != row["APICall"])):
            if at == len(calls):
                assert cut and row is rows[-1], f"no such call was made: {row}"
                return count
            assert row["APICall"] == calls[at][0], (row, calls[at])
            count.apply(*calls[at])
            at += 1
        shown = [row[name] for name in COUNTERS + ["TotalMemory_Bytes"]]
        assert shown == count.counters(), (row, count.counters())
    assert at == len(calls), f"calls without a row: {calls[at:at + 3]}"
    return count


def the_csv(case, pid, name="tracker"):
    path = case.path(f"{name}_pid{pid}.csv")
    assert path.exists(), sorted(p.name for p in case.folder.iterdir())
    assert path.read_bytes().split(b"\n", 1)[0] == HEADER.encode()
    return path


ENTRY = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] \[thread-id: (\d+)\] \[(\w+)\] ")


def read_log(text):
    """[(level, text)] of a log; lines without a head belong to the previous entry."""
    entries = []
    for line in text.splitlines(keepends=True):
        head = ENTRY.match(line)
        if head:
            entries.append([head.group(2), line[head.end():]])
        else:
            assert entries, f"the log begins in the middle of an entry: {line!r}"
            entries[-1][1] += line
    return [(level, text[:-1] if text.endswith("\n") else text) for level, text in entries]


def log_of(case, **more):
    """Settings for a log in the case's folder, and the file that it will be."""
    return case.path("logs/ze_loader.log"), dict(
        {"ZEL_ENABLE_LOADER_LOGGING": "1", "ZEL_LOADER_LOG_DIR": str(case.path("logs"))}, **more)
