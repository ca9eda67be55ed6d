# SPDX-License-Identifier: MIT
"""test_residue.py - driver residue: one figure and one word in CSV, log, plot, page and report."""
import pathlib
import re

from browser import Browser
from pages import data_of, opened, page_of
from tracker_csv import read_csv

TOGETHER = True  # one browser

LIMIT = 100  # KB: up to here it may be the driver's caches


def fake(case, residue=None):
    return case.levelzero(**({"GT_FAKE_ZE_RESIDUE": residue} if residue else {}))


def intel(case):
    """Intel's Level Zero driver, which needs no hardware for what only creates and destroys."""
    env = case.intel(ProductFamilyOverride="dg1")
    if case.run(case.program("ze_grow"), "--count", "1", env=env).status == 77:
        case.skip("Intel's Level Zero driver is not installed")
    return env


def measured(case, env, *program, more=True):
    """The program's CSV; the recording is r.gt, the log r.log."""
    run = case.gputrack("run", "-q", "-o", "r.gt", "--csv", "r.csv",
                        *(["--csv-more"] if more else []), "--log", "r.log", *program, env=env)
    assert run.status == 0, run.err
    csv, = case.folder.glob("r_pid*.csv")
    return csv


def grown(case, env, **how):
    """A program that fills 1 MB of its own between each creation and its destruction."""
    return measured(case, env, case.program("ze_grow"), "--count", "20", "--bytes", 1 << 20, **how)


def word_of(text, leak, small, none):
    """Which of the three the text says; it may say only one."""
    found = [word for word, pattern in (("leak", leak), ("small", small), ("none", none))
             if re.search(pattern, text)]
    assert len(found) == 1, (found, text)
    return found[0]


def said(case, csv):
    """{output: (KB, word)} of the five outputs of one run."""
    log = case.path("r.log").read_text()
    log = log[log.rindex("System Use After Call"):]
    total = re.search(r"TOTAL LEAKS: (\d+) KB|no memory leaks: (0) KB", log)
    plot = case.gputrack("plot", csv, "-o", "r.txt")
    assert plot.status == 0, plot.err
    kept = re.search(r"Total leaked memory: [\d.]+ MB \(([\d,]+)\.00 KB\)|"
                     r"detected: ([\d,]+) KB left behind", plot.out)
    assert kept, plot.out
    page = data_of(page_of(case, "r.gt"))
    tracker = page["metrics"][0]["tracker"]
    report, text = case.report("r.gt", "summary"), case.gputrack("report", "r.gt").out
    assert page["residue"] == report["residue"]
    rows = read_csv(csv)
    last = rows[-1]["Residue_KB"]
    assert all(row["Residue_KB"] >= 0 for row in rows)
    return {
        "csv": (last, "leak" if last > LIMIT else "small" if last else "none"),
        "log": (int(total.group(1) or total.group(2)), word_of(
            log, r"\[error\]", "they may be the driver's caches", "no memory leaks: 0 KB")),
        "plot": (int((kept.group(1) or kept.group(2)).replace(",", "")), word_of(
            plot.out, "LEAKS DETECTED", "they may be its caches", "detected: 0 KB")),
        "page": (tracker["residue_kb"], "leak" if tracker["leak_kb"] else
                 "small" if tracker["residue_kb"] else "none"),
        "report": (report["residue"]["kb"], "none" if "RESIDUE" not in text else word_of(
            text, r"pass\s+--fail-on-leak=residue", "it may be the driver's caches",
            r"once,\s+on\s+first\s+use,\s+and\s+no\s+more"))}


def check_all(case, csv, kb):
    outputs = said(case, csv)
    word = "leak" if kb > LIMIT else "small" if kb else "none"
    assert outputs == {output: (kb, word) for output in outputs}, outputs


def test_the_programs_own_growth_is_nobodys_leak(case):
    csv = grown(case, fake(case))
    assert sum(row["Delta_VmRSS_KB"] > 1000 for row in read_csv(csv)) > 20  # the growth is there
    check_all(case, csv, 0)
    words = case.path("r.txt").read_text()
    assert "(alarm)" not in words and words.count("No memory leaks detected") == 2, words


def test_what_the_driver_keeps_is_found_beside_it(case):
    """At a creation, at a destruction, mapped or from malloc, above the limit and below it; not if
    it happens once. The fourth handle shows that it goes on."""
    for residue, kb in (("zeMemFree:64", 1280), ("zeMemAllocDevice:64", 1280),
                        ("zeMemFree:8m", 160), ("zeMemAllocDevice:4", 80), ("zeMemFree:4m", 80),
                        ("zeMemFree:100@7", 0), ("zeContextDestroy:12@1", 0)):
        csv = grown(case, fake(case, residue))
        check_all(case, csv, kb)
        rows = [row["Residue_KB"] for row in read_csv(csv)]
        assert sorted(rows) == rows and len(set(rows)) == (18 if kb else 1), rows
        assert case.path("r.txt").read_text().count("(alarm)") == (3 if kb > LIMIT else 0)
        for path in [csv, *case.folder.glob("r.log")]:
            path.unlink()


def test_a_real_driver_beside_a_program_that_grows(case):
    """Intel's keeps a few KB once, and nothing with each handle: the same in every output."""
    csv = grown(case, intel(case))
    kb = read_csv(csv)[-1]["Residue_KB"]
    assert kb == 0
    check_all(case, csv, kb)
    assert "(alarm)" not in case.path("r.txt").read_text()


