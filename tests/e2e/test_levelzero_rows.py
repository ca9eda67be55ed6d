# SPDX-License-Identifier: MIT
"""Every row of Level Zero's tools API and of its functions by address: a life, and a leak."""
import collections
import re

from test_attach import Attached, need_root, read_line
from test_levelzero_layer import layer
from tracker_csv import read_csv, read_log, the_csv


def rows(case, *names):
    """{function: (kind, number of handles it creates)}; kinds by the name that reports have for them."""
    kinds = dict(re.findall(r'^KIND\((\w+), "([^"]+)"', (case.source / "src/api/kinds.def").read_text(), re.M))
    by_hand = set(re.findall(r"define BY_HAND_(\w+)", (case.source / "tests/fake/levelzero/rows.h").read_text()))
    found = {}
    for name in names:
        text = (case.source / "src/api" / name).read_text()
        for function, body in re.findall(r"^FN\((\w+),(.*?)\n(?=FN|/\*|\n|\Z)", text, re.M | re.S):
            effect, kind = re.search(r"(CREATE|DESTROY|APPEND),\s+(\w+)", body).groups()
            creates = "CREATE" in body
            if function not in by_hand and effect != "APPEND":
                found[function] = (kinds[kind], (2 if "OUTS_ALL" in body else 1) if creates else 0)
    assert len(found) > 20
    return found


def all_rows(case):
    return rows(case, "levelzero_tools.def", "levelzero_ext.def")


def printed(out):
    """What the program says of itself: (function, effect, handle)."""
    return [tuple(line.split()) for line in out.splitlines() if re.match(r"ze\w+ (create|destroy) 0x", line)]


def check_events(case, out, recording):
    """The events of the recording are those that the program printed, each of its row's kind."""
    events, known = case.events(recording), all_rows(case)
    assert printed(out) == [(e["function"], e["effect"], e["handle"]) for e in events], (out, events)
    assert {e["function"]: e["kind"] for e in events} == \
        {function: kind for function, (kind, _) in known.items() if function in {e["function"] for e in events}}
    return {e["function"] for e in events}


def check_leaks(case, recording):
    groups = case.report(recording, "leakage")["groups"]
    wanted = collections.Counter()
    for kind, count in all_rows(case).values():
        wanted[kind] += count
    found = collections.Counter()
    for group in groups:
        found[group["kind"]] += group["count"]
    assert found == +wanted, (found, wanted)


def program(case):
    return case.program("ze_rows"), layer(case), case.program("libze_fake.so")


UNFOLLOWED = ["zexTestCreate", "ZE_extension_test"]


def test_every_row_is_recorded(case):
    run = case.gputrack("run", "-o", "a.gt", "--fail-on-leak", *program(case))
    assert run.status == 0, run.err
    assert check_events(case, run.out, "a.gt") == set(all_rows(case))
    # functions that were handed out and have no row; those that create nothing are not named
    words = " ".join(run.err.split())
    assert f"2 extension functions were handed out that gputrack does not follow: {', '.join(UNFOLLOWED)}" in words
    report = case.report("a.gt", "summary")
    assert [p["unfollowed"] for p in report["recording"]["processes"]] == [UNFOLLOWED]


def test_every_row_leaks(case):
    name, *paths = program(case)
    run = case.gputrack("run", "-q", "-o", "a.gt", name, "--leak", *paths)
    assert run.status == 0, run.err
    check_leaks(case, "a.gt")


def test_every_row_is_tracked(case):
    """In the CSV, appends too; the log names the functions that are not followed, once each."""
    run = case.run(*program(case), env=case.tracker(
        ZEL_SYSTEM_RESOURCE_TRACKER_CSV="tracker.csv", ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOG_CONSOLE="1"))
    assert run.status == 0, run.err
    called = {row["APICall"] for row in read_csv(the_csv(case, run.pid))}
    text = "".join((case.source / "src/api" / name).read_text() for name in
                   ("levelzero_tools.def", "levelzero_ext.def"))
    by_hand = set(re.findall(r"define BY_HAND_(\w+)", (case.source / "tests/fake/levelzero/rows.h").read_text()))
    assert called == set(re.findall(r"^FN\((\w+)", text, re.M)) - by_hand, called
    assert read_log(run.err) == [("warning", f"{name} was handed out by address and is not followed")
                                 for name in UNFOLLOWED], run.err


def test_a_second_driver_by_address(case):
    """Its functions cannot be told from the first one's by a wrapper: they are handed out bare, and named."""
    run = case.gputrack("run", "-o", "a.gt", case.program("ze_two_by_address"), env=case.levelzero(
        ZE_ENABLE_ALT_DRIVERS=",".join(case.program(f"libze_fake{n}.so") for n in ("", "_two"))))
    assert (run.status, run.out) == (0, "2 drivers\n"), run.err
    functions = ["zeGraphCreateExp", "zeGraphDestroyExp"]
    assert [e["function"] for e in case.events("a.gt")] == 2 * functions
    # the child has the address, too
    assert [p["unfollowed"] for p in case.report("a.gt", "summary")["recording"]["processes"]] == 2 * [functions]
    assert "2 extension functions were handed out that gputrack does not follow: zeGraphCreateExp, " \
        "zeGraphDestroyExp" in " ".join(run.err.split())


def test_every_row_is_attached_to(case):
    """A loader that exports the functions under their names is probed."""
    need_root(case)
    loader = str(case.build / "tests/fake/levelzero/loader/libze_loader.so.1")
    for name, options in (("a.gt", ()), ("b.gt", ("--leak",))):
        target = case.start(case.program("ze_rows"), *options, loader, bufsize=0)
        assert read_line(target.stdout) == "ready\n"
        attached = Attached(case, "-p", target.pid, name=name)
        out, err = (text.decode() for text in target.communicate(b"\n", timeout=60))
        attached.process.communicate(timeout=60)
        assert (target.returncode, err) == (0, "")
        if not options:
            assert check_events(case, out, name) == set(all_rows(case))
    check_leaks(case, "b.gt")
