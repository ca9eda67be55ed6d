# SPDX-License-Identifier: MIT
"""test_html_answers.py - what the page answers in a browser is what `gputrack report` answers.

Recordings of no, one, 33 and a million events (GPUTRACK_TEST_LONG=1: of ten million, too), of 32
processes, of three APIs, and of hostile names; every question is asked of both.
"""
import collections
import csv
import io
import os
import pathlib
import random
import sys
import xml.etree.ElementTree

import test_pools
from browser import Browser
from nsys_export import BACKTRACE, Export
from pages import Lives, data_of, opened, page_of, recordings
from test_html_choices import seconds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pictures  # noqa: E402

TOGETHER = True  # one browser
LONG = bool(os.environ.get("GPUTRACK_TEST_LONG"))
PARTS = (("Left behind", "count", "bytes"), ("Allocated", "allocated", "allocated_bytes"),
         ("Freed", "freed", "freed_bytes"))


def made(case, name, events, shape="balanced"):
    done = case.run(case.build / "bench" / "make_events", name, str(events), shape)
    assert done.status == 0, done.err
    return name


def imported(case, name, events):
    """A recording of so many events: allocations, and frees of every third."""
    export, alive = Export(), []
    for i in range(events):
        if i % 3 == 2:
            export.free(1000 * i, *alive.pop(0))
            continue
        export.call(1000 * i - 5, 1000 * i + 5, i + 1, "cudaMalloc", BACKTRACE,
                    stack=[(f"make{i % 4}", "/app/a"), ("main", "/app/a")])
        alive.append((0x1000000 + 0x1000 * i, 16 + i))
        export.alloc(1000 * i, *alive[-1], correlation=i + 1)
    done = case.gputrack("import", "-q", export.save(case.path(name + ".sqlite")), "-o", name)
    assert done.status == 0, done.err
    return name


def processes(case, name, count):
    """A recording of so many processes."""
    case.path(name).mkdir()
    for i in range(count):
        made(case, f"{i}.gt", 40 + i)
        for trace in case.path(f"{i}.gt").glob("*.trace"):
            trace.rename(case.path(name) / trace.name)
    return name


def reported(case, name, options, keeps=lambda group: True):
    """By kind, of all call sites together: count and bytes of each part of a range."""
    sums = collections.defaultdict(lambda: [0] * 6)
    for group in case.report(name, "range", *options)["groups"]:
        if keeps(group):
            for i, (_, count, size) in enumerate(PARTS):
                sums[group["kind"]][2 * i] += group[count]
                sums[group["kind"]][2 * i + 1] += group[size]
    return {kind: [number(value) for value in row] for kind, row in sums.items() if any(row)}


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def number(value):
    """As exact as the page's numbers are."""
    return int(value) if abs(int(value)) < 2**53 else float(f"{int(value):.12e}")


def shown(page):
    """The same of the page's table, as it is saved."""
    sums = collections.defaultdict(lambda: [0] * 6)
    for row in rows_of(page.saved(".range button.csv")):
        for i, (title, _, _) in enumerate(PARTS):
            sums[row["Kind"]][2 * i] += int(row[f"{title} (resources)"])
            sums[row["Kind"]][2 * i + 1] += int(row[f"{title} (bytes)"])
    return {kind: [number(value) for value in row] for kind, row in sums.items() if any(row)}


