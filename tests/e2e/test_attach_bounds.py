# SPDX-License-Identifier: MIT
"""gputrack attach among processes that mean it harm: libraries, stacks and memory without end."""
import sys

from test_attach import Attached, Target, need_root, read_line

ALONE = True

MAP_COPIES = """
import mmap, os, sys
source, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
data, maps = open(source, "rb").read(), []
def more(first):
    for i in range(first, first + count):
        os.makedirs(f"{folder}/{i}")
        with open(f"{folder}/{i}/libcuda.so.1", "w+b") as file:
            file.write(data)
            file.flush()
            maps.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE,
                                  mmap.PROT_READ | mmap.PROT_EXEC))
    print("ready", flush=True)
more(0)
input()
more(count)
input()
"""


def test_a_process_that_maps_hundreds_of_libraries(case):
    """Its libraries are probed up to a limit, the rest is told; other processes are recorded."""
    need_root(case)
    target = Target(case)
    other = case.start(sys.executable, "-c", MAP_COPIES, target.library, case.path("copies"), 60,
                       bufsize=0)
    assert read_line(other.stdout) == "ready\n"
    attached = Attached(case, "--all", "--api", "cuda")
    target.tell("a 333")
    other.stdin.write(b"\n")
    assert read_line(other.stdout) == "ready\n"
    target.tell("a 444")
    later = Target(case)
    later.tell("a 555")
    assert attached.stop() == 0
    other.communicate(b"\n", timeout=60)
    target.end()
    later.end()
    told = attached.head + attached.err
    assert told.count(f"process {other.pid} has mapped more libraries than are probed, so its calls "
                      "into 44 of them are not recorded: at most 16 are probed for a process, 256 "
                      "in all") == 1, told
    assert [e["bytes"] for e in attached.events() if e["function"] == "cuMemAlloc_v2" and
            e["pid"] in (target.pid, later.pid)] == [333, 444, 555]
    text = case.gputrack("report", "a.gt", env={"COLUMNS": "400"}).out
    # other programs of this machine may have libraries, too, which the same sentence names
    assert f"104 libraries of process {other.pid}, which has mapped too many" in text, text


def test_stacks_beyond_the_memory_for_them_are_counted_together(case):
    """Every event is there, and the bytes of all; only their places are one."""
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid, "--max-memory", "1M", "-i", "0.2")
    target.tell("s 40000")
    target.tell("a 777")
    assert attached.stop() == 0
    target.end()
    assert attached.err.count("call stacks take all the memory they may, 1.00 MiB") == 1, attached.err
    assert "other call sites" in attached.out, attached.out
    allocated = [e for e in attached.events() if e["function"] == "cuMemAlloc_v2"]
    assert len(allocated) == 40001
    others = sum(e["stack"][0]["function"] == "other call sites" for e in allocated)
    assert 20000 < others < 40000, others
    text = case.gputrack("report", "a.gt", env={"COLUMNS": "200"}).out
    assert f"{others:,} events were recorded without a complete stack" in text, text


def test_stacks_through_a_library_that_is_reloaded(case):
    """They keep their numbers: wherever the library is loaded, its code is the same."""
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    allocated = []
    for i in range(5):
        assert target.tell("o" + case.program("attach_plugin.so")) == "0"
        while len(allocated) <= i:  # until the tracer has looked where the library is
            allocated = [e for e in attached.events() if e["bytes"] == 64] \
                if case.path(f"a.gt/{target.pid}.trace").exists() else []
        assert target.tell("u") == "0"
    assert attached.stop() == 0
    target.end()
    functions = [[f["function"] for f in e["stack"]][:5] for e in attached.events()]
    assert functions == [["allocate_here", "middle", "outer", "through", "through_library"]] * 5, \
        functions


def test_sizes_have_limits(case):
    need_root(case)
    for option, text in (("--ring-size=2G", "--ring-size must be at most 1.00 GiB, not '2G'"),
                         ("--max-memory=1K", "--max-memory must be from 1.00 MiB to 1.00 TiB"),
                         ("--max-memory=2T", "--max-memory must be from 1.00 MiB to 1.00 TiB")):
        done = case.gputrack("attach", "--all", option)
        assert done.status == 2 and text in done.err and done.err.count("\n") == 1, done.err
