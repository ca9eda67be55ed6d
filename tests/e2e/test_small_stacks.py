# SPDX-License-Identifier: MIT
"""test_small_stacks.py - recorded calls where there is little stack: coroutines, handlers, threads."""

import json
import pathlib
import shlex

# The most that a function of ours in the traced process may take of a stack, ...
FUNCTION_BYTES = 512
# ... but for these, which run at the start of the process or at its end.
AT_START_OR_END = {"touch_stack", "start_tool", "plain_symbol"}
# What a recorded call may take of the caller's stack beyond what it takes bare.
MORE_BYTES = 1536
CALLS = 40  # of each program below: 20 allocations, 20 frees


def measured(run):
    assert run.status == 0, run.err
    return {name: int(size) for name, size in (line.split() for line in run.out.splitlines())}


def test_a_recorded_call_takes_little_of_the_callers_stack(case):
    program, env = case.program("ze_small"), case.levelzero()
    bare = measured(case.run(program, env=env))
    recorded = measured(case.gputrack("run", "-q", "-o", "r.gt", program, env=env))
    assert set(bare) == {"first", "thread", "again", "other", "known", "child", "child-again"}
    for name, size in bare.items():
        assert recorded[name] <= size + MORE_BYTES, (name, size, recorded[name])


def test_small_stacks(case):
    """8 KiB without a guard page, a thread's smallest stack, and a handler's."""
    program, env = case.program("ze_small"), case.levelzero()
    for option, size, out in (("--coroutine", 8192, "overwritten 0\n"), ("--thread", 16384, "joined\n"),
                              ("--handler", 8192, "handled\n")):
        bare = case.run(program, option, size, env=env)
        assert (bare.status, bare.out) == (0, out), (option, bare.status, bare.out, bare.err)
        run = case.gputrack("run", "-q", "-o", f"{option[2:]}.gt", program, option, size, env=env)
        assert (run.status, run.out, run.err) == (0, out, ""), (option, run.status, run.out, run.err)
        events = case.events(f"{option[2:]}.gt")
        assert sum(e["function"] in ("zeMemAllocDevice", "zeMemFree") for e in events) == CALLS


def guest_sources(case):
    """The commands by which the recorder's sources are compiled."""
    seen = set()
    for row in json.loads((case.build / "compile_commands.json").read_text()):
        target = row.get("output", "")
        if target.startswith(("libgputrack.so.p/", "src/libcore.a.p/")) and row["file"] not in seen:
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
