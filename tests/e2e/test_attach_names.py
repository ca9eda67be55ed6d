# SPDX-License-Identifier: MIT
"""test_attach_names.py - names for those who end early, and whose files are gone."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from test_attach import Attached, Container, Target, functions_of, need_root, read_line, tell

ALONE = True
LONG = bool(os.environ.get("GPUTRACK_TEST_LONG"))
WHOLE = ["allocate_here", "middle", "outer"]


class Brief:
    """Processes that live for a moment: each allocates twice."""

    def __init__(self, case, how, count, rate):
        library = case.program("libcuda.so.1")
        self.process = subprocess.Popen([case.program("brief"), library, how, str(count), str(rate)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid, self.count = self.process.pid, count
        assert read_line(self.process.stdout) == "ready\n"

    def run(self):
        out, _ = self.process.communicate(b"\n", timeout=600)
        assert out == b"0 failed\n", out

    def check(self, attached):
        allocated = [e for e in attached.events() if e["function"] == "cuMemAlloc_v2"]
        assert len(allocated) == 2 * self.count, (len(allocated), self.count)
        named = sum(functions_of(e)[:2] == ["allocate_here", "work"] for e in allocated)
        assert named == len(allocated), (named, len(allocated))


def test_children_of_a_process_that_makes_no_calls(case):
    """When the tracer, which gets no processor meanwhile, hears of them, all of them have ended."""
    need_root(case)
    for who in ["-p"], ["--comm", "brief"]:
        brief = Brief(case, "fork", 150, 0)
        attached = Attached(case, *who, *([brief.pid] if who == ["-p"] else []))
        attached.process.send_signal(signal.SIGSTOP)
        brief.run()
        attached.process.send_signal(signal.SIGCONT)
        assert attached.stop(None if who == ["-p"] else signal.SIGINT) == 0, attached.err
        brief.check(attached)


def test_programs_that_have_ended_before_anybody_looked(case):
    """The tracer is held meanwhile, as on a busy machine. The long form: 10,000, 200 a second."""
    need_root(case)
    brief = Brief(case, "exec", 10000 if LONG else 100, 200 if LONG else 0)
    attached = Attached(case, "-p", brief.pid)
    if not LONG:
        attached.process.send_signal(signal.SIGSTOP)
    brief.run()
    attached.process.send_signal(signal.SIGCONT)
    assert attached.stop(None) == 0, attached.err
    brief.check(attached)


def test_a_program_that_was_replaced_while_it_ran(case):
    need_root(case)
    others = set(pathlib.Path("/tmp").glob("gputrack-files.*"))
    program = case.path("replaced")
    shutil.copy(case.program("attach_target"), program)
    for when in "before", "after":
        process = subprocess.Popen([program, case.program("libcuda.so.1")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, bufsize=0)
        assert read_line(process.stdout) == "ready\n"
        shutil.copy(case.program("attach_target"), case.path("new"))
        with open(case.path("new"), "r+b") as file:
            file.truncate(4096)  # not the same program
        if when == "before":
            os.rename(case.path("new"), program)
        attached = Attached(case, "-p", process.pid, name=when + ".gt")
        tell(process, b"a 10")
        if when == "after":
            while not case.path(f"after.gt/{process.pid}.trace").exists():
                time.sleep(0.01)  # until it was looked at
            os.rename(case.path("new"), program)
        tell(process, b"a 20")
        process.communicate(b"q\n", timeout=60)
        assert attached.stop(None) == 0, attached.err
        assert "allocate_here" in attached.out, attached.out
        for event in attached.events():
            assert functions_of(event)[:3] == WHOLE, (when, event["stack"])
        shutil.copy(case.program("attach_target"), case.path("new"))
        os.rename(case.path("new"), program)
    assert not set(pathlib.Path("/tmp").glob("gputrack-files.*")) - others, "links are left"


def test_a_container_that_is_gone(case):
    """Nobody can read its files any more, but the recording has the names."""
    container = Container(case)
    target = container.first()
    attached = Attached(case, "-p", target.pid)
    tell(target, b"a 77")
    while not case.path(f"a.gt/{target.pid}.trace").exists():
        time.sleep(0.01)  # until it was looked at
    target.communicate(b"q\n", timeout=60)
    assert attached.stop(None) == 0, attached.err
    (event,) = attached.events()
    assert functions_of(event)[:3] == WHOLE, event["stack"]
    assert "allocate_here" in attached.out, attached.out


def test_a_library_in_an_unusual_folder_whose_process_is_gone(case):
    """It is probed by the path that the kernel reported: the next process is recorded."""
    need_root(case)
    case.path("odd").mkdir()
    library = case.path("odd") / "libcuda.so.1"
    shutil.copy(case.program("libcuda.so.1"), library)
    attached = Attached(case, "--comm", "brief", "--api", "cuda")
    for _ in range(100):
        attached.process.send_signal(signal.SIGSTOP)
        assert case.run(case.program("brief"), library, "one").status == 0
        attached.process.send_signal(signal.SIGCONT)
        if list(case.path("a.gt").glob("*.trace")):
            break
        time.sleep(0.05)
    assert attached.stop() == 0, attached.err
    assert len([e for e in attached.events() if e["function"] == "cuMemAlloc_v2"]) >= 2
    text = case.gputrack("report", "a.gt", env={"COLUMNS": "300"}).out
    assert re.search(f"the first calls into .*{library}.* may be missing", text), text
