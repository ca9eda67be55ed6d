# SPDX-License-Identifier: MIT
"""test_signals.py - a signal for the group or for gputrack alone reaches the program once.

GPUTRACK_TEST_LONG=1 sends each signal 200 times, otherwise 3 times.
"""
import fcntl
import os
import pathlib
import pty
import signal
import struct
import termios

import harness

TIMES = 200 if os.environ.get("GPUTRACK_TEST_LONG") else 3
NAMES = ("TERM", "INT", "HUP", "QUIT", "USR1")


def number_of(name):
    return getattr(signal, "SIG" + name)


def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Program:
    """count_signals under gputrack, with a command around it; `lines` is where it prints."""

    def __init__(self, lines):
        self.lines = lines
        self.pid = int(lines.readline())
        self.tool = parent(self.pid)

    def ask(self):
        """What it received since it was asked last. The question is forwarded, too."""
        os.kill(self.tool, signal.SIGUSR2)
        words = self.lines.readline().split()
        assert int(self.lines.readline()) == self.pid
        return {name.decode(): int(n) for name, n in zip(words[::2], words[1::2])}

    def counts(self):
        """Waits until it has received something, then for what was forwarded before a further question."""
        total = {}
        for _ in range(20):
            total = self.ask()
            if total:
                break
        for name, n in self.ask().items():
            total[name] = total.get(name, 0) + n
        return total


def heed_all():
    """What ran the tests may ignore some: shells do so for background jobs."""
    for name in NAMES:
        signal.signal(number_of(name), signal.SIG_DFL)


def start(case, *around, command=("run", "-q", "-o", "s.gt"), words=()):
    process = case.start(*around, case.build / "gputrack", *command, case.program("count_signals"), *words,
                         preexec_fn=heed_all)
    return process, Program(process.stdout)


def end(process, program):
    os.kill(program.pid, signal.SIGKILL)
    process.communicate(timeout=60)


def send_many(program, send, names=NAMES):
    for name in names:
        for i in range(TIMES):
            send(number_of(name))
            counts = program.counts()
            counts.pop("CONT", None)
            assert counts == {name: 1}, (name, i, counts)


def test_a_signal_for_gputrack_alone_is_passed_on(case):
    process, program = start(case)
    send_many(program, lambda number: os.kill(program.tool, number))
    end(process, program)


def test_a_signal_for_the_group_arrives_once(case):
    process, program = start(case)
    send_many(program, lambda number: os.killpg(process.pid, number))
    end(process, program)


def test_a_signal_from_timeout_arrives_once(case):
    """It signals its child and then the group. Here it is not the clock that makes it do so."""
    for name in NAMES * TIMES:  # it does so once
        process, program = start(case, "timeout", "-s", name, "1000")
        os.kill(process.pid, number_of(name))
        assert program.counts().get(name) == 1, name
        end(process, program)


def test_with_a_shell_between_the_group_still_arrives_once(case):
    process, program = start(case, "sh", "-c", "trap : TERM INT HUP QUIT USR1; \"$@\"; exit $?", "sh")
    assert program.tool != process.pid
    send_many(program, lambda number: os.killpg(process.pid, number))
    send_many(program, lambda number: os.kill(program.tool, number))
    end(process, program)


def test_a_program_that_left_the_group_receives_every_signal_once(case):
    process, program = start(case, words=["setsid"])
    assert os.getpgid(program.pid) != os.getpgid(program.tool)
    send_many(program, lambda number: os.killpg(process.pid, number))
    send_many(program, lambda number: os.kill(program.tool, number))
    end(process, program)


def test_monitor_passes_signals_on_once(case):
    for send in (os.kill, os.killpg):
        process, program = start(case, command=("monitor", "-o", "m.csv"))
        send_many(program, lambda number, send=send: send(process.pid, number))
        end(process, program)


@harness.alone
def test_attach_ends_by_a_signal_for_the_group_and_the_program_receives_it_once(case):
    if os.geteuid():
        case.skip("attaching needs root")
    process = case.start(case.build / "gputrack", "attach", "-q", "-o", "a.gt", "-c", case.program("count_signals"),
                         preexec_fn=heed_all)
    pid = process.stdout.readline()
    if not pid:
        case.skip(f"cannot attach here: {process.stderr.read().decode()}")
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(60)  # from now on nobody is left to forward it
    os.kill(int(pid), signal.SIGUSR2)
    assert process.stdout.readline() == b"TERM 1 \n"
    os.kill(int(pid), signal.SIGKILL)
    process.communicate(timeout=60)


