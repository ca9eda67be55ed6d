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
    assert f"calls into 104 libraries of process {other.pid}, which has mapped too many" in text, text
