# SPDX-License-Identifier: MIT
"""test_small_stacks.py - recorded calls where there is little stack: coroutines, handlers, threads."""

# What a recorded call may take of the caller's stack beyond what it takes bare.
MORE_BYTES = 1792
CALLS = 40  # of each program below: 20 allocations, 20 frees


def measured(run):
    assert run.status == 0, run.err
    return {name: int(size) for name, size in (line.split() for line in run.out.splitlines())}


def test_a_recorded_call_takes_little_of_the_callers_stack(case):
    program, env = case.program("ze_small"), case.levelzero()
    bare = measured(case.run(program, env=env))
    recorded = measured(case.gputrack("run", "-q", "-o", "r.gt", program, env=env))
    assert set(bare) == {"first", "thread", "again", "other", "known"}
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
