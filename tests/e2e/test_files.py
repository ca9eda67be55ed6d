# SPDX-License-Identifier: MIT
"""test_files.py - what happens to the files of a recording while it is written: the program must not
notice.
"""
import os
import pathlib
import shutil

from harness import SmallDisk


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
