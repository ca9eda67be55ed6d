# SPDX-License-Identifier: MIT
"""test_files.py - what happens to the files of a recording while it is written: the program must not
notice.
"""
import os
import pathlib
import shutil
import signal
import time

import harness
from failing_disk import FailingDisk
from harness import SmallDisk
from test_attach import need_root


class Paused:
    """A recorded program that has made some calls, and makes as many again when told to."""

    def __init__(self, case, *options, folder="r.gt", prefix=(), threads="1"):
        self.folder = case.path(folder)
        self.process = case.start(*prefix, case.build / "gputrack", "run", "-o", self.folder,
                                  *options, case.program("ze_steps"), "--pause", "5000", "--calls",
                                  "10000", "--threads", threads, env=case.levelzero())
        for _ in range(int(threads)):
            line = self.process.stdout.readline()
            assert line == b"paused\n", (line, self.process.stderr.read())

    def trace(self):
        return next(self.folder.glob("[0-9]*.trace"))

    def end(self, status=7, threads=1):
        out, err = self.process.communicate(b"go\n" * threads, timeout=60)
        assert self.process.returncode == status, (self.process.returncode, err)
        assert out == b"done\n", out
        return err.decode()


def notices(err):
    return [line for line in err.splitlines() if line.startswith("gputrack: ")]


def shorten(trace):
    os.truncate(trace, 0)


def shorten_a_little(trace):
    os.truncate(trace, 8192)


def copy_over(trace):
    """A copy that was made when the program began."""
    shutil.copy(trace.parent.parent / "backup", trace)


def write_over(trace):
    trace.write_bytes(b"\xa5" * 100)


def test_a_trace_that_root_shortens_stops_the_recording_only(case):
    """Between calls: see doc/reliability.md for what happens within a millisecond of one."""
    need_root(case)
    for change in (shorten, shorten_a_little, copy_over, write_over):
        for threads in (1, 4):
            run = Paused(case, threads=str(threads))
            # as it was when it had just been made
            case.path("backup").write_bytes(run.trace().read_bytes()[:4096].ljust(73728, b"\0"))
            change(run.trace())
            time.sleep(0.1)
            said = notices(run.end(threads=threads))
            stopped = [line for line in said if "recording stopped" in line]
            assert len(stopped) == 1 and "was shortened or overwritten" in stopped[0], said
            shutil.rmtree(run.folder)


def shortened_children(case, count, *options):
    """Children of a program, each of which loses its trace to root while it makes calls."""
    need_root(case)
    run = case.gputrack("run", "-q", "-o", "r.gt", case.program("ze_bus"), "--children", count,
                        "--recording", case.path("r.gt"), *options, env=case.levelzero())
    assert (run.status, run.out) == (
        0, f"{count} children: 0 ended by a signal, 0 failed\n"), (run.status, run.out, run.err[-2000:])
    stopped = [line for line in notices(run.err) if "was shortened or overwritten" in line]
    assert len(stopped) == count and len(notices(run.err)) == count, run.err[-2000:]
    shutil.rmtree(case.path("r.gt"))


def test_a_trace_that_root_shortens_during_a_call(case):
    """A store to it fails, and is repeated where it does no harm."""
    count = 1000 if os.environ.get("GPUTRACK_TEST_LONG") else 60
    shortened_children(case, count)
    shortened_children(case, count, "--threads", 4)
    # a handler that the program installed later passes on what it does not know
    shortened_children(case, count, "--handler", "chain")


def test_a_trace_that_root_shortens_between_calls_of_a_program_that_handles_sigbus(case):
    """Its handler is not called: the length of the trace is looked at before it is written to."""
    for what, count in ("own", 5), ("block", 5), ("replace", 1):
        shortened_children(case, count, "--pause", what)


@harness.also_on("intel", is_long=True)
def test_sigbus_ends_a_program_as_it_would_without_us(case):
    for ending in ("fault", "thread", "kill", "queue"):
        bare = case.run(case.program("ze_bus"), "--end", ending, env=case.levelzero())
        assert bare.status == -signal.SIGBUS, (ending, bare.status, bare.err)
        run = case.gputrack("run", "-q", "-o", "r.gt", case.program("ze_bus"), "--end", ending,
                            env=case.levelzero())
        assert (run.status, run.out, run.err) == (bare.status, bare.out, bare.err), (
            ending, run.status, run.err)
        assert case.report("r.gt", "summary")["recording"]["signal"] == signal.SIGBUS


def test_a_store_that_the_disk_refuses_stops_the_recording_only(case):
    """The trace is as long as before; there is no space where it used to have some."""
    with SmallDisk(case, "4m") as disk:
        run = Paused(case, folder=f"{disk}/r.gt")
        size = run.trace().stat().st_size
        done = case.run("fallocate", "--punch-hole", "--offset", "4096", "--length", size - 4096,
                        run.trace())
        assert done.status == 0, done.err
        case.run("dd", "if=/dev/zero", f"of={disk}/filler", "bs=4k")
        said = [line for line in notices(run.end()) if "recording stopped" in line]
        assert len(said) == 1 and "Input/output error" in said[0], said


