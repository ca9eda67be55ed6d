# SPDX-License-Identifier: MIT
"""test_run.py - gputrack run as an invisible wrapper, and messages about odd recordings."""
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import termios

from harness import no_cores, with_frames


def quiet_run(case, *command, env=None, **how):
    """Runs with its own recording and no output of gputrack itself."""
    return case.gputrack("run", "-q", "-o", "q.gt", *command, env=env, **how)


def one_line(done, status):
    """A failure is one line that begins with our name."""
    assert done.status == status, (done.status, done.err)
    assert done.out == "" and len(done.err.splitlines()) == 1, (done.out, done.err)
    assert done.err.startswith("gputrack: ") and done.err.endswith("\n"), done.err
    return done.err


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


# Streams, status, signals.

def test_streams_pass_through_byte_for_byte(case):
    program = case.program("signals")
    data = bytes(range(256)) * 5000
    for command in ([program, "--echo", "--cl"], ["cat"], ["sh", "-c", "cat >&2"]):
        both = []
        for wrapper in ([], [case.build / "gputrack", "run", "-q", "-o", "s.gt", "--"]):
            process = case.start(*wrapper, *command, env=case.pocl())
            both.append(process.communicate(data, timeout=60) + (process.returncode,))
        assert both[0] == both[1], command
        assert data in both[0][0] or data in both[0][1]


def test_arguments_and_environment_pass_through(case):
    words = ["", "a b", "-o", "--quiet", "--", "ü", "$HOME", "*", "--help"]
    bare = case.run(case.program("signals"), *words, "--env", "HOME")
    done = quiet_run(case, case.program("signals"), *words, "--env", "HOME")
    assert (done.status, done.out, done.err) == (bare.status, bare.out, bare.err)
    # ended options, and none to end
    for start in (["--"], []):
        done = case.gputrack("run", "-q", "-o", "a.gt", *start, "printf", "%s|", "--", "-x")
        assert done.status == 0 and done.out == "--|-x|", done.out


def test_closed_and_missing_streams_do_no_harm(case):
    done = case.gputrack("run", "-q", "-o", "c.gt", "sh", "-c",
                         f"exec 0<&- 1>&- 2>&-; exec {case.program('killed')} --how _exit "
                         f"--calls 50 --log log", env=case.pocl())
    assert done.status == 0 and done.err == "", done.err
    assert case.report("c.gt", "leakage")["recording"]["events"] == 51
    assert len(case.path("log").read_text().splitlines()) == 51


def test_every_exit_status_passes_through(case):
    script = f"for i in $(seq 0 255); do {case.build}/gputrack run -q -o s.gt sh -c \"exit $i\"; " \
             f"echo $?; done"
    done = case.run("sh", "-c", script)
    assert done.out.split() == [str(i) for i in range(256)], done.out
    assert done.err == ""
    assert quiet_run(case, case.program("signals"), "--cl", "--exit", "42",
                     env=case.pocl()).status == 42


def test_death_by_a_signal_passes_through(case):
    for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGUSR1):
        command = case.program("signals"), "--cl", "--raise", int(number)
        bare = case.run(*command, env=case.pocl(), preexec=no_cores)
        done = quiet_run(case, *command, env=case.pocl(), preexec=no_cores)
        assert (done.status, done.out, done.err) == (bare.status, bare.out, bare.err)
        assert done.status == -number
        assert case.report("q.gt", "summary")["recording"]["signal"] == number
    # a shell sees it as it always did
    done = case.run("sh", "-c", f"{case.build}/gputrack run -q -o s.gt sh -c 'kill -TERM $$'; "
                                f"echo $?")
    assert done.out == "143\n"


def wait_ready(process):
    """Waits for the line that `signals --wait` prints once its handlers are set."""
    while True:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        if line == b"ready\n":
            return


def test_signals_sent_to_gputrack_reach_the_program(case):
    for number, name in ((signal.SIGTERM, b"SIGTERM"), (signal.SIGUSR1, b"SIGUSR1")):
        process = case.start(case.build / "gputrack", "run", "-q", "-o", "s.gt",
                             case.program("signals"), "--wait")
        wait_ready(process)
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        assert out == b"got " + name + b"\n" and process.returncode == 0, (out, process.returncode)


def interrupt_from_keyboard(case, script):
    """Types Ctrl-C in a new terminal: that signal differs from one sent by kill."""
    keyboard, terminal = pty.openpty()
    process = case.start(case.build / "gputrack", "run", "-q", "-o", "s.gt", "sh", "-c", script,
                         preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0))
    wait_ready(process)
    os.write(keyboard, b"\x03")
    out, err = process.communicate(timeout=60)
    os.close(keyboard)
    os.close(terminal)
    return out, err, process.returncode


def test_an_interrupt_from_the_keyboard_is_handled_by_the_program(case):
    # a handler that goes on, and ends as it likes
    script = "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done"
    assert interrupt_from_keyboard(case, script) == (b"caught\n", b"", 7)
    # none: it dies of it, and gputrack after it
    out, err, status = interrupt_from_keyboard(case, "echo ready; exec sleep 60")
    assert (out, err, status) == (b"", b"", -signal.SIGINT)
    assert case.report("s.gt", "summary")["recording"]["signal"] == signal.SIGINT


