# SPDX-License-Identifier: MIT
"""test_fates.py - what was not released: one rule, the same figures and words in every form."""
import csv
import io
import json
import os
import re
import signal

from browser import Browser
from pages import data_of, opened, page_of, recordings
from test_exports import export, read_profile, read_prometheus

TOGETHER = True  # one browser

WORDS = {"leaked": "LEAKED", "perhaps": "PERHAPS LEAKED", "killed": "ALIVE WHEN KILLED",
         "alive": "ALIVE"}
PHRASES = {"leaked": "leaked", "perhaps": "perhaps leaked", "killed": "alive when killed",
           "alive": "alive"}

# One process ends by itself, one is killed, one runs on when its recording is read.
SCRIPT = """
{leaky} >/dev/null
{killed} --calls 50 --how kill9 >/dev/null
{killed} --calls 20 --how stay --log stay.log >/dev/null 2>&1 &
echo $! >stay.pid
until [ "$(wc -l <stay.log 2>/dev/null || echo 0)" -ge 20 ]; do sleep 0.02; done
"""


class Recorded:
    """a.gt, a recording with several fates; the program that stays is killed at the end."""

    def __init__(self, case):
        self.case = case

    def __enter__(self):
        script = SCRIPT.format(leaky=self.case.program("leaky"), killed=self.case.program("killed"))
        done = self.case.gputrack("run", "-q", "-o", "a.gt", "sh", "-c", script,
                                  env=self.case.pocl())
        assert done.status == 0, done.err

    def __exit__(self, *what):
        os.kill(int(self.case.path("stay.pid").read_text()), signal.SIGKILL)


def fates_of(case):
    """{fate: (count, bytes)}, without fates that nothing has, by the report's JSON."""
    fates = case.report("a.gt", "leakage")["fates"]
    return {fate: (sums["count"], sums["bytes"]) for fate, sums in fates.items() if sums["count"]}


def add(sums, fate, count, size):
    before = sums.get(fate, (0, 0))
    sums[fate] = before[0] + count, before[1] + size


def by_tsv(case):
    text = case.gputrack("report", "a.gt", "-a", "leakage", "--format", "tsv").out
    sums = {}
    for row in csv.DictReader(io.StringIO(text), delimiter="\t"):
        add(sums, row["fate"], 1, int(row["bytes"]))
    return sums


def by_prometheus(case):
    samples = read_prometheus(export(case, "prometheus").read_text())
    sums, leaked = {}, [0, 0]
    for (name, labels), value in samples.items():
        if name.startswith("gputrack_unreleased_") and value:
            fate = re.search(r'fate="(\w+)"', labels)[1]
            add(sums, fate, *((value, 0) if name.endswith("_resources") else (0, value)))
        elif name.startswith("gputrack_leaked_"):
            leaked[name.endswith("_bytes")] += value
    assert tuple(leaked) == sums.get("leaked", (0, 0))
    return sums


def by_pprof(case):
    samples, _ = read_profile(export(case, "pprof"))
    sums = {}
    for labels, _, values in samples:
        if "fate" in labels:
            add(sums, labels["fate"], *values[2:])
    return sums


def by_chrome(case):
    """Ends say the fate, begins the size."""
    sums, sizes = {}, {}
    for event in json.loads(export(case, "chrome").read_text())["traceEvents"]:
        if event["ph"] not in "be":
            continue
        key = event["pid"], event["cat"], event["id2"]["local"]
        if event["ph"] == "b":
            sizes[key] = event["args"]["bytes"]
        elif "fate" in event.get("args", {}):
            assert event["args"].get("leaked", False) == (event["args"]["fate"] == "leaked")
            add(sums, event["args"]["fate"], 1, sizes[key])
    return sums


def by_page(case):
    everything = data_of(page_of(case, "a.gt"))["sets"][0]
    sums = {}
    for leak in everything["leaks"]:
        add(sums, leak["fate"], leak["count"], leak["bytes"])
    assert sums == {key: (fate["count"], fate["device"] + fate["host"])
                    for key, fate in everything["fates"].items() if fate["count"]}
    assert {key: fate["word"] for key, fate in everything["fates"].items()} == WORDS
    assert everything["leaked"] == sums.get("leaked", (0, 0))[0]
    assert everything["unreleased"] == sum(count for count, _ in sums.values())
    assert all(bool(fate["why"]) == (key != "leaked" and fate["count"] > 0)
               for key, fate in everything["fates"].items())
    return sums


