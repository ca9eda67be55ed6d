#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_checklist.py - the checklists doc/*-checklist.md and doc/attach.md's table of adversity: every row
names tests, which exist, and none is missing.

Usage: test_checklist.py SOURCE
"""
import ast
import pathlib
import re
import sys

# What the tracker's own document lists.
VARIABLES = """ZE_ENABLE_VALIDATION_LAYER ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER
ZEL_SYSTEM_RESOURCE_TRACKER_CSV ZEL_ENABLE_LOADER_LOGGING ZEL_LOADER_LOGGING_LEVEL""".split()
FUNCTIONS = """zeContextCreate zeCommandQueueCreate zeCommandQueueDestroy zeModuleCreate zeModuleDestroy
zeKernelCreate zeKernelDestroy zeEventPoolCreate zeEventPoolDestroy zeEventCreate zeEventDestroy
zeCommandListCreate zeCommandListCreateImmediate zeCommandListDestroy zeCommandListReset zeFenceCreate
zeFenceDestroy zeImageCreate zeImageDestroy zeSamplerCreate zeSamplerDestroy zeMemAllocDevice
zeMemAllocHost zeMemAllocShared zeMemFree""".split() + ["zeCommandListAppend" + name for name in """
MemoryCopy MemoryFill MemoryCopyRegion MemoryCopyFromContext MemoryPrefetch MemAdvise ImageCopy
ImageCopyRegion ImageCopyToMemory ImageCopyFromMemory Barrier MemoryRangesBarrier SignalEvent
WaitOnEvents EventReset LaunchKernel LaunchCooperativeKernel LaunchKernelIndirect
QueryKernelTimestamps WriteGlobalTimestamp""".split()]
COLUMNS = """CallNumber TimeMs APICall VmSize_KB VmRSS_KB VmData_KB VmPeak_KB Threads Delta_VmSize_KB
Delta_VmRSS_KB Delta_VmData_KB Contexts CommandQueues Modules Kernels EventPools CommandLists Events
Fences Images Samplers TotalMemory_Bytes""".split()
CHARTS = ["Memory Leak Detection Over Time", "System Memory Usage Over Time", "Memory Leaks by API Call",
          "Memory Deltas Per API Call", "L0 Resource Counts", "Command Lists and Events",
          "Total Memory Allocations", "Top 10 Most Frequent API Calls",
          "Top 10 API Calls by Memory Impact", "Top 10 API Calls by Avg Memory per Call",
          "Cumulative Memory Impact by Top 5 APIs", "Individual Leak Events Timeline"]

# What the document of the scripts for Nsight exports lists.
NSYS = ["profile.sh", "valid.tsv", "invalid.tsv", "driver.tsv", "PID", "address", "start_time", "bytes",
        "mem_kind", "mem_op_type", "var_name", "call_stack", "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION",
        "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "-a watermark", "-a usage", "-a leakage", "plot.py -u",
        "plot.py -s", "nvidia-smi", "CUDA_GPU_MEMORY_USAGE_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME",
        "eventClass` 67", "eventClass` 1", "CUDA_CALLCHAINS", "ENUM_CUDA_MEM_KIND",
        "ENUM_CUDA_DEV_MEM_EVENT_OPER", "StringIds"] + [f"CUDA_MEMOPR_MEMORY_KIND_{kind}`" for kind in """
