# SPDX-License-Identifier: MIT
"""test_attach_ends.py - how processes ended that were attached to, and what is missing of them."""
import os
import signal
import time

import harness
from test_attach import Attached, Target, need_root
from test_ends import WAYS, ends_of, only_end

ALONE = True


def has_text(case, trace, key, value):
    """True if the trace says so of its process."""
    text = b"%c%s%c%s" % (len(key), key.encode(), len(value), value.encode())
    return text in case.path("a.gt").joinpath(trace).read_bytes()


def test_every_way_to_end_is_told(case):
    """Except that nobody sees from outside whether exit handlers ran."""
    need_root(case)
    for how, wanted in WAYS.items():
        case.gputrack("attach", "-q", "-o", f"{how}.gt", "-c", case.program("killed"), "--how", how,
                      "--calls", "20", "--log", "log", env=case.pocl(), preexec=harness.no_cores)
        end, status, number = only_end(case, f"{how}.gt")
        assert (end.replace("quick_", ""), status, number) == (
            wanted[0].replace("quick_", ""), wanted[1], wanted[2]), how


def test_exec_and_children_and_those_that_were_there_before(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("a 100")
    child = int(target.tell("k 200"))
    assert target.tell("e") == "ready"
    target.tell("a 300")
    attached.stop()
    ends = ends_of(case, "a.gt")
    assert ends[target.pid] == [("exec", None, None), ("detached", None, None)], ends
    assert [end for end, *_ in ends[child]] == ["exit"], ends
    assert has_text(case, f"{target.pid}.trace", "late", "1")
    assert not has_text(case, f"{target.pid}-2.trace", "late", "1")
    assert not has_text(case, f"{child}.trace", "late", "1")
    target.end()


def test_a_command_is_not_late(case):
    need_root(case)
    case.gputrack("attach", "-q", "-o", "a.gt", "-c", case.program("killed"), "--how", "return",
                  "--calls", "20", "--log", "log", env=case.pocl())
    (trace,) = case.path("a.gt").glob("*.trace")
    assert not has_text(case, trace.name, "late", "1")


def wait_for_events(attached, pid, count):
    """Until so many have been recorded: the tracer takes them when it wakes."""
    while not attached.case.path(f"a.gt/{pid}.trace").exists() or len(attached.events()) < count:
        time.sleep(0.02)


def test_without_its_tracer_a_process_runs_until_it_is_gone(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("a 100")
    wait_for_events(attached, target.pid, 1)
    attached.stop(signal.SIGKILL)
    assert only_end(case, "a.gt") == ("running", None, None)
    target.end()
    assert only_end(case, "a.gt") == ("unknown", None, None)


def test_what_was_created_after_the_last_loss_is_certain(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid, "--ring-size", "4K")
    target.tell("a 100")
    wait_for_events(attached, target.pid, 1)
    os.kill(attached.process.pid, signal.SIGSTOP)  # so that nobody empties the ring
    target.tell("b 500")
    os.kill(attached.process.pid, signal.SIGCONT)
    wait_for_events(attached, target.pid, 2)
    target.tell("a 300")
    target.end()
    attached.stop(None)
    report = case.report("a.gt", "leakage")
    assert report["recording"]["lost"] > 0
    assert report["fates"]["leaked"]["bytes"] == 300, report["fates"]
    # the second, if any, is the last of the 500 whose creation was recorded
    assert report["fates"]["perhaps"]["bytes"] in (100, 100 + 256), report["fates"]