# What run prints and leaves behind.

def test_quiet_prints_nothing_and_the_default_is_a_report(case):
    program = case.program("killed"), "--how", "return", "--calls", "10"
    done = quiet_run(case, *program, env=case.pocl())
    assert done.status == 0 and done.err == "" and "objects and a context alive" in done.out
    long = case.gputrack("run", "--quiet", "--output", "q.gt", *program, env=case.pocl())
    assert long.err == ""
    loud = case.gputrack("run", "-o", "l.gt", *program, env=case.pocl())
    assert loud.out == done.out and "LEAKED" in loud.err and "l.gt" in loud.err


def test_no_line_of_the_end_report_is_printed_twice(case):
    """`next:` suggests two different commands."""
    done = case.gputrack("run", "-o", "n.gt", case.program("signals"), "--cl", env=case.pocl())
    assert done.status == 0
    lines = [line for line in done.err.splitlines() if line.startswith("  gputrack report")]
    assert lines and len(set(lines)) == len(lines), lines


def test_default_name_has_program_and_pid(case):
    done = case.gputrack("run", "-q", case.program("signals"), "--cl", env=case.pocl())
    assert done.status == 0
    name, = entries(case.folder)
    pid = case.report(name, "summary")["recording"]["processes"][0]["pid"]
    assert name == f"signals.{pid}.gt"


def test_an_existing_recording_is_kept_as_old(case):
    for text in ("first", "second", "third"):
        done = case.gputrack("run", "-q", "-o", "r.gt", "echo", text)
        assert done.status == 0 and done.out == text + "\n", done.err
    assert entries(case.folder) == ["r.gt", "r.gt.old"]
    assert case.report("r.gt", "summary")["recording"]["command"] == "echo third"
    assert case.report("r.gt.old", "summary")["recording"]["command"] == "echo second"


def test_a_trailing_slash_is_not_part_of_a_folder_name(case):
    for text in ("first", "second"):
        done = case.gputrack("run", "-q", "-o", "r.gt/", "echo", text)
        assert done.status == 0 and done.out == text + "\n", done.err
    assert entries(case.folder) == ["r.gt", "r.gt.old"]


class Waiting:
    """`gputrack run` of a shell that waits for a line; what it prints is read when it has ended."""

    def __init__(self, case, *options):
        self.process = case.start(case.build / "gputrack", "run", "-o", "r.gt", *options,
                                  "sh", "-c", "echo up; read line; echo $line")
        assert self.process.stdout.readline() == b"up\n", self.process.stderr.read()

    def end(self):
        out, err = self.process.communicate(b"down\n", timeout=60)
        assert out == b"down\n", out
        return self.process.returncode, err.decode()


def test_a_recording_in_progress_is_not_moved_away(case):
    first = Waiting(case)
    message = one_line(case.gputrack("run", "-o", "r.gt", "echo", "ran"), 1)
    assert "another gputrack is recording into" in message and "r.gt: wait" in message and "-o" in message, message
    status, err = first.end()
    assert status == 0 and entries(case.folder) == ["r.gt"], err
    command = case.report("r.gt", "summary")["recording"]["command"]
    assert command.startswith("sh -c"), command
    # now it is done
    assert case.gputrack("run", "-q", "-o", "r.gt", "true").status == 0
    assert entries(case.folder) == ["r.gt", "r.gt.old"]


def test_only_one_of_simultaneous_runs_gets_the_recording(case):
    command = [case.build / "gputrack", "run", "-q", "-o", "r.gt", "sh", "-c", "echo up; read line"]
    runs = [case.start(*command) for _ in range(4)]
    lines = [run.stdout.readline() for run in runs]
    said = [run.communicate(timeout=60)[1].decode() for run in runs]
    assert lines.count(b"up\n") == 1, (lines, said)
    assert sorted(run.returncode for run in runs)[1:] == [1, 1, 1], said
    assert sum("another gputrack is recording into" in text for text in said) == 3, said
    assert entries(case.folder) == ["r.gt"]


def test_a_recording_moved_during_the_run_is_found(case):
    run = Waiting(case)
    case.path("r.gt").rename(case.path("moved.gt"))
    status, err = run.end()
    assert status == 0 and "gputrack: " not in err, err
    assert case.report("moved.gt", "summary")["recording"]["exit_status"] == 0


def test_a_removed_recording_is_reported(case):
    for options, expected in (((), 0), (("--fail-on-leak",), 24)):
        run = Waiting(case, *options)
        shutil.rmtree(case.path("r.gt"))
        status, err = run.end()
        assert status == expected and len(err.splitlines()) == 1 and "was removed" in err, err


def test_files_that_are_not_recordings_are_never_overwritten(case):
    case.path("file").write_text("mine\n")
    case.path("folder").mkdir()
    case.path("folder/mine").write_text("mine\n")
    case.path("link").symlink_to("folder")
    for name in ("file", "folder", "link"):
        message = one_line(case.gputrack("run", "-o", name, "true"), 1)
        assert name in message and "-o" in message, message
    assert case.path("file").read_text() == "mine\n"
    assert entries(case.path("folder")) == ["mine"]
    assert entries(case.folder) == ["file", "folder", "link"]


