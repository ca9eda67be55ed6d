# SPDX-License-Identifier: MIT
"""test_small_stacks.py - recorded calls where there is little stack: coroutines, handlers, threads."""

import json
import os
import pathlib
import platform
import shlex

from test_cuda import cuda

# The most that a function of ours in the traced process may take of a stack, ...
FUNCTION_BYTES = 512
# ... but for these, which run at the start of the process or at its end.
AT_START_OR_END = {"touch_stack", "gt_tool_start", "plain_symbol",
                   "gt_live_query_sites"}  # a call of gputrack/live.h, which starts the tool
# What a recorded call may take of the caller's stack beyond what it takes bare: frames are larger on arm64.
MORE_BYTES = 2048 if platform.machine() == "aarch64" else 1536
CALLS = 40  # of each program below: 20 allocations, 20 frees
MEASURED = ["first", "thread", "again", "other", "known", "loaded", "many", "child", "child-again"]
TRACKER = ("--csv", "t.csv", "--csv-more", "--log", "t.log")

PYTHON = """\
import ctypes, sys, threading

library = ctypes.CDLL(sys.argv[1])


def innermost():
    library.measure()


def main():
    innermost()
    thread = threading.Thread(target=innermost)
    thread.start()
    thread.join()


main()
"""


def measured(run):
    assert run.status == 0, run.err
    return [(name, int(size)) for name, size in (line.split() for line in run.out.splitlines())]


def check(case, *command, env, names):
    """Each line of what a program measures: recorded, and with CSV and log."""
    bare = measured(case.run(*command, env=env))
    assert [name for name, _ in bare] == names, bare
    for options in ((), TRACKER):
        env = dict(env, GPUTRACK_LOG_LEVEL="debug")
        recorded = measured(case.gputrack("run", "-q", "-o", "r.gt", *options, *command, env=env))
        for (name, size), (again, more) in zip(bare, recorded, strict=True):
            assert name == again and more <= size + MORE_BYTES, (options, name, size, more)


def test_level_zero(case):
    check(case, case.program("ze_small"), env=case.levelzero(), names=MEASURED)


def test_opencl(case):
    check(case, case.program("cl_small"), env=case.pocl(), names=MEASURED)


def test_ranges_of_nvtx(case):
    check(case, case.program("cl_small_ranges"), env=case.pocl(), names=MEASURED)
    phases = json.dumps(case.report("r.gt", "sites", "--by", "phase"))
    assert phases.count("of the process > ") > 9, phases


def test_cuda(case):
    check(case, case.program("cuda_small"), env=cuda(case), names=MEASURED)


def test_python_frames(case):
    case.path("calls.py").write_text(PYTHON)
    check(case, "/usr/bin/python3", "calls.py", case.program("ze_small_calls.so"), env=case.levelzero(),
          names=["first", "again"] * 2)
    frames = json.dumps(case.report("r.gt", "sites"))
    assert frames.count("innermost") > 1 and "calls.py" in frames, frames


def test_small_stacks(case):
    """8 KiB without a guard page, a thread's smallest stack, and a handler's."""
    program, env = case.program("ze_small"), case.levelzero()
    least = max(16384, os.sysconf("SC_THREAD_STACK_MIN"))  # 128 KiB on arm64
    for option, size, out in (("--coroutine", 8192, "overwritten 0\n"), ("--thread", least, "joined\n"),
                              ("--handler", 8192, "handled\n")):
        bare = case.run(program, option, size, env=env)
        assert (bare.status, bare.out) == (0, out), (option, bare.status, bare.out, bare.err)
        for name, options in ((option[2:], ()), (f"{option[2:]}-csv", TRACKER)):
            run = case.gputrack("run", "-q", "-o", f"{name}.gt", *options, program, option, size,
                                env=dict(env, GPUTRACK_LOG_LEVEL="debug"))
            assert (run.status, run.out, run.err) == (0, out, ""), (name, run.status, run.out, run.err)
            events = case.events(f"{name}.gt")
            assert sum(e["function"] in ("zeMemAllocDevice", "zeMemFree") for e in events) == CALLS


def guest_sources(case):
    """The commands by which the sources of the recorder and its doors are compiled."""
    seen = set()
    for row in json.loads((case.build / "compile_commands.json").read_text()):
        target = row.get("output", "")
        if target.startswith(("src/librecorder.a.p/", "src/libcore.a.p/")) and row["file"] not in seen:
            seen.add(row["file"])
            yield row


def test_no_function_of_the_recorder_takes_much_of_a_stack(case):
    large, functions = {}, 0
    for i, row in enumerate(guest_sources(case)):
        words = shlex.split(row["command"])
        words[words.index("-o") + 1] = str(case.path(f"{i}.o"))
        words[words.index("-MF") + 1] = str(case.path(f"{i}.d"))
        done = case.run("sh", "-c", 'cd "$0" && exec "$@"', row["directory"], *words,
                        "-fstack-usage", "-O2")
        if done.status:
            case.skip(f"the sources cannot be compiled again: {done.err[:200]}")
        for line in case.path(f"{i}.su").read_text().splitlines():
            place, size, _ = line.split("\t")
            function = place.rsplit(":", 1)[1].split(".")[0]
            functions += 1
            if int(size) > FUNCTION_BYTES:
                large[function] = (int(size), pathlib.Path(row["file"]).name)
    assert functions > 200, functions
    assert set(large) == AT_START_OR_END, large
