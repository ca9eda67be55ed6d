# SPDX-License-Identifier: MIT
"""test_many_stacks.py - memory of the commands that read a recording of many distinct stacks."""

import os

MOST = 100_000_000  # bytes that a command takes for 200,000 stacks, each of which created a resource that leaked

QUICK = [
    ("report",),
    ("report", "--fail-on-leak", "--baseline", "many.gt"),
    ("diff", "many.gt"),
    ("plot", "-o", "out.svg"),
    ("html", "-o", "out.html"),
]

# Minutes: every stack is written.
LONG = [
    *(("report", "-a", analysis, "-f", form) for analysis in ("leakage", "watermark", "sites") for form in ("tsv", "json")),
    *(("report", "-f", form) for form in ("junit", "sarif", "github")),
    *(("export", "--format", form, "-o", f"out.{form}")
      for form in ("tsv", "csv", "json", "pprof", "collapsed", "speedscope", "chrome", "prometheus")),
    ("diff", "-f", "json", "many.gt"),
    ("suppress",),
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


def test_200_000_distinct_stacks_take_at_most_100_mb(case):
    make(case, "many.gt", "200000", "distinct")
    has_page = case.has_page()
    taken = [(peak_bytes(case, *command, "many.gt"), *command)
             for command in QUICK + (LONG if os.environ.get("GPUTRACK_TEST_LONG") else [])
             if has_page or command[0] != "html"]
    assert not [row for row in taken if row[0] > MOST], sorted(taken)


def test_names_of_leaks_are_not_all_in_memory(case):
    """JUnit gives each leak a name of its own, of a kilobyte here: kept, they would take twice as much."""
    make(case, "few.gt", "1000", "balanced")
    make(case, "many.gt", "20000", "distinct")
    few, many = (peak_bytes(case, "report", "-f", "junit", name) for name in ("few.gt", "many.gt"))
    assert 0 < many - few < 20_000 * 900, many - few


def test_each_stack_is_told_apart(case):
    make(case, "many.gt", "3000", "distinct")
    done = case.gputrack("report", "many.gt", "-a", "sites", "-f", "tsv", "--no-symbols")
    rows = done.out.splitlines()
    assert done.status == 0 and len(rows) == 3001, done.err
    assert len({row.split("\t")[-1] for row in rows[1:]}) == 3000
