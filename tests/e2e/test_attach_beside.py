# SPDX-License-Identifier: MIT
"""test_attach_beside.py - attach and top beside a recording by `gputrack run`."""
import pathlib

from opencl_lives import HIDDEN
from test_attach import Attached, functions_of, need_root, read_line
from test_top import Terminal, need_a_screen

ALONE = True
CALLS, PAUSE = 600, 100


def shape(events):
    """What must not depend on who else looks on."""
    return [(e["function"], e["effect"], e["kind"], e.get("bytes"), tuple(functions_of(e)),
             tuple(f.get("line") for f in e["stack"])) for e in events]


def need_no_other_tracer(case):
    """gputrack of another build knows our recorder's file only 50 ms after it was mapped."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text(errors="replace").split("\0")
        except OSError:
            continue
        if words[0].endswith("/gputrack") and words[1:2] in (["attach"], ["top"]) \
                and not words[0].startswith(str(case.build)):
            case.skip(f"another gputrack traces processes of this machine: {' '.join(words)}")


def check(case, alone, recording, *tracers):
    """The recording is as it was without tracers, and each of them saw the same from some point on."""
    recorded = shape(case.events(recording))
    hidden = sum(HIDDEN in functions for *_, functions, _ in recorded)
    if recorded != alone:
        need_no_other_tracer(case)
    assert not hidden and recorded == alone, (hidden, len(recorded), len(alone))
    for name in tracers:
        seen = shape(case.events(name))
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
    need_no_other_tracer(case)
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
    check(case, shape(case.events("alone.gt")), "beside.gt", "a.gt")


def test_stacks_of_a_recording_that_starts_later_stay_whole(case):
    """From the first call on, however the tracer unwinds."""
    need_root(case)
    need_no_other_tracer(case)

    def record(name):
        done = case.gputrack("run", "-q", "-o", name, case.program("killed"), "--calls", CALLS, "--how",
                             "return", env=case.pocl())
        assert done.status == 0, done.err
    record("alone.gt")
    tracers = [Attached(case, "--comm", "killed", "--unwind", how, name=how + ".gt")
               for how in ("auto", "dwarf")]
    record("beside.gt")
    for tracer in tracers:
        assert tracer.stop() == 0, tracer.err
    check(case, shape(case.events("alone.gt")), "beside.gt", "auto.gt", "dwarf.gt")
