# SPDX-License-Identifier: MIT
"""test_faults.py - each of our calls fails once, or kills the process: the program must not notice,
and its finished calls must be in the recording.

GPUTRACK_TEST_LONG=1 tries every call; otherwise the first ones and a selection of later ones.
"""
import collections
import errno
import functools
import os
import random
import re
import shutil
import signal
import subprocess

import harness
import nsys_export
from test_attach import Target, need_root

LONG = bool(os.environ.get("GPUTRACK_TEST_LONG"))
GUEST = "libgputrack,libze_validation_layer"


def preload(case, function, number, error, modules, **more):
    return dict({"LD_PRELOAD": case.program("libgt_fault.so"), "GT_FAULT_IN": modules,
                 "GT_FAULT": f"{function}:{number}:{error}", "GT_FAULT_HIT": str(case.path("hit"))},
                **more)


def recorded(case, name, **more):
    """An environment that records without `gputrack run`."""
    return case.tracker(ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER="0", GPUTRACK_RECORDING=name,
                        **more)


def numbers():
    """1, 2, 3, … with widening gaps, unless all are requested."""
    number, step = 1, 1.0
    while True:
        yield int(number)
        if not LONG and number >= 12:
            step *= 1.5
        number += step


def struck(case):
    """True if the fault was injected since the last check."""
    hit = case.path("hit")
    if not hit.exists():
        return False
    hit.unlink()
    return True


def log_of(case, name="own"):
    """The program's own log: a list of (function, handle)."""
    path = case.path(name)
    text = path.read_text() if path.exists() else ""
    return re.findall(r"^(\w+) handle=(0x[0-9a-f]+) .*$", text, re.M)


def events_of(case, name):
    return [(e["function"], e["handle"]) for e in case.events(name)]


def check_recording(case, name, threads):
    """Contains every finished call, and at most one unfinished call per thread."""
    log, events = log_of(case), events_of(case, name)
    missing = collections.Counter(log) - collections.Counter(events)
    more = len(events) - len(log)
    assert not missing, (len(log), len(events), list(missing)[:3])
    assert more <= threads, (len(log), len(events))


def steps(case, *more, env):
    for old in ("own", "hit"):
        case.path(old).unlink(missing_ok=True)
    return case.run(case.program("ze_steps"), "--log", "own", "--descriptors", "fds", *more, env=env,
                    timeout=60)


def descriptors(case):
    """The open files of the program at its end, without the varying numbers of pipes."""
    lines = case.path("fds").read_text().splitlines()
    return collections.Counter(re.sub(r"\d+", "#", line) for line in lines)


FUNCTIONS = [("open", errno.EMFILE), ("open", errno.EACCES), ("write", errno.ENOSPC),
             ("read", errno.EIO), ("mmap", errno.ENOMEM), ("fallocate", errno.ENOSPC),
             ("fallocate", errno.EOPNOTSUPP), ("ftruncate", errno.EIO), ("mkdir", errno.ENOSPC),
             ("fcntl", errno.EMFILE), ("malloc", errno.ENOMEM), ("madvise", errno.EFAULT)]


def test_a_program_does_not_notice_our_failing_calls(case):
    """Each call of each function fails, once alone and once with all later calls."""
    faults = 0
    assert steps(case, env=recorded(case, "r.gt")).status == 7
    usual = descriptors(case)
    for function, error in FUNCTIONS:
        for ever in ("", "+"):
            for number in numbers():
                shutil.rmtree(case.path("r.gt"), ignore_errors=True)
                done = steps(case, env=recorded(case, "r.gt", **preload(
                    case, function, number, f"{error}{ever}", GUEST)))
                what = (function, number, error, ever)
                assert done.status == 7 and done.out == "done\n", (what, done.status, done.err)
                assert len(done.err.splitlines()) <= 2, (what, done.err)
                for line in done.err.splitlines():
                    assert line.startswith("gputrack: "), (what, line)
                assert len(log_of(case)) == 201, what
                assert descriptors(case) <= usual, (what, descriptors(case) - usual)
                if not struck(case):
                    break
                faults += 1
                if not case.path("r.gt").exists():
                    assert done.err, what
                    continue
                # what could not be recorded was counted or said
                report = case.gputrack("report", "r.gt")
                assert report.status in (0, 1) and len(report.err.splitlines()) <= 1, \
                    (what, report.err)
                if report.status == 0 and not done.err:
                    summary = case.report("r.gt", "summary")
                    assert summary["recording"]["events"] + summary["lost"] >= 201, \
                        (what, summary["recording"]["events"], summary["lost"])
    assert faults > 40, faults