def test_an_output_that_cannot_be_created_is_reported_in_one_line(case):
    for name in ("no/such/place.gt", "/proc/r.gt", "x" * 300):
        message = one_line(case.gputrack("run", "-o", name, "echo", "ran"), 1)
        assert "-o" in message, message
    assert entries(case.folder) == []


def test_a_program_that_cannot_run_is_reported_in_one_line_and_leaves_no_folder(case):
    case.path("plain").write_text("#!/bin/sh\n")
    case.path("folder").mkdir()
    before = entries(case.folder)
    for name in ("no-such-program-anywhere", "./no-such-program", "./plain", "./folder", ""):
        for options in ([], ["-o", "r.gt"], ["-q"]):
            one_line(case.gputrack("run", *options, name), 1)
            assert entries(case.folder) == before, (name, options)
    assert "./plain" in one_line(case.gputrack("run", "./plain"), 1)


def test_a_program_that_cannot_run_keeps_the_existing_recording(case):
    assert case.gputrack("run", "-q", "-o", "r.gt", "echo", "good").status == 0
    one_line(case.gputrack("run", "-o", "r.gt", "./no-such-program"), 1)
    kept = [name for name in ("r.gt", "r.gt.old") if case.path(name).exists()]
    assert kept, "the old recording is gone"
    assert case.report(kept[0], "summary")["recording"]["command"] == "echo good"


def test_wrong_usage_exits_with_status_two(case):
    for words in (["run"], ["run", "--"], ["run", "-q"], ["run", "--no-such-option", "true"],
                  ["run", "-Z", "true"], ["run", "-o"], ["run", "--stack-depth", "many", "true"],
                  ["run", "--stack-depth", "100000", "true"], ["run", "--quiet=1", "true"],
                  ["report"], ["report", "a.gt", "b.gt", "-a", "usage"], ["report", "--format", "xml", "a.gt"],
                  ["report", "-a", "nothing", "a.gt"], ["report", "--top", "-1", "a.gt"],
                  ["report", "--pid", "x", "a.gt"], ["export"], ["export", "--format", "x", "a.gt"],
                  ["run", "-o", "", "true"], ["run", "--csv=", "true"], ["report", "a.gt", "-o", ""],
                  ["html", "a.gt", "-o", ""], ["import", "a.sqlite", "-o", ""],
                  ["monitor", "-o", "", "true"], ["report", "a.gt", "--symbols", ""],
                  ["stress", "--throughput", "99999999999999999999"], ["doctor", "extra"],
                  ["no-such-command"], ["reprot"], []):
        done = case.gputrack(*words)
        assert done.status == 2, (words, done.status, done.err)
        assert done.out == "" and done.err, words
        assert not words or "gputrack" in done.err.splitlines()[0], done.err
    assert "report" in case.gputrack("reprot").err
    assert "--quiet" in case.gputrack("run", "--queit", "true").err
    assert "-o needs FILE, but its value is empty" in case.gputrack("report", "a.gt", "-o", "").err
    assert "must be at most 1000000000, or max" in case.gputrack("stress", "--throughput", "9" * 20).err
    assert entries(case.folder) == []


def test_help_of_every_command(case):
    assert case.gputrack("--help").status == 0
    for command in ("run", "report", "export", "doctor"):
        done = case.gputrack(command, "--help")
        assert done.status == 0 and done.err == "", done.err
        assert done.out.startswith(f"usage: gputrack {command}"), done.out
        assert case.gputrack("help", command).out == done.out
        assert command in case.gputrack("--help").out
    assert case.gputrack("--version").out.startswith("gputrack ")


def test_help_texts_of_options_are_aligned(case):
    commands = [line.split()[0] for line in case.gputrack("--help").out.split("commands:\n")[1]
                .split("\n\n")[0].splitlines()]
    assert len(commands) > 10, commands
    for command in commands:
        options = case.gputrack(command, "--help").out.split("options:\n")[1].splitlines()
        for line in options:
            # an option that is too long for its column has its help in the next line
            assert line[:28].endswith("  ") or len(line) < 40 and line.startswith("  "), line


def test_failing_to_print_is_not_success(case):
    assert quiet_run(case, "true").status == 0
    for words in ("--version", "--help", "report --help", "doctor", "doctor --json",
                  "doctor --system", "report q.gt", "report q.gt --format json", "export q.gt",
                  "suppress q.gt", "diff q.gt q.gt", "plot q.gt -o p.txt"):
        for where in (">/dev/full", ">&-"):
            done = case.run("sh", "-c", f'"$0" {words} {where}', case.build / "gputrack")
            message = one_line(done, 1 if not words.startswith("diff") else done.status)
            assert done.status and "cannot write" in message, (words, where, message)


def test_closed_streams_are_not_reused_for_our_files(case):
    """The first file opened would become stdout."""
    assert quiet_run(case, "true").status == 0
    for command in ("monitor -d 0.01 -p $$", "report q.gt", "plot q.gt -o p.txt", "doctor"):
        done = case.run("strace", "-f", "-o", "log", "-e", "trace=write", "sh", "-c",
                        f'exec >&-; exec "$0" {command}', case.build / "gputrack")
        calls = [line for line in case.path("log").read_text().splitlines() if "write(1," in line]
        assert all("EBADF" in line for line in calls), calls
        assert done.status == 1, (command, done.err)
    done = case.run("sh", "-c", 'exec "$0" run -q -o c.gt sh -c "ls /proc/self/fd" 2>&- <&-',
                    case.build / "gputrack")
    assert "2" not in done.out.split() and "1" in done.out.split(), done.out


