# SPDX-License-Identifier: MIT
"""test_limits.py - --max-size and --duration: recording stops, the program does not."""
import pathlib

from harness import SmallDisk
import harness
from test_attach import Attached, Target, need_root


def size_of(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).iterdir())


def run_steps(case, *options, calls="100000", threads="4"):
    return case.gputrack("run", "-o", "r.gt", *options, case.program("ze_steps"), "--threads",
                         threads, "--calls", calls, env=case.levelzero())


def test_a_recording_never_exceeds_max_size(case):
    for text, most in (("300K", 300 << 10), ("1MiB", 1 << 20), ("100000", 100000)):
        run = run_steps(case, "--max-size", text)
        assert run.status == 7 and run.out == "done\n", run.err
        assert size_of(case.path("r.gt")) <= most + 4096, (text, size_of(case.path("r.gt")))
        assert "the recording reached its size limit" in " ".join(run.err.split()), run.err
        assert "recording STOPPED before the process ended" in run.err, run.err
        summary = case.report("r.gt", "summary")
        assert "the recording reached its size limit" in summary["recording"]["processes"][0]["error"]
        # all that is not there was counted
        assert summary["lost"] > 0
        assert summary["recording"]["events"] + summary["lost"] == 400001, summary["lost"]
    # the folder is known for a recording all the same, and is kept aside
    assert case.path("r.gt.old").is_dir()


def test_a_recording_below_the_limit_is_complete(case):
    run = run_steps(case, "--max-size", "1T", "--duration", "100000", calls="1000", threads="1")
    assert run.status == 7, run.err
    summary = case.report("r.gt", "summary")
    assert summary["lost"] == 0 and summary["recording"]["events"] == 1001
    assert "STOPPED" not in run.err


@harness.also_on("intel")
def test_all_processes_share_one_limit(case):
    script = f"for i in 1 2 3 4 5; do {case.program('ze_steps')} --calls 20000; done; exit 5"
    run = case.gputrack("run", "-o", "r.gt", "--max-size", "400K", "sh", "-c", script,
                        env=case.levelzero())
    assert run.status == 5, run.err
    assert size_of(case.path("r.gt")) <= (400 << 10) + 4096 + 64 * 1024, size_of(case.path("r.gt"))
    assert case.gputrack("report", "r.gt").status == 0


def test_recording_stops_after_the_duration(case):
    """The program goes on far longer than it is recorded: by its own log, not by the clock."""
    run = case.gputrack("run", "-o", "r.gt", "--duration", "0.000001", case.program("ze_steps"),
                        "--log", "own", "--calls", "2000", env=case.levelzero())
    assert run.status == 7 and run.out == "done\n", run.err
    summary = case.report("r.gt", "summary")
    calls = len(case.path("own").read_text().splitlines())
    assert calls == 2001
    assert summary["recording"]["events"] + summary["lost"] == calls and summary["lost"] > 0
    assert "the --duration limit was reached" in " ".join(run.err.split()), run.err
    assert "the --duration limit was reached" in summary["recording"]["processes"][0]["error"]
    assert "NOTHING WAS TRACKED" not in run.err, run.err


def test_a_full_disk_with_a_limit_raises_no_signal(case):
    with SmallDisk(case, "600k") as disk:
        run = case.gputrack("run", "-o", disk / "r.gt", "--max-size", "10M", "sh", "-c",
                            f"dd if=/dev/zero of={disk}/fill bs=4k 2>dd; "
                            f"exec {case.program('ze_steps')}", env=case.levelzero())
        assert run.status == 7 and run.out == "done\n", (run.status, run.err)
    run = case.gputrack("run", "-o", "r.gt", "--max-size", "10M", "sh", "-c",
                        f"ulimit -f 0; exec {case.program('ze_steps')}", env=case.levelzero())
    assert run.status == 7 and run.out == "done\n", (run.status, run.err)


def test_limits_of_an_outer_run_do_not_apply(case):
    inner = [case.build / "gputrack", "run", "-q", "-o", "inner.gt", case.program("ze_steps")]
    run = case.gputrack("run", "-q", "-o", "outer.gt", "--duration", "0.000001", "--max-size",
                        "100K", *inner, env=case.levelzero())
    assert run.status == 7, run.err
    summary = case.report("inner.gt", "summary")
    assert summary["recording"]["events"] == 201 and summary["lost"] == 0


def test_malformed_limits_are_wrong_usage(case):
    for option, value in (("--max-size", "0"), ("--max-size", "much"), ("--max-size", "-1"),
                          ("--max-size", "1e9"), ("--max-size", ""), ("--duration", "-1"),
                          ("--duration", "inf"), ("--duration", "99999999999999"),
                          ("--max-size", "99999999999T")):
        for command in ("run", "attach"):
            if (command, option) == ("attach", "--duration"):
                continue  # has its own test
            done = case.gputrack(command, option, value, "-c" if command == "attach" else "--",
                                 "true")
            assert done.status == 2 and len(done.err.splitlines()) == 1, (option, value, done.err)
            assert not list(case.folder.iterdir())


@harness.alone
def test_attach_stops_recording_at_max_size_and_keeps_following(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", str(target.pid), "--api", "cuda", "--max-size", "200K")
    assert target.tell("b 60000") == "0"
    assert attached.stop() == 0, attached.err
    assert target.tell("p") == str(target.pid)
    target.end()
    assert size_of(case.path("a.gt")) <= 200 << 10 + 4096
    summary = case.report("a.gt", "summary")
    assert summary["lost"] > 0
    assert summary["recording"]["events"] + summary["lost"] == 120000, summary["lost"]
    assert "the recording reached its size limit" in " ".join(attached.out.split()), attached.out
    assert "No leaks:" not in attached.out, attached.out