@harness.also_on("intel", is_long=True)
def test_a_failing_tracker_lets_the_program_continue(case):
    """The same for the resource tracker with its CSV and log."""
    faults = 0
    tracker = case.tracker(ZEL_SYSTEM_RESOURCE_TRACKER_CSV="t.csv", ZEL_ENABLE_LOADER_LOGGING="1",
                           ZEL_LOADER_LOGGING_LEVEL="debug", ZEL_LOADER_LOG_DIR=str(case.folder))
    assert steps(case, env=tracker).status == 7
    usual = descriptors(case)
    for function, error, ever in [(f, e, x) for f, e in FUNCTIONS for x in
                                  (("", "+") if f in ("open", "read", "fcntl") else ("+",))]:
        for number in numbers():
            done = steps(case, env=dict(tracker, **preload(case, function, number,
                                                           f"{error}{ever}", GUEST)))
            what = (function, number, error, ever)
            assert done.status == 7 and done.out == "done\n", (what, done.status, done.err)
            assert len(done.err.splitlines()) <= 3, (what, done.err)
            assert descriptors(case) <= usual, (what, descriptors(case) - usual)
            if not struck(case):
                break
            faults += 1
            for table in case.folder.glob("t_pid*.csv"):
                rows = table.read_text().splitlines()
                assert all(row.count(",") == 21 for row in rows), (what, rows[-1:])
                table.unlink()
    assert faults > 30, faults


def test_a_kill_in_any_of_our_calls_loses_nothing(case):
    """SIGKILL instead of each call of the recorder."""
    kills = 0
    for function in ("open", "write", "read", "mmap", "fallocate", "ftruncate", "mkdir", "malloc",
                     "madvise", "fcntl"):
        for number in numbers():
            shutil.rmtree(case.path("r.gt"), ignore_errors=True)
            done = steps(case, "--threads", "3", env=recorded(
                case, "r.gt", **preload(case, function, number, "kill", GUEST)))
            if not struck(case):
                assert done.status == 7, (function, number, done.status)
                break
            assert done.status == -signal.SIGKILL, (function, number, done.status)
            kills += 1
            if case.path("r.gt").exists() and list(case.path("r.gt").iterdir()):
                report = case.gputrack("report", "r.gt")
                if report.status == 0:
                    check_recording(case, "r.gt", 3)
                else:
                    # before the first call was recorded, there may be nothing to open
                    assert len(log_of(case)) == 0 and len(report.err.splitlines()) == 1, report.err
    assert kills > 20, kills


def test_an_exit_in_any_of_our_calls_ends_the_program(case):
    """A signal handler may end the process while its thread holds one of our locks."""
    exits = 0
    for function in ("open", "write", "mmap", "fallocate", "malloc"):
        for number in numbers():
            shutil.rmtree(case.path("r.gt"), ignore_errors=True)
            done = steps(case, "--calls", "3000", env=recorded(
                case, "r.gt", GPUTRACK_CSV="c.csv", GPUTRACK_LOG="c.log",
                **preload(case, function, number, "exit", GUEST)))
            if not struck(case):
                break
            # 7: it struck while the process was ending
            assert done.status in (7, 9), (function, number, done.status, done.err)
            report = case.gputrack("report", "r.gt")
            if report.status == 0:
                check_recording(case, "r.gt", 1)
            else:
                assert len(log_of(case)) == 0 and len(report.err.splitlines()) == 1, report.err
            exits += 1
    assert exits > 20, exits


