# SPDX-License-Identifier: MIT
"""test_top.py - gputrack top in a new terminal: its screen, its keys, and what it leaves behind."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

ALONE = True
PATIENCE_S = 60


class Terminal:
    """A private tmux session."""

    def __init__(self, case, command, columns=80, rows=24, env=None):
        self.socket = f"gputrack-test-{os.getpid()}-{id(self)}"
        words = " ".join(f"{key}={value}" for key, value in (env or {}).items())
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-s",
                  "t", "-c", str(case.folder), f"env LC_ALL=C.UTF-8 TZ=UTC {words} sh -c '{command}'")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-L", self.socket, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "t")

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def wait(self, pattern):
        """Waits for this text and returns the screen."""
        end = time.time() + PATIENCE_S
        while time.time() < end:
            screen = self.screen()
            if re.search(pattern, screen, re.M):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} within {PATIENCE_S} s on\n{screen}")

    def close(self):
        self.tmux("kill-server")


def need_a_screen(case):
    if not shutil.which("tmux"):
        case.skip("tmux is not installed")
    if os.geteuid() != 0:
        case.skip("attaching needs root")
    if "top" not in case.gputrack("--help").out:
        case.skip("built without the live screen")


def stress_command(case):
    return [case.build / "gputrack", "stress", "--api", "opencl", "--throughput", "60", "--free-ratio", "0.5",
            "--allocate-size", "1048576"]


class Stressed:
    """A program that allocates 40 times a second and frees every second block."""

    def __init__(self, case):
        need_a_screen(case)
        self.process = case.start(*stress_command(case), env=case.pocl())
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def start_top(case, pid, *more, before=""):
    """Runs top between two readings of the terminal's settings."""
    tool = case.build / "gputrack"
    probe = case.gputrack("attach", "-p", str(pid), "--duration", "0.1", "-q", "-o", "probe.gt")
    if probe.status:
        case.skip(f"cannot attach here: {probe.err.strip()}")
    return Terminal(case, f"trap : INT; echo before; stty -g >stty.before; {before} {tool} top -p {pid} "
                          f"--interval 0.2 {' '.join(more)}; echo status $?; stty -g >stty.after; "
                          f"sleep 1000")


def test_top_shows_a_process_and_its_sites_and_leaves_no_files(case):
    with Stressed(case) as stressed:
        terminal = start_top(case, stressed.pid)
        try:
            screen = terminal.wait(rf"^ +{stressed.pid}  gputrack +\S.* [\d.,]+ MiB")
            assert f"process {stressed.pid}" in screen.splitlines()[0]
            assert "LIVE▼" in screen and "HISTORY" in screen
            terminal.wait("[▁▂▃▄▅▆▇█]$")  # its past, at the right end
            # sorted by another column, and the other way round
            terminal.keys("s")
            terminal.wait("RESOURCES▼")
            terminal.keys("r")
            terminal.wait("RESOURCES▲")
            # a filter that fits nothing, and its end
            terminal.keys("/")
            terminal.keys("x", "y", "z")
            terminal.wait("filter: xyz")
            terminal.wait("nothing matches the filter")
            terminal.keys("Escape")
            terminal.wait(rf"^ +{stressed.pid}  gputrack")
            # its call sites, with the stack below
            terminal.keys("Enter")
            terminal.wait("buffers of")
            screen = terminal.wait(r"MiB +[\d,]+ +\S+( MiB)? +[\d.]+  opencl_allocate")
            assert "stress_devices.c:" in screen and "make_event" in screen, screen
            # as wide as the terminal is, whenever that changes
            terminal.resize(150, 40)
            screen = terminal.wait("KIND +WHERE")
            assert len(screen.splitlines()[0].rstrip()) > 140, screen
            terminal.resize(40, 10)
            screen = terminal.wait("LIVE▼")
            assert all(len(line) <= 40 for line in screen.splitlines())
            terminal.resize(80, 24)
            terminal.keys("q")
            screen = terminal.wait("status 0")
            assert "before" in screen and "LIVE" not in screen, screen
            assert stressed.process.poll() is None
        finally:
            terminal.close()
        assert case.path("stty.before").read_text() == case.path("stty.after").read_text()


