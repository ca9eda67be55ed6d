# SPDX-License-Identifier: MIT
"""test_opencl_endings.py - the OpenCL door with threads, abnormal exits and full disks."""
import concurrent.futures
import os
import random
import re
import resource
import signal
import time

from harness import no_cores
from opencl_lives import assert_nothing_lost, but_for_hidden, leaked, living, read_events, read_log

# Threads, forks, endings.

def check_threads(case, env, *how):
    done = case.gputrack("run", "-q", "-o", "t.gt", case.program("threads"), "--threads", "8", *how,
                         env=env, timeout=300)
    assert done.status == 0 and done.err == "", (done.out, done.err)
    creates, retains, releases = map(int, re.findall(r"\d+", done.out))
    summary = case.report("t.gt", "summary")
    assert_nothing_lost(summary)
    assert summary["recording"]["events"] == creates + retains + releases
    assert summary["totals"] == {"count": 0, "bytes": 0}
    assert sum(kind["created"] for kind in summary["kinds"]) == creates
    assert sum(kind["ended"] for kind in summary["kinds"]) == creates
    assert summary["redundant"] == [] == summary["failures"] == summary["last_calls"]
    assert summary["unknown_ends"] == 0 == summary["replaced"]
    return creates


def test_eight_threads_end_at_zero_with_nothing_lost(case):
    seconds = 60 if os.environ.get("GPUTRACK_TEST_LONG") == "1" else 3
    assert check_threads(case, case.pocl(), "--seconds", seconds) > 1000


def test_eight_threads_on_intel_end_at_zero(case):
    check_threads(case, case.intel(), "--rounds", "2000")


def check_ending(case, env, how, status):
    program = case.program("killed")
    bare = case.run(program, "--how", how, env=env, preexec=no_cores)
    done = case.gputrack("run", "-q", "-o", f"{how}.gt", program, "--how", how, "--log",
                         f"{how}.log", env=env, preexec=no_cores)
    assert (done.status, done.out, done.err) == (bare.status, bare.out, bare.err), (how, done.err)
    assert done.status == status, how
    logged = read_log(case.path(f"{how}.log"))
    assert len(logged) == 1001
    events = case.events(f"{how}.gt")
    assert read_events(events, "killed.c") == logged, how
    assert [e for e in events if e["outcome"] != "done"] == []
    report = case.report(f"{how}.gt", "leakage")
    assert_nothing_lost(report)
    expected = living(logged)
    assert leaked(report, "killed.c") == expected, how
    assert report["totals"]["count"] == len(expected) > 20
    assert report["totals"]["bytes"] == sum(what[1] for what in expected.values())
    info = report["recording"]
    assert (info["signal"], info["exit_status"]) == \
        ((-status, None) if status < 0 else (None, status)), how


ENDINGS = {"kill9": -signal.SIGKILL, "term": -signal.SIGTERM, "abort": -signal.SIGABRT,
           "segv": -signal.SIGSEGV, "_exit": 0, "exit": 0, "quick_exit": 0, "return": 0}


def test_every_ending_leaves_exactly_what_was_alive(case):
    for how, status in ENDINGS.items():
        check_ending(case, case.pocl(), how, status)


def test_every_ending_on_intel_leaves_exactly_what_was_alive(case):
    for how in ("kill9", "segv", "exit"):
        check_ending(case, case.intel(), how, ENDINGS[how])