def test_clean_programs_on_a_real_driver(case):
    """What Intel's driver keeps of any kind it keeps once, whoever frees how much to malloc: a
    module that is compiled leaves 13 MB there at the first time, and 35 MB at the tenth."""
    env = intel(case)
    for kind, count in (("module", 12), ("list", 100), ("immediate", 100), ("queue", 100),
                        ("pool", 100), ("image", 100), ("device", 100), ("shared", 100)):
        measured(case, env, case.program("ze_cycles"), kind, count, more=False)
        log, found = case.path("r.log").read_text(), case.report("r.gt", "summary")["residue"]
        assert "MEMORY LEAK DETECTED" not in log and "no memory leaks: 0 KB" in log, kind
        assert found["kb"] == 0 and found["once"]["kb"] < 300, (kind, found)
        done = case.gputrack("report", "r.gt", "--fail-on-leak=any,residue>0KiB")
        assert done.status == 0, (kind, done.err)
        for path in case.folder.glob("r[._]*[gv]"):
            path.unlink()


def test_a_csv_without_the_column_accuses_nobody(case):
    """Growth and residue look the same there: the plot says so, and the recording knows better."""
    for residue, kb in ((None, 0), ("zeMemFree:64", 1280)):
        csv = grown(case, fake(case, residue), more=False)
        plot = case.gputrack("plot", csv, "-o", "r.txt")
        assert "Cannot be told from this CSV" in plot.out and "--csv-more" in plot.out, plot.out
        words = case.path("r.txt").read_text()
        assert words.count("Cannot be told from this CSV") == 3 and "(alarm)" not in words
        for text in ("LEAKS DETECTED", "No memory leaks", "leaked"):
            assert text not in plot.out + words.replace("Total leaked (MB)", ""), text
        alone = data_of(page_of(case, csv.name))["tracker"]
        assert (alone["basis"], alone["residue_kb"], alone["leak_kb"], alone["rises"]) == \
            ("none", None, 0, 22), alone
        one = data_of(page_of(case, "r.gt"))["metrics"][0]["tracker"]
        assert (one["basis"], one["residue_kb"], one["leak_kb"], one["rises"]) == \
            ("residue", kb, kb if kb > LIMIT else 0, 0), one
        csv.unlink()


def test_threads_and_the_last_row(case):
    """Rows of several threads: the last one has the figure of the log."""
    csv = measured(case, fake(case, "zeEventDestroy:8"), case.program("ze_threads"),
                   "--threads", "4", "--rounds", "50")
    total = re.search(r"TOTAL LEAKS: (\d+) KB|no memory leaks: (0) KB",
                      case.path("r.log").read_text())
    assert read_csv(csv)[-1]["Residue_KB"] == int(total.group(1) or total.group(2))


def test_a_child_begins_at_zero(case):
    run = case.gputrack("run", "-q", "-o", "r.gt", "--log", "r.log",
                        case.program("ze_foreign"), "--mode", "chain",
                        env=fake(case, "zeContextDestroy:64"))
    assert run.status == 0, run.err
    once = re.findall(r"kept by the driver once, on first use: (.*)",
                      case.path("r.log").read_text())
    assert once == ["64 KB, Context 64"] * 3, once
    assert case.report("r.gt", "summary")["residue"]["once"]["kb"] == 192


def kept(case, env, residue, count=50):
    """(KB kept by each handle, KB kept once) of a program that makes `count` blocks."""
    measured(case, dict(env, **fake(case, residue)), case.program("ze_grow"), "--count", count,
             "--bytes", "16", more=False)
    found = case.report("r.gt", "summary")["residue"]
    assert found["kb"] > 0 or "MEMORY LEAK DETECTED" not in case.path("r.log").read_text()
    for path in case.folder.glob("r[._]*[gv]"):
        path.unlink()
    return found["kb"], found["once"]["kb"]


def test_memory_that_malloc_holds_free_is_not_kept(case):
    """50 holes of 64 KB in malloc's memory: the process grows by 3 MB, and the driver kept none of
    it. 4 KB of each handle are found within 50, wherever they come from."""
    for library in ("", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        if library and not list(pathlib.Path("/usr/lib").glob(f"*/{library}")):
            continue
        env = {"LD_PRELOAD": library}
        kb, once = kept(case, env, "zeMemFree:64f")
        assert kb == 0 and once < 100, (library, kb, once)
        assert kept(case, env, "zeMemFree:4") == (200, 0), library
        kb, once = kept(case, env, "zeMemFree:4m")
        assert LIMIT < kb <= 200, (library, kb, once)


def test_holes_are_found_again_after_a_while(case):
    """Long after the start nothing is asked of malloc until the process grows; then it is."""
    assert kept(case, {}, ",".join(f"zeMemFree:64f@{n}" for n in range(3000, 3025)), 4000)[0] == 0


# In a browser.

def test_the_page_says_what_the_plot_says(case):
    csv = grown(case, fake(case), more=False)
    with Browser(case) as page:
        opened(page, page_of(case, csv.name))
        assert "Cannot be told from this CSV" in page.text(".verdicts")
        assert page.text(".panels").count("Cannot be told from this CSV") == 3
        assert page.js("return document.querySelectorAll('.alarm, .bad').length") == 0
        opened(page, page_of(case, "r.gt"))
        assert page.text("#metrics").count("No memory leaks detected") == 2
        assert "driver residue above 100 KB" in page.text("#metrics .facts")
        csv.unlink()
        csv = grown(case, fake(case, "zeMemFree:64"), more=False)
        opened(page, page_of(case, "r.gt"))
        assert page.text("#metrics").count("1,280 KB left behind by the driver in all") == 3
        csv.unlink()
        grown(case, fake(case, "zeMemFree:64"))
        opened(page, page_of(case, "r.gt"))
        assert "1.25 MB leaked in 17 events" in page.text("#metrics")
        assert page.complaints() == []
