# SPDX-License-Identifier: MIT
"""test_many_stacks.py - memory of the commands that read a recording of many distinct stacks."""

STACKS = 20_000
REPORT = 680  # bytes for each stack whose only resource leaked, with all that a command keeps of it
PEAK = 540  # the same at the peak, without what is alive at the end
JUDGED = 720  # with the words by which another recording recognises it

COMMANDS = [
    (REPORT, "report"),
    (REPORT, "report", "-a", "leakage", "-f", "tsv"),
    (PEAK, "report", "-a", "watermark", "-f", "tsv"),
    (REPORT, "report", "-a", "sites", "-f", "tsv"),
    (JUDGED, "report", "--fail-on-leak"),
    (JUDGED, "diff", "few.gt"),
    (REPORT, "export", "--format", "collapsed"),
]


def make(case, name, *how):
    made = case.run(case.build / "bench" / "make_events", name, *how)
    assert made.status == 0, made.err


def peak_bytes(case, *command):
    """The most memory that the command had; `measure` is small, so it is not counted instead."""
    times = case.path("times")
    times.unlink(missing_ok=True)
    done = case.run(case.build / "bench" / "measure", times, case.build / "gputrack", *command)
    assert done.status in (0, 23), (command, done.err)
    return int(times.read_text().split("\t")[2]) * 1024


def test_memory_grows_little_with_distinct_stacks(case):
    make(case, "few.gt", "1000", "balanced")
    make(case, "many.gt", str(STACKS), "distinct")
    for limit, *command in COMMANDS:
        base = peak_bytes(case, *command, "few.gt")
        each = (peak_bytes(case, *command, "many.gt") - base) / STACKS
        assert 0 < each < limit, (command, each)


def test_each_stack_is_told_apart(case):
    make(case, "many.gt", "3000", "distinct")
    done = case.gputrack("report", "many.gt", "-a", "sites", "-f", "tsv", "--no-symbols")
    rows = done.out.splitlines()
    assert done.status == 0 and len(rows) == 3001, done.err
    assert len({row.split("\t")[-1] for row in rows[1:]}) == 3000