def test_a_kill_at_any_time_loses_nothing(case):
    """kill -9 from outside while three threads work."""
    generator = random.Random(7)
    for _ in range(300 if LONG else 25):
        shutil.rmtree(case.path("r.gt"), ignore_errors=True)
        case.path("own").unlink(missing_ok=True)
        process = case.start(case.program("ze_steps"), "--log", "own", "--threads", "3", "--calls",
                             "100000000", env=recorded(case, "r.gt"))
        wanted = generator.randrange(1, 400000)
        while not case.path("own").exists() or case.path("own").stat().st_size < wanted:
            assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        check_recording(case, "r.gt", 3)


@harness.alone
def test_a_tracer_killed_at_any_time_leaves_a_prefix(case):
    """kill -9 of `gputrack attach`: the recording is a prefix of the program's calls."""
    need_root(case)
    generator = random.Random(11)
    kept = 0
    calls = 60000 if LONG else 20000
    for _ in range(200 if LONG else 12):
        shutil.rmtree(case.path("a.gt"), ignore_errors=True)
        case.path("own").unlink(missing_ok=True)
        process = case.start(case.build / "gputrack", "attach", "-q", "-i", "0", "--api", "levelzero",
                             "-o", "a.gt", "-c", case.program("ze_steps"), "--log", "own", "--calls",
                             calls, env=case.levelzero())
        wanted = generator.randrange(1, 33 * calls)  # bytes of the log
        while not case.path("own").exists() or case.path("own").stat().st_size < wanted:
            assert process.poll() is None, process.communicate()
        process.kill()
        out, err = process.communicate(timeout=120)  # the program holds the pipes until it ends
        assert out == b"done\n", (out, err)
        log = log_of(case)
        assert len(log) == calls + 1, len(log)
        if not list(case.path("a.gt").glob("*.trace")):
            continue
        events = events_of(case, "a.gt")
        assert events == log[:len(events)], next(
            (i, e, l) for i, (e, l) in enumerate(zip(events, log)) if e != l)
        assert case.gputrack("report", "a.gt").status == 0
        kept += bool(events)
    assert kept > 3, kept


# The tool.

def tool_runs(case):
    """Name, command and output file of each run."""
    return [("report", ["report", "r.gt"], None),
            ("report", ["report", "r.gt", "-a", "leakage", "-o", "out.txt"], "out.txt"),
            ("export", ["export", "r.gt", "-o", "out.txt"], "out.txt")]


WRITERS = ["report r.gt -a sites --format json -o out.txt", "report r.gt --format junit -o out.txt",
           "report r.gt --format sarif -o out.txt", "diff old.gt r.gt -o out.txt",
           "diff r.gt old.gt --format json -o out.txt", "suppress r.gt -o out.txt",
           *(f"export r.gt --format {form} -o out.txt" for form in (
               "tsv", "csv", "json", "pprof", "collapsed", "speedscope", "chrome", "prometheus")),
           "plot r.gt -o out.png", "plot r.gt -o out.svg", "plot r.gt -o out.pdf",
           "plot t.csv -o out.png", "html r.gt -o out.html", "html t.csv -o out.html",
           "import x.sqlite -q -o out.gt", "report r.gt --baseline old.gt -o out.txt",
           "report r.gt --suppressions s.supp -o out.txt", "doctor --system"]


def writer_runs(case, commands):
    """The same for every command with its own input or output format."""
    env = recorded(case, "r.gt")
    assert steps(case, env=env).status == 7
    shutil.copytree(case.path("r.gt"), case.path("old.gt"))
    shutil.copy(case.source / "tests/golden/inputs/tracker/leaky.csv", case.path("t.csv"))
    case.path("s.supp").write_text("leak:nothing\n")
    export = nsys_export.Export()
    export.call(1000, 1100, 1, "cudaMalloc", stack=[("main", "/app")])
    export.alloc(1050, 0x1000, 4096, correlation=1)
    export.save(case.path("x.sqlite"))
    runs = []
    for line in WRITERS:
        words = line.split()
        if words[0] not in commands:
            continue
        done = case.gputrack(*words)
        if "built without" in done.err:
            continue
        assert done.status in ((0, 23) if words[0] == "diff" else (0,)), (line, done.err)
        out = words[words.index("-o") + 1] if "-o" in words else None
        if out:
            remove(case, out)
        runs.append((words[0], words, out))
    return runs


def remove(case, name):
    path = case.path(name)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


GIVEN = ("own", "fds", "r.gt", "old.gt", "t.csv", "s.supp", "x.sqlite", "hit", "log")