def test_output_for_the_current_folder_is_written_beside_it(case):
    """With a foreign file in it, the folder would no longer be a recording."""
    assert quiet_run(case, "true").status == 0
    before = entries(case.path("q.gt"))
    for command in (*(["html"] if case.has_page() else []), "plot"):
        for name in (".", "./", "../q.gt", "../q.gt//"):
            done = case.run("sh", "-c", 'cd q.gt; exec "$0" "$1" "$2"', case.build / "gputrack",
                            command, name)
            made = [name for name in entries(case.folder) if name != "q.gt"]
            assert done.status == 0 and len(made) == 1 and made[0].startswith("q"), (done.err, made)
            case.path(made[0]).unlink()
            assert entries(case.path("q.gt")) == before


def test_reports_fit_narrow_terminals(case):
    leaky = case.program("leaky")
    done = case.gputrack("run", "-q", "-o", "r.gt", "sh", "-c", f"{leaky}; {leaky}", env=case.pocl())
    assert done.status == 0, done.err
    for analysis in case.analyses():
        wide = case.gputrack("report", "r.gt", "-a", analysis, env={"COLUMNS": "200"}).out
        numbers = re.findall(r"\d[\d.,]* [KMG]?i?B", wide)
        for columns in (40, 50, 59):
            out = case.gputrack("report", "r.gt", "-a", analysis, env={"COLUMNS": str(columns)}).out
            over = [line for line in out.splitlines() if len(line) > columns]
            assert not over, (columns, over)
            # nothing is cut but names
            assert analysis == "usage" or set(numbers) <= set(re.findall(r"\d[\d.,]* [KMG]?i?B", out)), out


def test_a_missing_symbol_folder_is_reported_in_one_line(case):
    assert quiet_run(case, "true").status == 0
    case.path("file").write_text("")
    for command in ("report", "suppress", *(["html"] if case.has_page() else []), "plot"):
        for name in ("nowhere", "file"):
            done = case.gputrack(command, "q.gt", "--symbols", ".", "--symbols", name)
            message = one_line(done, 1)
            assert f"cannot search {name} for symbols" in message and "--symbols" in message, message
    assert entries(case.folder) == ["file", "q.gt"]


def test_a_picture_is_not_written_to_a_terminal(case):
    assert quiet_run(case, "true").status == 0
    master, slave = pty.openpty()
    done = subprocess.run([case.build / "gputrack", "plot", "q.gt", "-o", "-"], cwd=case.folder,
                          stdout=slave, stderr=subprocess.PIPE, text=True)
    os.close(slave)
    os.close(master)
    assert done.returncode == 2 and "terminal" in done.stderr, done.stderr


def test_fail_on_leak(case):
    killed, clean = case.program("killed"), case.program("signals")
    run = ["run", "-q", "--fail-on-leak", "-o", "f.gt"]
    assert case.gputrack(*run, killed, "--how", "return", env=case.pocl()).status == 23
    assert case.gputrack(*run, clean, "--cl", env=case.pocl()).status == 0
    # the program's own status and death win
    assert case.gputrack(*run, clean, "--cl", "--exit", "5", env=case.pocl()).status == 5
    assert case.gputrack(*run, killed, "--how", "abort", env=case.pocl(),
                         preexec=no_cores).status == -signal.SIGABRT
    # nothing could be tracked: no OpenCL in there at all
    done = case.gputrack("run", "--fail-on-leak", "-o", "n.gt", "/bin/true")
    assert done.status == 24 and "NOTHING WAS TRACKED" in done.err, done.err
    assert case.gputrack("run", "-o", "n.gt", "/bin/true").status == 0
    assert case.gputrack("run", "--fail-on-leak", "-o", "n.gt", "/bin/false").status == 1
    # without the option a leak is no failure
    assert quiet_run(case, killed, "--how", "return", env=case.pocl()).status == 0


def test_no_stacks_records_the_same_without_stacks(case):
    done = case.gputrack("run", "--no-stacks", "-o", "n.gt", case.program("leaky"), env=case.pocl())
    assert done.status == 0 and "(no stack recorded)" in done.err, done.err
    report = case.report("n.gt", "leakage")
    assert report["totals"] == {"count": 21, "bytes": 1 << 20} and report["lost"] == 0
    assert all(group["stack"] == [] for group in report["groups"])
    assert all(event["stack"] == [] for event in case.events("n.gt"))
    done = case.gputrack("run", "-q", "--stack-depth", "1", "-o", "d.gt", case.program("forks"),
                         "--early", env=case.pocl())
    events = case.events("d.gt", "--all-frames", "--no-symbols")
    assert {len(event["stack"]) for event in events} == {1}


def test_a_truncated_stack_is_marked(case):
    for depth, said in (("1", "… cut after 1 frame: --stack-depth N records more"), ("64", None)):
        case.gputrack("run", "-q", "--stack-depth", depth, "-o", "d.gt", case.program("leaky"),
                      env=case.pocl())
        text = case.gputrack("report", "d.gt", "-a", "leakage").out
        assert said in text if said else "cut after" not in text, text


