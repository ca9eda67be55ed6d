# SPDX-License-Identifier: MIT
"""gputrack attach with several rings: on a machine with few processors too, where it would have one."""
import os
import re
import signal
import subprocess
import time

from test_attach import Attached, Target, need_root, read_line

ALONE = True
TURNS = 8000


def last_summary(attached):
    """What the last summary before the end says of the process: its totals, and the lines below."""
    found = re.findall(r"^  pid \d+ [^\n]* per second\n(?:    [^\n]*\n)*", attached.out + attached.err, re.M)
    assert found, (attached.out, attached.err)
    return found[-1]


def test_a_block_that_threads_hand_on_keeps_its_order(case):
    """Each turn is on another processor, so in another ring; only in order does each end what the last began."""
    need_root(case)
    for rings in 1, 4:
        target = subprocess.Popen([case.program("attach_baton"), case.program("libcuda.so.1"), str(TURNS)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert read_line(target.stdout) == "ready\n"
        attached = Attached(case, "-p", target.pid, "-i", "0.3", name=f"{rings}.gt", env={"GPUTRACK_RINGS": str(rings)})
        target.stdin.write(b"go\n")
        assert read_line(target.stdout) == "done\n"
        time.sleep(0.5)  # for a summary of all
        assert attached.stop() == 0
        target.communicate(b"end\n", timeout=30)
        assert target.returncode == 0
        events = attached.events()
        assert len([e for e in events if e["function"] == "cuMemHostRegister_v2"]) == TURNS + 1
        assert len([e for e in events if e["function"] == "cuMemHostUnregister"]) == TURNS
        # a release that comes before what it ends is taken for one of something older
        summary = last_summary(attached)
        assert " in 2 resources" in summary, summary
        assert "before gputrack attached" not in summary and "LOST" not in summary, summary


def test_one_thread_fills_all_rings_before_it_loses_any(case):
    """What does not fit is counted, whichever ring it was meant for."""
    need_root(case)
    recorded = {}
    for rings in 1, 4:
        target = Target(case)
        attached = Attached(case, "-p", target.pid, "--ring-size", "256K", name=f"{rings}.gt",
                            env={"GPUTRACK_RINGS": str(rings)})
        os.kill(attached.process.pid, signal.SIGSTOP)  # so that nobody empties them
        target.tell("b 1000")
        os.kill(attached.process.pid, signal.SIGCONT)
        attached.stop()
        target.end()
        report = case.report(f"{rings}.gt", "summary")
        recorded[rings] = len(attached.events())
        assert report["lost"] > 0
        assert report["lost"] + recorded[rings] == 2000, (rings, report["lost"], recorded)
        assert re.search(r"[\d,]+ events? w\w+ LOST", attached.out), attached.out
    assert recorded[4] > recorded[1] * 0.8, recorded