def alive(page):
    """By kind, of the selected moment: count and bytes."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in rows_of(page.saved(".moment button.csv")):
        sums[row["Kind"]][0] += int(row["Resources"])
        sums[row["Kind"]][1] += int(row["Bytes"])
    return {kind: [number(value) for value in row] for kind, row in sums.items()}


def choose(page, words):
    page.js("location.hash = arguments[0]; dispatchEvent(new PopStateEvent('popstate'))", words)


def ask(case, page, name, times, chance, filters=(), from_start=False):
    """A random range and a moment, of the page and of the report; from the start on, one report answers both."""
    first, last = sorted(chance.sample(range(-1, len(times)), 2))
    first, wanted = -1 if from_start else first, None
    if times[last]:
        start = ("--from", seconds(times[first])) if first >= 0 else ()
        until = ("--to", seconds(times[last]))
        begun = times[first] / 1e9 if first >= 0 else 0
        choose(page, f"#range={begun:.9f}-{times[last] / 1e9:.9f}")
        wanted = reported(case, name, [*start, *until])
        assert shown(page) == wanted, (name, first, last, shown(page), wanted)
        for word, options, keeps in filters:
            choose(page, f"#range={begun:.9f}-{times[last] / 1e9:.9f}&filter={word}")
            assert shown(page) == reported(case, name, [*start, *until, *options], keeps), (name, word)
    choose(page, f"#at={times[last] / 1e9:.9f}")
    if not from_start:
        wanted = reported(case, name, ("--to", seconds(times[last])) if times[last] else ())
    wanted = {kind: row[:2] for kind, row in wanted.items() if any(row[:2])}
    assert alive(page) == wanted, (name, last, alive(page), wanted)
    choose(page, "#")


def test_recordings_of_every_size_answer(case):
    recordings(case)
    sizes = [("one.gt", imported(case, "one.gt", 1)), ("some.gt", imported(case, "some.gt", 33)),
             ("a_million.gt", made(case, "a_million.gt", 1000000))]
    if LONG:
        sizes.append(("ten_million.gt", made(case, "ten_million.gt", 10000000)))
    chance = random.Random(5)
    with Browser(case) as page:
        opened(page, page_of(case, "untracked.gt"))
        assert "Nothing was tracked" in page.text("main")
        for name, _ in sizes:
            path = page_of(case, name)
            opened(page, path)
            ask(case, page, name, Lives(data_of(path)["sets"][0]).times, chance, from_start="million" in name)
            # a search is answered while one types
            page.type("#flame input", "ma")
            assert "% matched" in page.text("#flame") or "no match" in page.text("#flame"), name
        assert page.complaints() == []


def test_filters_answer_as_reports_do(case):
    chance = random.Random(7)
    recordings(case)
    with Browser(case) as page:
        name = made(case, "threads.gt", 3000)
        path = page_of(case, name)
        opened(page, path)
        ask(case, page, name, Lives(data_of(path)["sets"][0]).times, chance, [
            ("kind:event", (), lambda group: group["kind"] == "event"),
            ("-kind:event", (), lambda group: group["kind"] != "event"),
            ("thread:1002", ("--by", "thread"), lambda group: "thread 1002 " in group["place"]["text"]),
            ("size>=1", (), lambda group: group["kind"] == "buffer")])
        name = processes(case, "family32.gt", 32)
        path = page_of(case, name)
        pids = sorted(int(trace.stem) for trace in case.path(name).glob("*.trace"))
        opened(page, path)
        assert "32 processes" in page.text("header"), page.text("header")
        pid = str(chance.choice(pids))
        ask(case, page, name, Lives(data_of(path)["sets"][0]).times, chance, [
            (f"process:{pid}", ("--by", "process"), lambda group: f"pid {pid}" in group["place"]["text"])])
        assert page.complaints() == []


def several_apis(case, name):
    """One recording of three programs: OpenCL, Level Zero, and CUDA under a pool in the manner of PyTorch's."""
    commands = (f"'{case.program('cl_small')}'", f"'{case.program('ze_app')}' --rounds 2",
                " ".join(f"'{word}'" for word in test_pools.program(case, 3, "plain", 60, 3)))
    done = case.gputrack("run", "-q", "-o", name, "sh", "-c", "; ".join(commands),
                         env={**case.cuda_preloaded(), **case.small_opencl(), **case.levelzero()})
    assert done.status == 0, done.err
    return name


def ask_by_api(case, page, name, chance):
    """A range and a moment, then everything by API; gives the APIs."""
    path = page_of(case, name)
    everything = data_of(path)["sets"][0]
    lives, apis = Lives(everything), sorted({kind["api"] for kind in everything["kinds"]})
    opened(page, path)
    if len(lives.times) > 1:
        ask(case, page, name, lives.times, chance)
    for api in apis:
        choose(page, f"#range=0-{lives.times[-1] / 1e9:.9f}&filter=api:%22{api}%22")
        assert shown(page) == reported(case, name, (), lambda group: page_api(group) == api), (name, api)
    assert page.js("return document.querySelectorAll('main script, main img, main iframe').length") == 0
    assert page.complaints() == []
    return apis


def test_several_apis_answer(case):
    recordings(case)
    name = several_apis(case, "apis.gt")
    with Browser(case) as page:
        assert ask_by_api(case, page, name, random.Random(11)) == ["CUDA", "Level Zero", "OpenCL", "PyTorch"]


def test_hostile_names_answer(case):
    recordings(case)
    chance = random.Random(11)
    with Browser(case) as page:
        for name in ("many.gt", "hostile.gt", "markup.gt"):
            ask_by_api(case, page, name, chance)


def page_api(group):
    return {"opencl": "OpenCL", "levelzero": "Level Zero", "cuda": "CUDA", "pytorch": "PyTorch"}.get(group["api"], group["api"])