def test_a_script_with_several_programs_is_one_recording(case):
    killed, signals = case.program("killed"), case.program("signals")
    case.path("script").write_text(
        f"#!/bin/sh\n{killed} --how return --calls 10\n"
        f"sh -c '{killed} --how return --calls 20; true'\n"
        f"{signals} --cl &\nwait\n(exec {killed} --how _exit --calls 30)\n/bin/true\nexit 3\n")
    case.path("script").chmod(0o755)
    done = case.gputrack("run", "-q", "-o", "s.gt", "./script", env=case.pocl())
    assert done.status == 3 and done.err == "a line on stderr\n", done.err
    report = case.report("s.gt", "summary")
    assert report["recording"]["command"] == "./script"
    programs = [pathlib.Path(p["program"]).name for p in report["recording"]["processes"]]
    assert programs == ["killed", "killed", "signals", "killed"]
    each = []
    for process in report["recording"]["processes"]:
        one = case.report("s.gt", "summary", "--pid", process["pid"])
        each.append(one["recording"]["events"])
    assert each == [11, 21, 2, 31] and report["recording"]["events"] == 65
    # four traces, `info`, `legend`, and `ends` of the one that ended by _exit
    assert len(entries(case.path("s.gt"))) == 7


def test_an_inner_run_does_not_write_into_the_outer_recording(case):
    done = case.gputrack("run", "-q", "-o", "outer.gt", case.build / "gputrack", "run", "-q", "-o",
                         "inner.gt", case.program("killed"), "--how", "return", "--calls", "10",
                         env=case.pocl())
    assert done.status == 0, done.err
    assert case.report("inner.gt", "summary")["recording"]["events"] == 11
    assert case.report("outer.gt", "summary")["recording"]["events"] == 0


def test_a_program_inherits_signal_settings_and_limits(case):
    """Ignored SIGCHLD, and the limit of open files."""
    program = "import resource, signal; " \
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], " \
        "signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN); exit(3)"
    case.path("program.py").write_text(program)
    assert quiet_run(case, "true").status == 0
    for how in ("", "--baseline q.gt"):
        done = case.run("bash", "-c", f"ulimit -Sn 321; trap '' CHLD; exec {case.build}/gputrack "
                        f"run -q -o i.gt {how} {sys.executable} program.py")
        assert (done.status, done.out, done.err) == (3, "321 True\n", ""), (how, done.out, done.err)


def test_a_recording_in_which_nothing_could_be_written_is_still_a_recording(case):
    assert quiet_run(case, "true").status == 0
    case.path("q.gt/ends").write_bytes(b"")
    case.path("q.gt/77.trace").write_bytes(b"")
    case.path("q.gt/78.trace").write_bytes(bytes(4096))
    assert quiet_run(case, "true").status == 0
    case.path("q.gt/79.trace").write_bytes(b"somebody's own")
    assert "is not a recording" in one_line(quiet_run(case, "true"), 1)