def by_plot(case):
    """The line that plot prints has counts; sizes are rounded there."""
    done = case.gputrack("plot", "a.gt", "-o", "a.txt")
    assert done.status == 0, done.err
    rest = done.out.splitlines()[0].partition("alive at the end: ")[2]
    found = re.findall(r"(\d[\d,]*) ([a-z ]+) \(", rest)
    return {phrase: int(count.replace(",", "")) for count, phrase in found}


def check_forms(case):
    fates = fates_of(case)
    for form in (by_tsv, by_prometheus, by_pprof, by_chrome, by_page):
        found = form(case)
        assert found == fates, (form.__name__, found, fates)
    assert by_plot(case) == {PHRASES[fate]: count for fate, (count, _) in fates.items()}
    words = case.path("a.txt").read_text()
    assert ("by Call Site (alarm)" in words) == ("leaked" in fates), words[:500]
    leaked = fates.get("leaked", (0, 0))
    alive = sum(size for _, size in fates.values())
    for value, total in (("leaked", leaked[1]), ("objects", leaked[0]), ("alive", alive)):
        lines = export(case, "collapsed", "--value", value).read_text().splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == total, (value, lines)
    profiles = json.loads(export(case, "speedscope").read_text())["profiles"]
    assert {one["name"]: one["endValue"] for one in profiles if one["name"] != "peak"
            and one["name"] != "allocated"} == \
        {"leaked": leaked[1], "objects": leaked[0], "alive": alive}
    text = case.gputrack("report", "a.gt", "-a", "leakage").out
    found = re.findall(r"^([A-Z ]+)  ([\d,]+) resources?\b", text, re.M)
    assert {word: int(count.replace(",", "")) for word, count in found} == \
        {WORDS[fate]: count for fate, (count, _) in fates.items()}, text
    return fates


def test_processes_that_ended_in_different_ways(case):
    with Recorded(case):
        fates = check_forms(case)
        assert set(fates) == {"leaked", "killed", "alive"}, fates
        assert fates["leaked"] == (21, 1 << 20), fates


def test_recordings_with_gaps_and_without(case):
    recordings(case)
    seen = set()
    for name in ("leaks", "family", "attached", "outlived", "lossy", "clean"):
        if case.path("a.gt").exists():
            case.path("a.gt").rename(case.path(f"done-{name}.gt"))
        case.path(f"{name}.gt").rename(case.path("a.gt"))
        seen |= set(check_forms(case))
    assert seen >= {"leaked", "perhaps", "alive"}, seen


# In a browser.

def test_the_page_has_a_card_and_a_word_for_each_fate(case):
    with Recorded(case):
        fates = fates_of(case)
        path = page_of(case, "a.gt")
    with Browser(case) as page:
        opened(page, path)
        cards = page.texts(".verdict")
        for fate, (count, _) in fates.items():
            assert any(f"{count} {PHRASES[fate]}" in card for card in cards), cards
        assert page.js("return document.querySelectorAll('.verdict.bad').length") == 1
        notes = page.texts("#leaks p.fate")
        assert len(notes) == 2 and any(note.startswith("ALIVE ") for note in notes), notes
        assert {row for row in page.texts("#leaks tbody td:nth-child(3)")} >= \
            {PHRASES[fate] for fate in fates}
        assert page.texts("#flame .segmented button")[:2] == ["Leaked", "Not released"]
        assert page.complaints() == []


def test_a_page_without_leaks_does_not_speak_of_them(case):
    recordings(case)
    with Browser(case) as page:
        opened(page, page_of(case, "attached.gt"))
        assert "leaked" not in page.text("main").lower(), page.text("main")
        assert page.js("return document.querySelectorAll('.bad').length") == 0
        assert page.complaints() == []