def test_a_disk_that_fails_stops_the_recording_only(case):
    """Its reads end with an I/O error, those of the trace's own pages included."""
    with FailingDisk(case) as disk:
        env = case.levelzero(ZE_ENABLE_VALIDATION_LAYER="1",
                             LD_LIBRARY_PATH=str(case.build / "levelzero"),
                             GPUTRACK_RECORDING=str(disk.folder / "r.gt"))
        program = case.start(case.program("ze_steps"), "--pause", "5000", "--calls", "10000", env=env)
        assert program.stdout.readline() == b"paused\n"
        disk.fail()
        out, err = program.communicate(b"go\n", timeout=60)
        assert (program.returncode, out) == (7, b"done\n"), (program.returncode, out, err)
        said = notices(err.decode())
        assert len(said) == 1 and "recording stopped: Input/output error" in said[0], said


@harness.also_on("intel", is_long=True)
def test_a_shortened_trace_does_not_end_forked_children(case):
    """They leave their parent's trace as it is, and begin their own."""
    need_root(case)
    run = case.start(case.build / "gputrack", "run", "-o", "r.gt", case.program("ze_steps"),
                     "--pause", "100", "--fork", "1", env=case.levelzero())
    assert run.stdout.readline() == b"paused\n"
    os.truncate(next(case.path("r.gt").glob("[0-9]*.trace")), 0)
    time.sleep(0.1)
    out, err = run.communicate(b"go\n", timeout=60)
    # the child's thread is its last, so it ends with 0
    assert run.returncode == 0 and out == b"", (run.returncode, out, err)
    assert case.report("r.gt", "summary")["recording"]["events"] == 100


def test_other_users_cannot_shorten_a_trace_while_it_is_written(case):
    """Not even its owner can by accident; afterwards, it is a file like others."""
    need_root(case)
    if not case.is_public():
        case.skip("other users cannot enter the build folder")
    os.chmod(case.folder, 0o777)
    for path in (case.folder, *case.folder.parents):
        if not path.stat().st_mode & 1:
            case.skip(f"other users cannot enter {path}")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    run = Paused(case, prefix=nobody)
    trace = run.trace()
    assert trace.stat().st_mode & 0o777 == 0o400
    for command in (("truncate", "-s", "0", trace), ("cp", "/bin/true", trace),
                    ("sh", "-c", f">{trace}")):
        done = case.run(*nobody, *command)
        assert done.status and "denied" in done.err, (command, done.err)
    assert not notices(run.end())
    assert trace.stat().st_mode & 0o777 == 0o600
    assert case.report("r.gt", "summary")["recording"]["events"] == 10001
    # one that was killed does not restore it itself
    run = Paused(case, prefix=nobody, folder="killed.gt")
    os.kill(int(run.trace().stem), signal.SIGKILL)
    run.process.communicate(timeout=60)
    assert run.process.returncode == -signal.SIGKILL
    assert run.trace().stat().st_mode & 0o777 == 0o600
    assert case.report("killed.gt", "summary")["recording"]["events"] == 5001


def test_the_count_of_space_may_be_shortened_overwritten_or_removed(case):
    def overwrite(room):
        room.write_bytes(b"\xa5" * 1000)
    for change in (lambda room: os.truncate(room, 0), overwrite, pathlib.Path.unlink,
                   lambda room: shutil.copy("/bin/true", room)):
        run = Paused(case, "--max-size", "10M")
        change(run.folder / "room")
        assert not notices(run.end())
        summary = case.report("r.gt", "summary")
        assert summary["recording"]["events"] == 10001 and summary["lost"] == 0, summary
        shutil.rmtree(run.folder)


def test_a_recording_that_is_removed_leaves_the_program_its_status(case):
    run = Paused(case)
    shutil.rmtree(run.folder)
    said = notices(run.end())
    assert len(said) == 1 and "was removed" in said[0], said
    run = Paused(case)
    for path in run.folder.iterdir():
        path.unlink()
    said = notices(run.end())
    assert len(said) <= 1, said


def test_a_recording_that_is_renamed_is_complete(case):
    run = Paused(case)
    run.folder.rename(case.path("moved.gt"))
    assert not notices(run.end())
    assert case.report("moved.gt", "summary")["recording"]["events"] == 10001


def test_a_disk_that_is_unmounted_or_made_read_only_is_not_noticed(case):
    with SmallDisk(case, "10m") as disk:
        run = Paused(case, folder=f"{disk}/r.gt")
        # refused as long as the trace is open
        case.run("mount", "-o", "remount,ro", disk)
        case.run("umount", "-l", disk)
        err = run.end()
        assert len(notices(err)) <= 1, err