def test_recordings_are_private(case):
    old = os.umask(0)
    try:
        quiet_run(case, case.program("signals"), "--cl", env=case.pocl())
    finally:
        os.umask(old)
    folder = case.path("q.gt")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.glob("*.trace"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


# Recordings that went places.

def copy_program(case):
    shutil.copy(case.program("leaky"), case.path("mine"))
    done = case.gputrack("run", "-q", "-o", "m.gt", "./mine", env=case.pocl())
    assert done.status == 0, done.err
    shutil.copytree(case.path("m.gt"), case.path("copy.gt"))
    shutil.rmtree(case.path("m.gt"))


def module_offsets(report):
    return {(os.path.basename(f["module"]), f["function"], f["file"])
            for g in report["groups"] for f in g["stack"] if f["module"].endswith("/mine")}


def test_a_copied_recording_is_still_complete(case):
    copy_program(case)
    named = case.report("copy.gt", "leakage")
    assert named["totals"] == {"count": 21, "bytes": 1 << 20}
    assert any(f["function"] == "fetch_sum" for g in named["groups"] for f in g["stack"])
    # without its program it has the names that it kept
    case.path("mine").rename(case.path("away"))
    assert case.report("copy.gt", "leakage")["groups"] == named["groups"]
    # and without these modules and offsets, and a line that says why
    case.path("copy.gt/legend").unlink()
    gone = case.report("copy.gt", "leakage")
    assert gone["totals"] == named["totals"] and len(gone["groups"]) == len(named["groups"])
    assert module_offsets(gone) == {("mine", None, None)}
    text = case.gputrack("report", "copy.gt").out
    assert "mine+0x" in text and "is not on this machine" in " ".join(text.split()), text
    # and with a copy of it in a folder of one's own
    case.path("symbols").mkdir()
    case.path("away").rename(case.path("symbols/mine"))
    found = case.report("copy.gt", "leakage", "--symbols", case.path("symbols"))
    assert found["groups"] == named["groups"]


def test_a_changed_program_is_detected_and_reported(case):
    copy_program(case)
    named = case.report("copy.gt", "leakage")
    shutil.copy(case.program("killed"), case.path("mine"))
    assert case.report("copy.gt", "leakage")["groups"] == named["groups"]
    case.path("copy.gt/legend").unlink()
    report = case.report("copy.gt", "leakage")
    assert report["totals"] == {"count": 21, "bytes": 1 << 20}
    assert module_offsets(report) == {("mine", None, None)}
    text = case.gputrack("report", "copy.gt").out
    assert "mine+0x" in text and "has changed since it was recorded" in " ".join(text.split()), text


def test_a_stripped_program_has_lines_if_its_debug_file_is_found(case):
    shutil.copy(case.program("leaky"), case.path("mine"))
    for command in (["objcopy", "--only-keep-debug", "mine", "mine.debug"],
                    ["objcopy", "--strip-all", "--add-gnu-debuglink=mine.debug", "mine"]):
        assert case.run(*command).status == 0, command
    assert quiet_run(case, "./mine", env=case.pocl()).status == 0
    case.path("q.gt/legend").unlink()
    functions = {"make_scratch_buffer", "start_addition", "fetch_sum"}

    def inner(*options):
        return {g["stack"][0]["function"]
                for g in case.report("q.gt", "leakage", *options)["groups"]}

    assert inner() == functions
    case.path("debug").mkdir()
    case.path("mine.debug").rename(case.path("debug/mine.debug"))
    assert inner("--symbols", "debug") == functions
    shutil.rmtree(case.path("debug"))
    assert inner() == {None}
    text = " ".join(case.gputrack("report", "q.gt").out.split())
    assert "mine+0x" in text and "is stripped" in text, text


def test_no_symbols_opens_no_program_file(case):
    copy_program(case)
    report = case.report("copy.gt", "leakage", "--no-symbols")
    assert module_offsets(report) == {("mine", None, None)}


def test_odd_recordings_are_reported_in_one_line(case):
    case.path("empty").mkdir()
    case.path("text").write_text("hello\n" * 100)
    case.path("nothing").write_text("")
    for command in (["report"], ["export"]):
        for name in ("missing.gt", "empty", "text", "nothing"):
            message = one_line(case.gputrack(*command, name), 1)
            assert name in message and ("; " in message or "`gputrack run`" in message), message
    assert "gputrack run" in one_line(case.gputrack("report", "missing.gt"), 1)


def test_damaged_traces_end_at_the_last_complete_record(case):
    done = quiet_run(case, case.program("killed"), "--how", "return", "--calls", "20000",
                     env=case.pocl())
    assert done.status == 0
    trace, = case.path("q.gt").glob("*.trace")
    whole, count = trace.read_bytes(), case.report("q.gt", "leakage")["recording"]["events"]
    assert count == 20001

    # beside a good trace, one that is garbage
    garbage = case.path("q.gt/123.trace")
    garbage.write_bytes(b"\xde\xad\xbe\xef" * 5000)
    report = case.report("q.gt", "leakage")
    assert report["recording"]["events"] == count
    bad, = [p for p in report["recording"]["processes"] if p["damage"]]
    assert bad["pid"] == 123
    text = case.gputrack("report", "q.gt")
    assert text.status == 0 and "pid 123 is left out: q.gt/123.trace is not a gputrack trace; the rest is" in \
        " ".join(text.out.split())
    exported = case.gputrack("export", "q.gt", "--format", "json")
    assert exported.status == 0 and len(exported.err.splitlines()) == 1, exported.err
    assert "123.trace is not a gputrack trace; the rest was exported" in exported.err
    assert len(json.loads(exported.out)["events"]) == count
    garbage.unlink()

    # gaps that are shown are all there are, unless it says so
    for i in range(5):
        case.path(f"q.gt/{i + 1}.trace").write_bytes(b"garbage" * 1000)
        text = case.gputrack("report", "q.gt").out
        assert text.count("is left out") == min(i + 1, 4), text
        assert ("and 1 more gap: --format json lists all" in text) == (i == 4), text
    for i in range(5):
        case.path(f"q.gt/{i + 1}.trace").unlink()

    # … or of a format that is not known yet
    newer = bytearray(whole)
    newer[8:12] = (99).to_bytes(4, "little")
    garbage.write_bytes(newer)
    text = case.gputrack("report", "q.gt")
    assert text.status == 0 and "(unknown program) 123" in text.out, text.out
    assert "pid 123 is left out: q.gt/123.trace was made by a newer gputrack (trace version 99, this one reads " \
        "2): update gputrack to read it; the rest is shown" in " ".join(text.out.split()), text.out
    report = case.report("q.gt", "leakage")["recording"]
    assert report["events"] == count
    unread, = [p for p in report["processes"] if p["state"] == "unread"]
    assert unread["pid"] == 123 and unread["start_ns"] == 0 and "newer gputrack" in unread["damage"]
    groups = case.report("q.gt", "processes")["groups"]
    assert [g["start_ns"] for g in groups if g["pid"] == 123] == [0], groups
    rows = case.gputrack("report", "q.gt", "-a", "processes", "-f", "tsv").out.splitlines()
    start = rows[0].split("\t").index("start_ns")
    assert [r.split("\t")[start] for r in rows if r.startswith("123\t")] == ["0"], rows
    exported = case.gputrack("export", "q.gt", "--format", "json")
    assert exported.status == 0 and "newer gputrack" in exported.err and "damaged" not in exported.err
    garbage.unlink()

    # cut anywhere: never a failure, and never more than there was
    seen = []
    for size in (0, 1, 90, 110, 4096, 20000, len(whole) // 2, len(whole) - 5000, len(whole) - 1):
        trace.write_bytes(whole[:size])
        done = case.gputrack("report", "q.gt", "--format", "json", "-a", "leakage")
        if 0 < size < 104:  # not even a header: there is nothing to report
            assert done.status == 1 and len(done.err.splitlines()) == 1, (size, done.err)
            assert "no trace that can be read" in done.err
            continue
        assert done.status == 0, (size, done.err)
        report = json.loads(done.out)
        process, = report["recording"]["processes"]
        seen.append(report["recording"]["events"])
        if report["recording"]["events"] < count:
            assert process["damage"], (size, process)
            text = case.gputrack("report", "q.gt").out
            # one without a byte may be that of a process which starts just now
            assert ("is damaged" if size else "nothing has been recorded in it") in \
                " ".join(text.split()), text
    assert seen == sorted(seen) and seen[0] == 0 and 0 < seen[-3] < count, seen

    # … nor is it taken for a program that tracked nothing
    trace.write_bytes(whole[:4096])
    for command in (["report", "q.gt", "--fail-on-leak"], ["diff", "q.gt", "q.gt"]):
        done = case.gputrack(*command)
        assert done.status == 25 and "are missing, so gputrack cannot tell whether" in \
            " ".join(done.err.split()), (done.status, done.err)


def test_a_process_missing_from_the_recording_is_reported(case):
    quiet_run(case, case.program("signals"), "--cl", env=case.pocl())
    for command in (["report"], ["export"]):
        assert "no process 1" in one_line(case.gputrack(*command, "q.gt", "--pid", "1"), 1)


# Where output goes.

def test_report_output_appears_whole_or_not_at_all(case):
    quiet_run(case, case.program("leaky"), env=case.pocl())
    printed = case.gputrack("report", "q.gt", "--format", "json").out
    case.path("r.json").write_text("old")
    done = case.gputrack("report", "q.gt", "--format", "json", "-o", "r.json")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert case.path("r.json").read_text() == printed
    assert entries(case.folder) == ["q.gt", "r.json"], "nothing is left beside it"
    # what fails leaves what was there
    case.path("r.json").write_text("old")
    one_line(case.gputrack("report", "missing.gt", "-o", "r.json"), 1)

    def tiny_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    one_line(case.gputrack("report", "q.gt", "--format", "json", "-o", "r.json",
                           preexec=tiny_files), 1)
    assert case.path("r.json").read_text() == "old"
    assert entries(case.folder) == ["q.gt", "r.json"]
    message = one_line(case.gputrack("report", "q.gt", "-o", "no/such/folder"), 1)
    assert "no/such/folder" in message and "-o" in message
    if os.path.exists("/dev/full"):
        process = subprocess.run([case.build / "gputrack", "report", "q.gt"], cwd=case.folder,
                                 stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True)
        assert process.returncode == 1 and len(process.stderr.splitlines()) == 1, process.stderr


def test_a_closed_pipe_causes_no_crash(case):
    quiet_run(case, case.program("killed"), "--how", "return", "--calls", "20000", env=case.pocl())
    done = case.run("bash", "-c", f"{case.build}/gputrack export q.gt | head -n 1; "
                                  f"echo ${{PIPESTATUS[0]}}")
    head, status = done.out.splitlines()
    assert head.startswith("time_ns\t") and status in ("1", "141", "0"), done.out


def test_export_formats_agree(case):
    quiet_run(case, case.program("leaky"), env=case.pocl())
    events = case.events("q.gt")
    assert [e["time_ns"] for e in events] == sorted(e["time_ns"] for e in events)
    done = case.gputrack("export", "q.gt")
    assert done.status == 0 and done.err == ""
    assert done.out == case.gputrack("export", "q.gt", "--format", "tsv").out
    head, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert head == ["time_ns", "pid", "tid", "function", "effect", "api", "kind", "handle", "bytes",
                    "owner", "place", "outcome", "result", "stack", "where", "phase",
                    "start_ns", "duration_ns"]
    assert len(rows) == len(events) == 33
    for row, event in zip(rows, events):
        row = dict(zip(head, row))
        for key in ("time_ns", "pid", "tid", "bytes", "result", "where", "phase",
                    "start_ns", "duration_ns"):
            assert row[key] == str(event.get(key, "")), (key, row, event)
        for key in ("function", "effect", "api", "kind", "handle", "place", "outcome", "owner"):
            if key != "place" or event["effect"] == "create":
                assert row[key] == event.get(key, ""), (key, row, event)
        assert row["duration_ns"] == row["start_ns"] == ""  # only imports know them
        assert row["stack"].count(" < ") == max(len(event["stack"]) - 1, 0)
        inner = event["stack"][0]
        assert row["stack"].startswith(f"{inner['function']} ({inner['file']}:{inner['line']})")
    done = case.gputrack("export", "q.gt", "--format", "json", "-o", "e.json")
    assert done.status == 0 and with_frames(json.loads(case.path("e.json").read_text())) == events


def test_doctor_reports_what_can_be_tracked(case):
    case.pocl()
    done = case.gputrack("doctor")
    assert done.status == 0 and done.err == "", done.err
    assert "OpenCL" in done.out and "Portable Computing Language" in done.out, done.out
    assert entries(case.folder) == []


def test_a_program_not_found_gets_a_hint(case):
    case.path("here").symlink_to("/bin/true")
    case.path("here.py").write_text("pass\n")
    for command in (["run"], ["monitor", "-o", "m.csv", "--"]):
        for program, hint in (("here", "./here"), ("here.py", "`python3 here.py`"),
                              ("nowhere", "check its name")):
            done = case.gputrack(*command, program)
            assert done.status == 1 and hint in done.err and done.err.count("\n") == 1, done.err
    done = case.gputrack("./here")
    assert done.status == 2 and "to run a program, use `gputrack run ./here`" in done.err, done.err


def test_the_exit_status_is_kept_if_the_report_cannot_be_written(case):
    reader, writer = os.pipe()
    os.close(reader)
    program = subprocess.Popen([case.build / "gputrack", "run", "-o", "p.gt", "sh", "-c", "exit 7"],
                               stderr=writer, cwd=case.folder)
    os.close(writer)
    assert program.wait(60) == 7


def test_a_failed_start_changes_no_files(case):
    """Recordings and files survive a run that could not start."""
    env = case.pocl()
    quiet_run(case, case.program("signals"), "--cl", env=env)
    kept = {p.name: p.read_bytes() for p in case.path("q.gt").iterdir()}
    quiet_run(case, case.program("signals"), "--cl", env=env)
    newer = {p.name: p.read_bytes() for p in case.path("q.gt").iterdir()}

    def untouched():
        assert {p.name: p.read_bytes() for p in case.path("q.gt").iterdir()} == newer
        assert {p.name: p.read_bytes() for p in case.path("q.gt.old").iterdir()} == kept
        assert not case.path("q.gt.older").exists()

    untouched()
    done = case.gputrack("run", "-o", "q.gt", "./not-there")
    assert done.status == 1 and len(done.err.splitlines()) == 1, done.err
    untouched()
    done = case.run("sh", "-c", f"ulimit -n 4; {case.build}/gputrack run -o q.gt /bin/true")
    assert done.status != 0, done.err
    untouched()

    mine = case.path("mine")
    mine.mkdir()
    for name in ("info", "app.trace", "main.c"):
        (mine / name).write_text("mine\n")
    for place in ("mine", "mine/."):
        done = case.gputrack("run", "-o", place, "/bin/true")
        assert done.status == 1 and "is not a recording" in done.err, done.err
    assert sorted(p.name for p in mine.iterdir()) == ["app.trace", "info", "main.c"]
    assert all(p.read_text() == "mine\n" for p in mine.iterdir())


def test_csv_and_log_are_written_to_the_starting_folder(case):
    """Not to the folder the program has changed to by its first call."""
    case.path("elsewhere").mkdir()
    done = case.gputrack("run", "-q", "-o", "q.gt", "--csv", "t.csv", "--log", "t.log", "sh", "-c",
                         f"cd elsewhere && {case.program('signals')} --cl", env=case.pocl())
    assert done.status == 0, done.err
    assert list(case.folder.glob("t_pid*.csv")) and case.path("t.log").exists()
    assert not list(case.path("elsewhere").iterdir())


def test_an_interrupt_sent_to_gputrack_alone_reaches_the_program(case):
    """kill -INT is passed on; an interrupt from the terminal reaches the program by itself."""
    run = case.gputrack("run", "-q", "-o", "q.gt", "sh", "-c",
                        'kill -INT $PPID; sleep 5; exit 7')
    assert run.status in (-2, 130), (run.status, run.err)


def test_a_crashing_symbolizer_does_not_harm_the_program(case):
    """The symbolizer may crash: the program and its log continue."""
    run = case.run(case.program("leaky"), env=case.pocl(
        OPENCL_LAYERS=str(case.build / "libgputrack_opencl.so"), GPUTRACK_LOG="t.log",
        GPUTRACK_TOOL="/bin/true"))
    assert run.status == 0, (run.status, run.err)
    assert case.path("t.log").read_text().count("STILL ALIVE AT EXIT") == 21


def test_hints_can_be_pasted_into_a_shell(case):
    """They use the typed path where `gputrack` alone would be another program."""
    alone = {"PATH": "/usr/bin:/bin"}
    case.path("here").symlink_to(case.build)
    for word in ("here/gputrack", "./here/gputrack", case.build / "gputrack"):
        for command, hint in ((("nope",), "--help"), (("report", "-x"), "report --help"),
                              (("report", "none.gt"), "run")):
            done = case.run(word, *command, env=alone)
            assert f"`{word} {hint}`" in done.err, done.err
    done = case.run("here/gputrack", "run", "-o", "a.gt", case.program("leaky"),
                    env=case.pocl(**alone))
    assert "\n  here/gputrack report a.gt -a leakage " in done.err, done.err
    done = case.gputrack("report", "a.gt")
    assert "\n  gputrack report a.gt -a leakage " in done.out, done.out