def check_tool(case, what, done, out, good=(0,), is_written=False):
    """Success, or one line and the right status; never a partial file.

    is_written: what failed came after the file.
    """
    assert done.status in (*good, 1), (what, done.status, done.err)
    if done.status == 1:
        lines = done.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("gputrack: "), (what, done.err)
        assert not out or case.path(out).exists() == is_written, what
    leftovers = [p.name for p in case.folder.iterdir()
                 if p.name not in (*GIVEN, out)]
    assert not leftovers, (what, leftovers)
    if out:
        remove(case, out)


def test_a_tool_out_of_memory_ends_with_one_line(case):
    assert steps(case, env=recorded(case, "r.gt")).status == 7
    faults = 0
    for name, command, out in tool_runs(case):
        for number in numbers():
            done = case.gputrack(*command, env=preload(case, "malloc", number, errno.ENOMEM,
                                                       "gputrack"))
            check_tool(case, (name, number), done, out)
            if not struck(case):
                break
            faults += 1
    assert faults > 20, faults


def test_a_tool_whose_system_calls_fail_ends_with_one_line(case):
    """With strace, which also reaches calls made by the C library."""
    need_strace(case)
    assert steps(case, env=recorded(case, "r.gt")).status == 7
    faults = 0
    for call, error in (("openat", "EACCES"), ("read", "EIO"), ("pread64", "EIO"),
                        ("write", "ENOSPC"), ("rename", "EIO"), ("getdents64", "EIO"),
                        ("newfstatat", "EIO"), ("fsync", "EIO"), ("ftruncate", "EIO")):
        for name, command, out in tool_runs(case):
            for number in numbers():
                done, hit = inject(case, call, error, number, command)
                if not loads(done, hit):
                    continue
                check_tool(case, (call, name, number), done, out)
                if not hit:
                    break
                faults += 1
    assert faults > 40, faults


def need_strace(case):
    if not shutil.which("strace"):
        case.skip("strace is not installed")
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True)
    if probe.returncode:
        case.skip("strace may not trace here")


@functools.cache
def strace():
    """With children and threads; where it can, it stops at the calls that are asked for alone."""
    quick = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "log"]
    probe = subprocess.run([*quick[:-1], "/dev/null", "-e", "trace=openat", "true"], capture_output=True)
    return quick if not probe.returncode and not probe.stderr else ["strace", "-f", "-qq", "-o", "log"]


def inject(case, call, error, number, command, env=None):
    """Runs the tool with this call failing; a number ending in `+` includes all later calls.

    Each process and thread has counts of its own.
    """
    done = case.run(*strace(), "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}",
                    case.build / "gputrack", *command, env=env)
    return done, "(INJECTED)" in case.path("log").read_text()


def failed_on_stdout(case):
    """True if the call that failed was to write to stdout: `plot` prints its figures when the picture is written."""
    return bool(re.search(r"^\d+ +write\(1, .*\(INJECTED\)", case.path("log").read_text(), re.M))


def loads(done, hit):
    """False if the call is still one of the dynamic loader's."""
    return not (hit and done.status == 127 and "error while loading" in done.err)


def calls_of(case, calls, command):
    """For each system call: the number made by the dynamic loader, and the total."""
    case.run(*strace(), "-e", f"trace={','.join(calls)},openat,brk,getrandom,munmap",
             case.build / "gputrack", *command)
    lines = case.path("log").read_text().splitlines()
    first = lines[0].split()[0]  # its pid: of the tool, not of its children
    lines = [line.removeprefix(first).lstrip() for line in lines if line.startswith(first + " ")]
    start = max((i for i, line in enumerate(lines) if "/etc/ld.so.cache" in line
                 or re.search(r"lib[a-z0-9_+.-]*\.so", line)), default=0)
    loader, total = (collections.Counter(line.partition("(")[0] for line in some)
                     for some in (lines[:start], lines))
    return loader, total


def ours_from(case, call, command):
    """The number of the first such call after the dynamic loader is done."""
    return 1 + calls_of(case, [call], command)[0][call]