def witness_of(tool):
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text() == "signal-witness\n" and parent(path.parent.name) == tool:
                return int(path.parent.name)
        except (OSError, IndexError):
            pass
    raise AssertionError("no witness")


def test_the_witness_decides_by_what_was_sent_not_by_when(case):
    """Stopped meanwhile, it has both before it at once, however slow the machine is."""
    process, program = start(case)
    witness = witness_of(program.tool)
    for name in NAMES:
        for send, times in ((lambda n: (os.kill(program.tool, n), os.killpg(process.pid, n)), 1),
                            (lambda n: (os.killpg(process.pid, n), os.kill(program.tool, n)), 1),
                            (lambda n: os.kill(program.tool, n), 1)):
            os.kill(witness, signal.SIGSTOP)
            send(number_of(name))
            os.kill(witness, signal.SIGCONT)
            counts = program.counts()
            counts.pop("CONT", None)
            assert counts == {name: times}, (name, counts)
            # the witness waited before it forwarded the last signal: what comes next is another one
    end(process, program)


def test_the_witness_is_not_found_by_our_name_and_keeps_nothing_open(case):
    process, program = start(case)
    witness = witness_of(program.tool)
    assert b"gputrack" not in pathlib.Path(f"/proc/{witness}/cmdline").read_bytes()
    links = [os.readlink(f"/proc/{witness}/fd/{fd}") for fd in os.listdir(f"/proc/{witness}/fd")]
    assert len(links) == 2 and sorted(link.partition(":")[0] for link in links) == ["anon_inode", "pipe"], links
    # it ends with gputrack, even if that is killed
    os.kill(program.tool, signal.SIGKILL)
    process.wait(60)
    while pathlib.Path(f"/proc/{witness}").exists() and \
            pathlib.Path(f"/proc/{witness}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        pass
    os.kill(program.pid, signal.SIGKILL)
    process.communicate(timeout=60)


# In a terminal.

class Terminal:
    """gputrack in the foreground of a new terminal; the program prints into a pipe."""

    def __init__(self, case, *around):
        out, into = os.pipe()
        self.pid, self.master = pty.fork()
        if not self.pid:
            os.dup2(into, 1)
            os.chdir(case.folder)
            os.environ["GPUTRACK_CONFIG"] = ""
            command = [*around, str(case.build / "gputrack"), "run", "-q", "-o", "t.gt",
                       case.program("count_signals")]
            os.execvp(command[0], command)
        os.close(into)
        self.program = Program(os.fdopen(out, "rb"))

    def end(self):
        os.kill(self.program.pid, signal.SIGKILL)
        os.close(self.master)
        return os.waitpid(self.pid, 0)[1]


def test_what_is_typed_arrives_once(case):
    for around in ((), ("sh", "-c", "trap : INT QUIT; \"$@\"; exit $?", "sh")):
        terminal = Terminal(case, *around)
        for key, name in ((b"\x03", "INT"), (b"\x1c", "QUIT")):
            send_many(terminal.program, lambda number, key=key: os.write(terminal.master, key), [name])
        for i in range(TIMES):
            fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30 + i, 80, 0, 0))
            counts = terminal.program.counts()
            assert counts == {"WINCH": 1}, counts
        terminal.end()


def test_a_hangup_arrives_once(case):
    for i in range(TIMES):
        terminal = Terminal(case)
        os.close(terminal.master)
        assert terminal.program.counts()["HUP"] == 1
        os.kill(terminal.program.pid, signal.SIGKILL)
        os.waitpid(terminal.pid, 0)


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_can_be_stopped_and_continued_in_a_terminal(case):
    """As a shell with job control does: Ctrl-Z stops the group, fg continues it."""
    terminal = Terminal(case, "sh", "-m", "-c", "\"$@\"; kill -STOP $$; fg >/dev/null; exit $?", "sh")
    program = terminal.program
    os.write(terminal.master, b"\x1a")
    while state_of(program.pid) != "T" or state_of(program.tool) != "T":
        pass
    while state_of(terminal.pid) != "T":  # the shell noticed
        pass
    os.kill(terminal.pid, signal.SIGCONT)
    while state_of(program.pid) == "T" or state_of(program.tool) == "T":
        pass
    assert program.counts() == {"CONT": 1}
    os.write(terminal.master, b"\x03")
    assert program.counts() == {"INT": 1}
    terminal.end()