DEVICE DEVICE_STATIC ARRAY PAGEABLE PINNED MANAGED MANAGED_STATIC UNKNOWN""".split()]

# What the document of gpu-memleak-trace's stress test lists, and what issues of attach are known.
STRESS = ["basic-info.sh", "gpu_stressor.py --throughput 4000 --allocate-size 2048 --ratio 1.0", "--free-ratio",
          "16 MB", "Summary()", "GetTopN()", "pid_mon.py --pids <PID> --interval 0.2", "timestamp", "description",
          "pid", "name", "cpu_percent", "memory_mb", "memory_percent", "disk_read_kb", "disk_write_kb"]
ADVERSITY = ["CAP_SYS_PTRACE", "FIFO", "memfd", "another name", "launcher", "silent parent", "replaced on disk",
             "container", "unusual folder", "chroot", "three processes with pid 1", "dlmopen", "500 threads", "gdb",
             "strace", "exec", "reused pid", "two tracers", "-9", "beyond the ring", "linked into the program", "one name",
             "deleted", "loaded later", "one process alone", "cgroup", "`--all` before", "`gputrack run`", "10,000 processes",
             "100,000 calls a second", "a burst"]
# What is recorded in both ways, and compared.
SAME = ["OpenCL", "Level Zero", "CUDA", "C without frame pointers", "Python 3.8", "Go", "JIT"]

TEST = re.compile(r"`((?:e2e|unit|golden)/[^`]+)`")


def end_to_end(source):
    """e2e/MODULE/NAME, NAME_on_DRIVER of those that run on other drivers too, and the rows of odd/."""
    odd = (source / "tests/e2e/odd/table.py").read_text()
    yield from (f"e2e/odd/{name.replace('-', '_')}" for name in re.findall(r'^    row\("([\w-]+)"', odd, re.M))
    for path in (source / "tests/e2e").glob("test_*.py"):
        for item in ast.parse(path.read_text()).body:
            if not isinstance(item, ast.FunctionDef) or not item.name.startswith("test_"):
                continue
            name = f"e2e/{path.stem[5:]}/{item.name[5:]}"
            yield name
            for mark in item.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "attr", "") == "also_on":
                    yield from (f"{name}_on_{driver.value}" for driver in mark.args)


def unit(source):
    """unit/MODULE, and unit/MODULE/FUNCTION of those that are written in C."""
    for path in (source / "tests/unit").glob("test_*"):
        yield f"unit/{path.stem[5:]}"
        if path.suffix == ".c":
            yield from (f"unit/{path.stem[5:]}/{name}" for name in
                        re.findall(r"cmocka_unit_test\w*\(\s*(\w+)", path.read_text()))


def golden(source):
    folder = source / "tests/golden/expected"
    yield from (f"golden/{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file())


def rows(text):
    """The cells of each row of a table, without the headings."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("|") and not re.match(r"\|-", line) and \
                not (i + 1 < len(lines) and re.match(r"\|-", lines[i + 1])):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def check_rows(text, tests, wrong):
    """The first cell of each row, whose last one names tests that exist."""
    first = []
    for cells in rows(text):
        first.append(cells[0])
        named = TEST.findall(cells[-1])
        if not named:
            wrong.append(f"a row names no test: {cells[0]}")
        if TEST.sub("", cells[-1]).strip(", "):
            wrong.append(f"the last cell has more than tests: {cells[-1]}")
    wrong += [f"there is no test {name}" for name in sorted(set(TEST.findall(text)) - tests)]
    return first


def main():
    source = pathlib.Path(sys.argv[1])
    text = (source / "doc/levelzero-checklist.md").read_text()
    tests = {*end_to_end(source), *unit(source), *golden(source)}
    table = (source / "src/api/levelzero.def").read_text()
    wrong = []
    nsys = check_rows((source / "doc/nsys-checklist.md").read_text(), tests, wrong)
    wrong += [f"{name.strip('`')} has no row" for name in NSYS
              if not any(f"`{name}" in cell for cell in nsys)]
    adversity = (source / "doc/attach.md").read_text().split("## Adversity\n")[1].split("\n## ")[0]
    same = (source / "doc/attach.md").read_text().split("## The same program by run and by attach\n")[1].split("\n## ")[0]
    for name, listed, rows_of in (("attach-checklist.md", STRESS, (source / "doc/attach-checklist.md").read_text()),
                                  ("attach.md", ADVERSITY, adversity), ("attach.md", SAME, same)):
        cells = check_rows(rows_of, tests, wrong)
        wrong += [f"{word} has no row in {name}" for word in listed if not any(word in cell for cell in cells)]
    first = check_rows(text, tests, wrong)
    for name in VARIABLES:
        if not any(f"`{name}=" in cell for cell in first):
            wrong.append(f"the variable {name} has no row")
    for name in FUNCTIONS + COLUMNS:
        if f"`{name}`" not in first:
            wrong.append(f"{name} has no row")
    for name in FUNCTIONS:
        if f"FN({name}," not in table:
            wrong.append(f"{name} is not tracked")
    for number, name in enumerate(CHARTS, 1):
        if not any(cell.startswith(f"{number}. {name}") for cell in first):
            wrong.append(f"chart {number}, {name}, has no row")
    for line in wrong:
        print(line)
    print(f"{len(first)} and {len(nsys)} rows, {len(set(TEST.findall(text)))} tests named, {len(tests)} known")
    sys.exit(1 if wrong or len(first) < 100 else 0)


if __name__ == "__main__":
    main()