def fail_writers(case, *commands):
    need_strace(case)
    faults = 0
    errors = {"openat": "EMFILE", "read": "EIO", "write": "ENOSPC", "pwrite64": "ENOSPC",
              "linkat": "ENOSPC", "rename": "EACCES", "mkdir": "ENOSPC", "fallocate": "ENOSPC",
              "mmap": "ENOMEM"}
    for name, command, out in writer_runs(case, commands):
        loader, total = calls_of(case, errors, command)
        if out:
            remove(case, out)
        for call, error in errors.items():
            first = loader[call]
            last = total[call] - first
            for number in numbers() if LONG else sorted({1, 3, 9, *([last] if call == "write" else [])}):
                if number < 1 or number > last:
                    break  # there is no such call that could fail
                for ever in ("", "+") if call != "write" else ("",):  # the line is written too
                    done, hit = inject(case, call, error, f"{first + number}{ever}", command)
                    what = (call, command, number, ever)
                    if not loads(done, hit):
                        continue
                    check_tool(case, what, done, out, (0, 23, 24) if name == "diff" else (0,),
                               failed_on_stdout(case))
                    faults += hit
    return faults


def test_reports_whose_system_calls_fail_leave_no_partial_file(case):
    faults = fail_writers(case, "report", "diff", "suppress")
    assert faults > 70, faults


def test_exports_whose_system_calls_fail_leave_no_partial_file(case):
    faults = fail_writers(case, "export")
    assert faults > 70, faults


def test_pictures_and_imports_whose_system_calls_fail_leave_no_partial_file(case):
    faults = fail_writers(case, "plot", "html", "import", "doctor")
    assert faults > 70, faults


def test_a_monitor_whose_output_fails_leaves_complete_rows(case):
    need_strace(case)
    for call, error in (("openat", "EACCES"), ("write", "ENOSPC"), ("read", "EIO")):
        command = ["monitor", "-o", "m.csv", "-i", "0.01", "-d", "0.05", "-p", os.getpid()]
        first = ours_from(case, call, command)
        for number in range(first, first + 12):
            remove(case, "m.csv")
            done, hit = inject(case, call, error, number, command)
            if not loads(done, hit):
                continue
            assert done.status in (0, 1), (call, number, done.err)
            assert len(done.err.splitlines()) <= 1, (call, number, done.err)
            if case.path("m.csv").exists():
                text = case.path("m.csv").read_text()
                assert text == "" or text.endswith("\n"), (call, number, text[-80:])
                assert all(line.count(",") >= 8 for line in text.splitlines()), (call, number)


@harness.alone
def test_an_attach_whose_calls_fail_leaves_the_program_alone(case):
    """Every call used to set up or record fails; the program keeps allocating."""
    need_root(case)
    need_strace(case)
    target = Target(case)
    faults = 0
    for call, error in (("bpf", "EPERM"), ("perf_event_open", "EACCES"), ("mkdir", "ENOSPC"),
                        ("fallocate", "ENOSPC"), ("mmap", "ENOMEM"), ("openat", "EMFILE"),
                        ("ioctl", "EINVAL"), ("epoll_ctl", "ENOMEM")):
        first = ours_from(case, call, ["--version"]) if call in ("mmap", "openat") else 1
        for number in ([1, 2, 3, 5, 9, 17, 33] if not LONG else range(1, 60)):
            shutil.rmtree(case.path("a.gt"), ignore_errors=True)
            shutil.rmtree(case.path("a.gt.old"), ignore_errors=True)
            command = ["attach", "-i", "0", "-d", "0.1", "-o", "a.gt", "--api", "cuda", "-p",
                       target.pid]
            done, hit = inject(case, call, error, first + number - 1, command)
            what = (call, number, done.status, done.err)
            if not loads(done, hit):
                continue
            assert done.status in (0, 1), what
            assert target.tell("b 10") == "0", what
            if done.status == 1:
                assert 1 <= len([x for x in done.err.splitlines() if x.startswith("gputrack: ")]) <= 2, what
                if not case.path("a.gt").exists():
                    continue
            if case.path("a.gt").exists():
                assert case.gputrack("report", "a.gt").status in (0, 1), what
            faults += hit
            if not hit:
                break
    target.end()
    assert target.process.returncode == 0
    assert faults > 15, faults