def test_of_too_many_call_sites_the_smallest_are_together(case):
    """More than 65,536: sums stay, and the page says so."""
    recordings(case)
    name = made(case, "distinct.gt", 66000, "distinct")
    path = page_of(case, name)
    one = data_of(path)["sets"][0]
    lives = Lives(one)
    assert one["lives"]["detail"] == "row" and one["lives"]["merged_sites"] > 1000, one["lives"]["merged_sites"]
    middle = lives.times[len(lives.times) // 2]
    totals = case.report(name, "range", "--from", seconds(middle), "--top", "1")["range"]
    within = [(count, size) for _, born, _, count, size in lives.cells if lives.times[born] > middle]
    assert [sum(column) for column in zip(*within)] == [totals["allocated"], totals["allocated_bytes"]]
    # as said on a page that a browser draws in a moment
    path = page_of(case, "leaks.gt")
    path.write_text(path.read_text().replace('"merged_sites": 0', '"merged_sites": 1234').replace(
        '"kind_rows": {"step_ns": 1,', '"kind_rows": {"step_ns": 2,'))
    with Browser(case) as page:
        opened(page, path)
        choose(page, "#at=2.1")
        assert "and the smallest 1,234 of them only together" in page.text(".moment"), page.text(".moment")
        assert page.complaints() == []


def test_every_view_can_be_saved(case):
    recordings(case)
    case.gputrack("html", "before.gt", "after.gt", "-o", "pair.html")
    table = case.run("python3", case.source / "bench" / "make_tracker_csv.py", "300")
    case.path("t.csv").write_text(table.out)
    views = {"leaks.gt": 8, "sampled.gt": 9, "mistakes.gt": 10, "pair.html": 5, "t.csv": 9}
    with Browser(case) as page:
        for name, pictures in views.items():
            opened(page, case.path(name) if name.endswith(".html") else page_of(case, name))
            page.js("document.querySelectorAll('details').forEach(n => { n.open = true; });"
                    "window.copied = []; navigator.clipboard.writeText = async text => { copied.push(text) }")
            page.wait("document.querySelectorAll('details.functions').length === "
                      "document.querySelectorAll('details.functions table').length")
            page.js("[...document.querySelectorAll('.pictures button')].forEach((b, i) => b.dataset.nth = i)")
            kinds = page.js("return [...document.querySelectorAll('.pictures button')].map(b => b.textContent)")
            # each chart, table and list, in each of the four ways
            assert len(page.texts(".pictures")) >= pictures, (name, page.texts(".pictures"))
            assert kinds == ["PNG", "SVG", "CSV", "Copy as text"] * (len(kinds) // 4), (name, kinds)
            assert page.js("return [...document.querySelectorAll('section[id] .chart, section[id] canvas, .table, "
                           "section[id] .holders')].every(n => n.closest('section, .panel').querySelector('.pictures'))")
            for nth, kind in enumerate(kinds):
                if kind == "Copy as text":
                    page.click(f"[data-nth='{nth}']")
                    page.wait("copied.length")
                    lines = page.js("return copied.pop()").splitlines()
                    assert len(lines) > 1 and "undefined" not in lines[0], (name, nth, lines[:2])
                    continue
                text = page.saved(f"[data-nth='{nth}']")
                if kind == "PNG":
                    assert "PNG" in text[:8], (name, nth)
                elif kind == "SVG":
                    drawing = xml.etree.ElementTree.fromstring(text)
                    assert len(list(drawing.iter())) > 4 and "NaN" not in text and "undefined" not in text, (name, nth)
                    assert [one for one in drawing.iter("{http://www.w3.org/2000/svg}text") if one.text], (name, nth)
                else:
                    rows = list(csv.reader(io.StringIO(text)))
                    assert len(rows) > 1 and len({len(row) for row in rows}) == 1, (name, text[:200])
            # the charts are as before
            assert page.js("return [...document.querySelectorAll('.chart canvas')].every(c => c.width > 100)")
        assert page.complaints() == []
        # values, not sums of a stack
        opened(page, page_of(case, "leaks.gt"))
        last = rows_of(page.saved("#timeline .pictures .csv"))[-1]
        assert (last["buffer"], last["image"], last["total"]) == ("5242880", "3000000", "8242880"), last


def test_the_pictures_of_the_document_can_be_drawn(case):
    """Those of doc/html.md are of this page, and each is in it."""
    recordings(case)
    page_of(case, "leaks.gt")

    def run(*words):
        done = case.gputrack(*words)
        assert done.status == 0, done.err

    with Browser(case):
        pictures.draw_answers(case.folder, case.folder, run)
    text = (case.source / "doc" / "html.md").read_text()
    for name in pictures.SHOWN:
        assert f"(pictures/{name})" in text, name
        drawn = case.path(name).read_bytes()
        assert drawn[8:12] == b"WEBP" and len(drawn) > 4000, name
        assert (case.source / "doc" / "pictures" / name).exists(), name
