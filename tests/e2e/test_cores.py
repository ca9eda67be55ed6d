# SPDX-License-Identifier: MIT
"""test_cores.py - a recording says the same on one core, where one thread reads it, and on several."""
import os
import shutil

EVENTS = "40000"  # another thread reads ahead only where there are many
VIEWS = [("report", "{}", "--fail-on-leak", "--no-symbols"), ("report", "{}", "-a", "usage", "--format", "tsv"),
         ("export", "{}")]


def one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def check(case, name):
    for view in VIEWS:
        words = [word.format(name) for word in view]
        several = case.run(case.build / "gputrack", *words)
        one = case.run(case.build / "gputrack", *words, preexec=one_core)
        assert several.status in (0, 23, 25), several.err
        assert (several.status, several.out, several.err) == (one.status, one.out, one.err), words


def make(case, shape):
    made = case.run(case.build / "bench" / "make_events", f"{shape}.gt", EVENTS, shape)
    assert made.status == 0, made.err
    return f"{shape}.gt"


def test_one_core_says_what_several_say(case):
    for shape in "balanced", "alive", "reused":
        check(case, make(case, shape))


def test_damaged_recordings_read_alike(case):
    whole = make(case, "balanced")
    trace = next(file for file in os.listdir(case.path(whole)) if file.endswith(".trace"))
    size = os.path.getsize(case.path(whole) / trace)
    for name, change in (("cut", lambda file: file.truncate(size * 2 // 3)),
                         ("bytes", lambda file: (file.seek(size // 2), file.write(b"\xff" * 100))),
                         ("hole", lambda file: (file.seek(size // 3), file.write(bytes(100000))))):
        shutil.copytree(case.path(whole), case.path(f"{name}.gt"))
        with open(case.path(f"{name}.gt") / trace, "r+b") as file:
            change(file)
        check(case, f"{name}.gt")


def test_processes_of_several_recordings_read_alike(case):
    first, second = make(case, "balanced"), make(case, "alive")
    for file in os.listdir(case.path(second)):
        if file.endswith(".trace"):
            shutil.copy(case.path(second) / file, case.path(first) / file)
    check(case, first)
