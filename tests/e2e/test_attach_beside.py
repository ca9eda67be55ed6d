# SPDX-License-Identifier: MIT
"""test_attach_beside.py - attach and top beside a recording by `gputrack run`."""
import os
import pathlib
import shutil
import threading
import time

from opencl_lives import HIDDEN
from test_attach import Attached, functions_of, need_root, read_line
from test_top import Terminal, need_a_screen

ALONE = True
CALLS, PAUSE = 600, 100


def shape(events):
    """What must not depend on who else looks on."""
    return [(e["function"], e["effect"], e["kind"], e.get("bytes"), tuple(functions_of(e)),
             tuple(f.get("line") for f in e["stack"])) for e in events]


class OtherTracers:
    """Looks for gputrack of another build as long as a test runs: another test run may follow all processes.

    It knows our recorder's file only when that was mapped for the first time since it was built, and until then the
    recorder's stacks end at its probes.
    """

    def __init__(self, case):
        self.case, self.seen, self.is_over = case, set(), threading.Event()
        self.look()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def look(self):
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_text(errors="replace").split("\0")
            except OSError:
                continue
            if words[0].endswith("/gputrack") and words[1:2] in (["attach"], ["top"], ["agent"]) \
                    and "-p" not in words and not words[0].startswith(str(self.case.build)):
                self.seen.add(" ".join(words))

    def watch(self):
        while not self.is_over.wait(0.02):
            self.look()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def may_be_the_reason(self):
        if self.seen:
            self.case.skip(f"another gputrack traces processes of this machine: {', '.join(sorted(self.seen))}")


def hidden_in(recorded):
    return sum(HIDDEN in functions for *_, functions, _ in recorded)


def check(case, others, recordings, *tracers):
    """The second recording is as the first, without tracers; each of them saw the same from some point on."""
    alone, recorded = (shape(case.events(name)) for name in recordings)
    hidden = [hidden_in(events) for events in (alone, recorded)]
    if recorded != alone or any(hidden):
        others.may_be_the_reason()
    assert not any(hidden) and recorded == alone, (hidden, len(recorded), len(alone))
    pids = {e["pid"] for e in case.events(recordings[1])}
    for name in tracers:
        seen = shape(e for e in case.events(name) if e["pid"] in pids)
        assert len(seen) >= CALLS - PAUSE and seen == recorded[-len(seen):], (name, len(seen))
        assert case.report(name, "summary")["lost"] == 0


class Recorded:
    """`gputrack run` of a program that waits after its first calls."""

    def __init__(self, case, name, *options, **env):
        self.process = case.start(case.build / "gputrack", "run", "-q", "-o", name,
                                  case.program("ze_steps"), "--calls", CALLS, "--pause", PAUSE,
                                  *options, env=case.levelzero(**env), bufsize=0)
        assert read_line(self.process.stdout) == "paused\n"
        (trace,) = case.path(name).glob("*.trace")
        self.pid = int(trace.stem)

    def go_on(self):
        _, err = self.process.communicate(b"\n", timeout=60)
        assert self.process.returncode == 7, err


def test_stacks_of_a_running_recording_stay_whole(case):
    """The loader's function would return to the kernel, and the layer not see who called it."""
    need_root(case)
    need_a_screen(case)
    with OtherTracers(case) as others:
        Recorded(case, "alone.gt").go_on()
        # a call that the loader refuses comes to no door, and is not a loss
        beside = Recorded(case, "beside.gt", "--lacks", "1", GT_FAKE_ZE_LACK="zeContextCreateEx")
        attached = Attached(case, "-p", beside.pid)
        top = Terminal(case, f"{case.build / 'gputrack'} top -p {beside.pid} --interval 0.2")
        try:
            top.wait(f"process {beside.pid}")
            beside.go_on()
        finally:
            top.close()
        assert attached.stop(None) == 0, attached.err
    check(case, others, ("alone.gt", "beside.gt"), "a.gt")


def test_stacks_of_a_recording_that_starts_later_stay_whole(case):
    """From the first call on, however the tracer unwinds."""
    need_root(case)

    def record(name):
        done = case.gputrack("run", "-q", "-o", name, case.program("killed"), "--calls", CALLS, "--how",
                             "return", env=case.pocl())
        assert done.status == 0, done.err
    with OtherTracers(case) as others:
        record("alone.gt")
        tracers = [Attached(case, "--comm", "killed", "--unwind", how, name=how + ".gt")
                   for how in ("auto", "dwarf")]
        record("beside.gt")
        for tracer in tracers:
            assert tracer.stop() == 0, tracer.err
    check(case, others, ("alone.gt", "beside.gt"), "auto.gt", "dwarf.gt")


def copy_of_gputrack(case):
    """gputrack with a recorder that no tracer has seen."""
    folder = case.path("copy")
    shutil.copytree(case.build, folder, symlinks=True, ignore=lambda path, names: {
        name for name in names if pathlib.Path(path) == case.build
        and not name.startswith(("gputrack", "lib")) and name not in ("levelzero", "src") or name.endswith((".p", ".a"))})
    return folder / "gputrack"


def test_stacks_of_a_recorder_that_is_new_to_the_tracer(case):
    """As one in a container. It waits a moment for the tracer, which otherwise hides at least its first caller.

    On a busy machine the tracer may need longer than that; so not every one of the copies needs to be seen in time.
    """
    need_root(case)
    tool, program = copy_of_gputrack(case), shutil.copy(case.program("ze_steps"), case.path("new-to-it"))

    def record(name):
        done = case.run(tool, "run", "-q", "-o", name, program, "--calls", CALLS, env=case.levelzero())
        assert done.status == 7, done.err
    with OtherTracers(case) as others:
        record("alone.gt")
        tracer = Attached(case, "--comm", "new-to-it")
        # until it has looked at all that runs
        assert case.run(program, env=case.levelzero()).status == 7
        while not list(case.path("a.gt").glob("*.trace")):
            time.sleep(0.01)
        for _ in range(5):
            record("beside.gt")
            if not hidden_in(shape(case.events("beside.gt"))):
                break
            shutil.copy(tool.parent / "libgputrack.so", tool.parent / "another")
            os.replace(tool.parent / "another", tool.parent / "libgputrack.so")
        assert tracer.stop() == 0, tracer.err
    check(case, others, ("alone.gt", "beside.gt"), "a.gt")