def kill_in_the_middle(case, env, number, lines):
    """Kills the program from outside once it has logged that many lines."""
    recording, log = case.path(f"{number}.gt"), case.path(f"{number}.log")
    process = case.start(case.build / "gputrack", "run", "-q", "-o", recording,
                         case.program("killed"), "--calls", "100000000", "--log", log, env=env)
    while not log.exists() or log.stat().st_size < 30 * lines:
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    traces = list(recording.glob("*.trace"))
    assert len(traces) == 1, traces
    os.kill(int(traces[0].stem), signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (-signal.SIGKILL, b"", b""), (out, err)
    return recording, log


def check_killed(case, number, recording, log):
    logged, recorded = read_log(log), read_events(case.events(recording), "killed.c")
    # a call may have been recorded and its line not yet been logged
    assert len(logged) <= len(recorded) <= len(logged) + 1, (len(logged), len(recorded))
    assert but_for_hidden(recorded, logged) == logged, ("recorded", number)
    report = case.report(recording, "leakage")
    assert_nothing_lost(report)
    assert leaked(report, "killed.c") == living(recorded), ("alive", number, leaked(report, "killed.c"))


def test_kill_nine_at_any_time_loses_no_call(case):
    env, chance = case.pocl(), random.Random(2)
    moments = [chance.randrange(1, 2000) for _ in range(30)]
    # first all of them, at once after their calls: beside a thread that reads, the signal would come late
    killed = [kill_in_the_middle(case, env, n, moments[n]) for n in range(30)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: check_killed(case, n, *killed[n]), range(30)))


# A disk that fills.

def check_stopped(case, recording, log, err, reason):
    """One line when recording stops; everything before it is there, marked as incomplete."""
    said = [line for line in err.splitlines() if line.startswith("gputrack:")]
    assert len(said) == 1 and "recording stopped" in said[0] and reason in said[0], err
    assert err.splitlines() == said, err
    logged, report = read_log(log), case.report(recording, "leakage")
    recorded = report["recording"]["events"]
    assert 100 < recorded < len(logged)
    process, = report["recording"]["processes"]
    assert process["state"] == "stopped" and reason in process["error"], process
    assert process["damage"] is None
    assert report["lost"] == len(logged) - recorded
    assert leaked(report, "killed.c") == living(logged[:recorded])
    for analysis in ("summary", "leakage"):
        done = case.gputrack("report", recording, "-a", analysis)
        text = " ".join(done.out.split())
        assert done.status == 0
        assert "recording STOPPED before the process ended" in text and reason in text, text
        assert f"{report['lost']:,} events were LOST" in text, text


def test_a_full_disk_stops_the_recording_and_not_the_program(case):
    for size, calls in (("256k", 30000), ("1m", 200000)):
        command = case.program("killed"), "--how", "return", "--calls", calls
        bare = case.run(*command, env=case.pocl())
        with case.small_disk(size) as folder:
            done = case.gputrack("run", "-q", "-o", folder / "f.gt", *command, "--log",
                                 case.path("full.log"), env=case.pocl())
            assert (done.status, done.out) == (0, bare.out), (done.status, done.out, done.err)
            check_stopped(case, folder / "f.gt", case.path("full.log"), done.err,
                          "No space left on device")


def test_a_disk_full_from_the_start_lets_the_program_run(case):
    bare = case.run(case.program("killed"), "--how", "return", env=case.pocl())
    with case.small_disk("64k") as folder:
        (folder / "filler").write_bytes(b"x" * 48 * 1024)
        done = case.gputrack("run", "-q", "-o", folder / "f.gt", case.program("killed"), "--how",
                             "return", env=case.pocl())
        assert (done.status, done.out) == (bare.status, bare.out), done.err
        said = done.err.splitlines()
        assert all(line.startswith("gputrack: ") for line in said), done.err
        assert len([line for line in said if "recording stopped" in line]) == 1, done.err
        assert "is whole" not in done.err, done.err
        assert case.gputrack("report", folder / "f.gt").status == 0


def test_a_file_size_limit_stops_the_recording_and_not_the_program(case):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 * 1024, 512 * 1024))

    command = case.program("killed"), "--how", "return", "--calls", "100000"
    bare = case.run(*command, env=case.pocl(), preexec=limit)
    assert bare.status == 0, bare.err
    done = case.gputrack("run", "-q", "-o", "f.gt", *command, env=case.pocl(), preexec=limit)
    assert (done.status, done.out) == (0, bare.out), (done.status, done.err)
    assert len(done.err.splitlines()) == 1 and "recording stopped: the limit on the size of files was reached (ulimit -f)" in done.err
    report = case.report("f.gt", "summary")
    process, = report["recording"]["processes"]
    assert process["state"] == "stopped" and "the recording reached its size limit" in process["error"]
    assert report["recording"]["events"] > 1000 and report["lost"] > 0
    assert report["recording"]["events"] + report["lost"] == 100001
