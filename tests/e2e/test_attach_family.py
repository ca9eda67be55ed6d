# SPDX-License-Identifier: MIT
"""test_attach_family.py - whom attach follows: children, names, programs, cgroups, users."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

from test_attach import Attached, Target, need_root, read_line

ALONE = True


class Nested(Target):
    """A target that is the child of a shell, which makes no calls itself."""

    def __init__(self, case, shell='"$0" "$1"; true'):
        library = case.program("libcuda.so.1")
        self.process = subprocess.Popen(["sh", "-c", shell, case.program("attach_target"), library],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.parent = self.process.pid
        assert read_line(self.process.stdout) == "ready\n"
        self.pid = int(self.tell("p"))


def sizes(attached):
    return {(e["pid"], e["bytes"]) for e in attached.events() if e["function"] == "cuMemAlloc_v2"}


def test_children_that_run_already_are_followed(case):
    need_root(case)
    deep = """sh -c '"$0" "$1"; true' "$0" "$1"; true"""
    child, grandchild = Nested(case), Nested(case, deep)
    attached = Attached(case, "-p", child.parent, "-p", grandchild.parent)
    assert "tracking 2 processes and their 3 children" in attached.head, attached.head
    child.tell("a 100")
    grandchild.tell("a 200")
    # the shell is gone, its child is not: recording goes on until that has ended
    os.kill(child.parent, signal.SIGKILL)
    child.process.wait()
    grandchild.end()
    child.tell("a 300")
    child.process.stdin.write(b"q\n")
    assert attached.stop(None) == 0, attached.err
    assert sizes(attached) == {(child.pid, 100), (child.pid, 300), (grandchild.pid, 200)}


def test_one_process_without_its_children(case):
    need_root(case)
    target, nested = Target(case), Nested(case)
    attached = Attached(case, "-p", f"{target.pid},{nested.parent}", "--no-children")
    target.tell("a 100")
    target.tell("k 200")
    nested.tell("a 300")
    assert attached.stop() == 0
    target.end()
    nested.end()
    assert sizes(attached) == {(target.pid, 100)}


class Renamed(Target):
    """A copy of the program under another name."""

    def __init__(self, case, name):
        program, library = case.path(name), case.program("libcuda.so.1")
        if not program.exists():
            shutil.copy(case.program("attach_target"), program)
        self.process = subprocess.Popen([program, library], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        assert read_line(self.process.stdout) == "ready\n"


def test_processes_by_name_and_program(case):
    """Those that run, those that start later, and the children of both; nobody else."""
    need_root(case)
    for option, value in (("--comm", "wanted-o*"), ("--exe", "wanted-one"),
                          ("--exe", str(case.path("wanted-one")))):
        early, other = Renamed(case, "wanted-one"), Renamed(case, "another")
        attached = Attached(case, option, value)
        assert value in attached.head, attached.head
        late = Renamed(case, "wanted-one")
        early.tell("a 1")
        child = int(late.tell("k 2"))
        for target in early, late, other:
            target.tell("a 3")
            target.end()
        assert attached.stop() == 0, attached.err
        assert sizes(attached) == {(early.pid, 1), (early.pid, 3), (child, 2), (late.pid, 3)}, (
            option, early.pid, late.pid, child, sizes(attached))
    wrong = case.gputrack("attach", "--comm", "x", "-p", "1")
    assert wrong.status == 2 and "select nothing" in wrong.err, wrong.err


def test_a_selection_that_matches_nobody(case):
    need_root(case)
    other = Target(case)
    attached = Attached(case, "--comm", "nobody-here")
    assert "none of processes called nobody-here has loaded" in attached.head, attached.head
    other.tell("a 1")
    assert attached.stop() == 24 and "nothing was tracked" in attached.err, attached.err
    other.end()
    assert not list(case.path("a.gt").glob("*.trace"))


def make_cgroup(case, name):
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/systemd"):
        folder = pathlib.Path(root, f"gputrack-{os.getpid()}")
        if (pathlib.Path(root) / "cgroup.procs").exists():
            try:
                (folder / name).mkdir(parents=True)
                return folder
            except OSError:
                pass
    case.skip("no cgroup can be made here")


def test_processes_by_cgroup_container_and_user(case):
    need_root(case)
    ident = "0123456789abcdef" * 4
    folder = make_cgroup(case, f"docker-{ident}.scope")
    inside, outside = Target(case), Target(case)
    try:
        (folder / f"docker-{ident}.scope/cgroup.procs").write_text(str(inside.pid))
        for selection in (["--cgroup", folder.name], ["--container", ident[:12]],
                          ["--container", ident, "--user", "root"]):
            attached = Attached(case, *selection)
            inside.tell("a 1")
            outside.tell("a 2")
            assert attached.stop() == 0, attached.err
            assert sizes(attached) == {(inside.pid, 1)}, selection
        attached = Attached(case, "--container", ident, "--user", "12345")
        inside.tell("a 1")
        assert attached.stop() == 24
    finally:
        inside.end()
        outside.end()
        (folder / f"docker-{ident}.scope").rmdir()
        folder.rmdir()
    for wrong in (["--container", "012"], ["--user", "nobody-is-called-so"]):
        assert case.gputrack("attach", *wrong).status == 2


def test_a_summary_of_several_processes(case):
    """The biggest comes first, each is described, and equal call sites are one."""
    need_root(case)
    small, big = Target(case), Target(case, before=("unshare", "--uts", "sh", "-c",
                                                    'hostname trainer-0; exec "$@"', "sh"))
    process = case.start(case.build / "gputrack", "attach", "-i", "0.2", "-o", "a.gt", "-p",
                         f"{small.pid},{big.pid}", bufsize=0, env={"COLUMNS": "300"})
    while "tracking" not in read_line(process.stderr):
        pass
    small.tell("a 300")
    big.tell("a 600")
    text, wanted = "", rf"pid {big.pid} attach_target: 600 B.*pid {small.pid} attach_target: 300 B.*oldest"
    while not re.search(wanted, text.split(" processes, ")[-1], re.S):
        text += read_line(process.stdout)
        assert len(text) < 100000, text[-2000:]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    for target in small, big:
        target.end()
    last = text.split(" processes, ")[-1]
    assert re.search(r"900 B +2 blocks of device memory of 2 processes +allocate_here ", last), last
    assert last.count(f"attach_target {small.library}; user root (0)") == 2, last
    # each by the name of its host, and its device, where that is certain
    assert len(re.findall(r"user root \(0\)[^\n]*trainer-0[^\n]*, GPU unknown\n", last)) == 1, last
    assert re.search(rf"at 0x[0-9a-f]+, [^,]+ old, thread {big.pid} ", last), last
    for process in case.report("a.gt", "processes")["groups"]:
        assert process["uid"] == 0 and process["user"] == "root", process


WAITING = """
gputrack attach --all --api cuda -i 0 -o a.gt 2>told &
tracer=$!
until grep -q "gputrack: tracking" told; do sleep 0.01; done
n=0
while [ $n -lt 100 ] && ! ls a.gt/*.trace >/dev/null 2>&1; do
	"$0" "$1" one
	sleep 0.05
	n=$((n + 1))
done
kill -INT $tracer
wait $tracer
"""


def test_all_waits_for_the_first_process_with_a_library(case):
    """Among processes of its own, so that no other test has one."""
    need_root(case)
    driver = case.program("libcuda.so.1")
    alone = ("unshare", "--pid", "--fork", "--mount-proc")
    if case.run(*alone, "true").status:
        case.skip("this machine lets nobody make a namespace")
    case.path("late").mkdir()
    library = shutil.copy(driver, case.path("late") / "libcuda.so.1")
    done = case.run(*alone, "sh", "-c", WAITING, case.program("brief"), library)
    told = case.path("told").read_text()
    assert done.status == 0, (done.status, told)
    assert "none of all processes has loaded libcuda.so yet: waiting for one" in told, told
    assert [e for e in case.events("a.gt") if e["function"] == "cuMemAlloc_v2"], told