def test_top_names_the_users_own_line(case):
    """As reports do: what is a library's stands behind it."""
    with Stressed(case) as stressed:
        terminal = start_top(case, stressed.pid, "--library", "'^opencl_'")
        try:
            terminal.wait(rf"^ +{stressed.pid}  gputrack")
            terminal.resize(160, 30)
            terminal.keys("2")
            terminal.wait(r"  allocate \S*worker\.c:\d+ via opencl_allocate( < |$)")
            terminal.keys("/")
            terminal.keys(*"via opencl")
            terminal.wait(r"  allocate \S*worker\.c:\d+ via opencl_allocate")
        finally:
            terminal.close()


def test_top_groups_by_thread_and_process(case):
    """Whatever their stacks: a row for each, also where there are none."""
    with Stressed(case) as stressed:
        for row, *options in ((rf"thread \d+ of gputrack, pid {stressed.pid}", "--by", "thread"),
                              (rf"gputrack, pid {stressed.pid}", "--by", "process", "--no-stacks")):
            terminal = start_top(case, stressed.pid, *options)
            try:
                terminal.wait(rf"^ +{stressed.pid}  gputrack")
                terminal.resize(160, 30)
                terminal.keys("2")
                screen = terminal.wait(rf"MiB .*buffer +{row}")
                assert len(re.findall(rf"buffer +{row}", screen)) == 1, screen
            finally:
                terminal.close()


def test_top_lists_gpus_and_instances(case):
    """As the driver's library has them: here a divided GPU and a whole one."""
    need_a_screen(case)
    cuda = pathlib.Path(case.program("libcuda.so.1")).parent
    env = {"LD_LIBRARY_PATH": f"{cuda}:{case.build / 'tests/fake/gpu_memory'}", "FAKE_NVML_MIG": "2",
           "FAKE_NVML_SHARE": str(case.path("share"))}
    target = case.start(case.program("attach_target"), cuda / "libcuda.so.1", env=env)
    try:
        target.stdout.readline()
        terminal = start_top(case, target.pid, before=" ".join(f"{k}={v}" for k, v in env.items()))
        try:
            terminal.resize(150, 30)
            terminal.wait(f"top  process {target.pid} ")
            target.stdin.write(b"a 50000000\n")
            target.stdin.flush()
            # what NVML says of it: 100 MiB more, in an instance of 4 GiB
            terminal.wait(rf"^ +{target.pid} .* att\S+ .* 47.7 MiB +47.7 MiB +0:7 +148 MiB +4 % ")
            terminal.keys("4")
            screen = terminal.wait(r"^ 0:7 +Stand-in GPU MIG 1g.4gb +57.7 MiB +4.00 GiB +1 % +1$")
            assert re.search(r"^ 0:8 +Stand-in GPU MIG 1g.4gb +10.0 MiB +4.00 GiB +0 % +1$", screen, re.M), screen
            assert re.search(r"^ 1 +Stand-in GPU +412 MiB +16.0 GiB +3 % +17 % +0$", screen, re.M), screen
        finally:
            terminal.close()
    finally:
        target.kill()
        target.communicate()


def test_top_shows_ended_processes_and_ends_cleanly_on_a_signal(case):
    with Stressed(case) as stressed:
        terminal = start_top(case, stressed.pid)
        try:
            terminal.wait(rf"^ +{stressed.pid}  gputrack +\S.* [\d.,]+ MiB")
            stressed.process.send_signal(signal.SIGKILL)
            stressed.process.wait()
            terminal.wait(rf"^ +{stressed.pid}  gputrack .*ended")
            terminal.keys("C-c")
            terminal.wait("status 0")
        finally:
            terminal.close()
        assert case.path("stty.before").read_text() == case.path("stty.after").read_text()


def test_without_a_terminal_top_suggests_attach(case):
    if "top" not in case.gputrack("--help").out:
        case.skip("built without the live screen")
    done = case.gputrack("top")
    assert done.status == 1 and len(done.err.splitlines()) == 1 and done.out == "", done.err
    assert "attach --interval" in done.err, done.err
    for words in (["-p", "x"], ["--interval", "0"], ["--interval", "x"], ["operand"]):
        done = case.gputrack("top", *words)
        assert done.status == 2 and "top --help" in done.err, done.err


def test_an_unsuitable_terminal_is_reported_in_one_line(case):
    need_a_screen(case)
    for name in ("dumb", "no-such-terminal"):
        terminal = Terminal(case, f'"{case.build / "gputrack"}" top -p $$; echo "status $?"; sleep 60',
                            columns=200, env={"TERM": name})
        try:
            screen = terminal.wait("^status ")
            assert "status 1" in screen and f"terminal type '{name}'" in screen, screen
            assert "gputrack attach" in screen and "all processes" not in screen, screen
        finally:
            terminal.close()
