# SPDX-License-Identifier: MIT
"""gputrack attach unwinds stacks in the kernel, by the unwind tables of programs and libraries."""
import collections
import os
import pathlib
import re
import signal

from test_attach import Attached, Target, need_root, read_line

ALONE = True


def stacks_of(case, name):
    """Of every function and size; the order is that of the threads."""
    found = collections.defaultdict(list)
    for e in case.events(name):
        found[e["function"], e.get("bytes")].append(tuple(
            (f["function"], f["line"], f["offset"], f["module"]) for f in e["stack"]))
    return {key: sorted(stacks, key=repr) for key, stacks in found.items()}


def driver_of(case):
    folder = pathlib.Path(case.program("libcuda.so.1")).parent
    return folder / "libcuda.so.1", {"LD_LIBRARY_PATH": str(folder)}


def start(case, *words):
    """The program with hard places, which waits; and attach, which follows it."""
    library, env = driver_of(case)
    program = case.start(case.program("unwind_target"), library, *words, env=env, bufsize=0)
    assert read_line(program.stdout) == "ready\n"
    return program, Attached(case, "-p", program.pid, env=env)


def differences(door, kernel):
    return [(key, door.get(key), kernel.get(key)) for key in {**door, **kernel}
            if door.get(key) != kernel.get(key)][:3]


def test_stacks_of_all_kinds_match_those_of_the_door(case):
    """No frame pointers anywhere: moving stacks, libraries, signals, threads, children, other programs."""
    need_root(case)
    library, env = driver_of(case)
    plugin = case.program("attach_plugin.so")
    run = case.gputrack("run", "-q", "-o", "door.gt", case.program("unwind_target"), library, plugin,
                        env=env, stdin=b"\n")
    assert run.status == 0, run.err
    program, attached = start(case, plugin)
    program.communicate(b"\n", timeout=60)
    assert attached.stop(None) == 0, attached.err
    door, kernel = stacks_of(case, "door.gt"), stacks_of(case, "a.gt")
    assert len(door) > 15 and door == kernel, differences(door, kernel)


def test_a_burst_of_whole_stacks_loses_none(case):
    """5,000 allocations in 50 threads, with the default ring, while the tracer gets no processor."""
    need_root(case)
    program, attached = start(case, 50, 5000)
    attached.process.send_signal(signal.SIGSTOP)
    program.stdin.write(b"\n")
    assert read_line(program.stdout) == "ready\n"
    attached.process.send_signal(signal.SIGCONT)
    assert attached.stop() == 0, attached.err
    program.communicate(b"\n", timeout=60)
    stacks = collections.Counter(tuple(f["function"] for f in e["stack"])
                                 for e in attached.events() if e["function"] == "cuMemAlloc_v2")
    assert stacks == {("allocate_here", "in_array", "in_aligned") + ("deep",) * 13 + ("burst",): 5000}, stacks
    told = case.report("a.gt", "summary")
    assert told["lost"] == 0 and told["recording"]["cut_stacks"] is None, told


def bytes_read(pid):
    return int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text()).group(1))


def test_a_process_is_looked_at_once_for_all_copies_that_waited(case):
    """They were all sent before the kernel could be told what it has mapped."""
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    before = bytes_read(attached.process.pid)
    attached.process.send_signal(signal.SIGSTOP)
    assert target.tell("e") == "ready"
    assert target.tell("l 800") == "0"
    maps = len(pathlib.Path(f"/proc/{target.pid}/maps").read_bytes())
    attached.process.send_signal(signal.SIGINT)
    attached.process.send_signal(signal.SIGCONT)
    os.waitid(os.P_PID, attached.process.pid, os.WEXITED | os.WNOWAIT)
    read = bytes_read(attached.process.pid) - before
    assert attached.stop(None) == 0, attached.err
    target.end()
    stacks = [[f["function"] for f in e["stack"]] for e in attached.events() if e["function"] == "cuMemAlloc_v2"]
    assert stacks == [["allocate_here", "middle", "outer", "obey", "main"]] * 800, stacks[:1]
    assert read < 100 * maps, (read, maps)


def test_code_without_tables_ends_a_stack_or_has_a_frame_pointer(case):
    """Words of the stack that look like frames are not taken for any."""
    need_root(case)
    program, attached = start(case, "=")
    program.communicate(b"\n", timeout=60)
    assert attached.stop(None) == 0, attached.err
    found = {e["bytes"]: [f["function"] for f in e["stack"]] for e in case.events("a.gt")}
    assert found[100] == ["allocate_here", "once", "bare_call"], found
    assert found[200] == ["allocate_here", "once", "framed_call", "through_bare", "main"], found
