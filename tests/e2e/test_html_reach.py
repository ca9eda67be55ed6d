# SPDX-License-Identifier: MIT
"""test_html_reach.py - mouse, finger and keys reach everything on the page, and whatever is counted can be opened."""
import csv
import io
import os
import pty
import re
import shutil
import subprocess

from browser import Browser
from nsys_export import BACKTRACE, Export
from pages import opened, page_of, recordings
from test_html_flame import boxes
from test_html_served import Served

TOGETHER = True  # one browser
ENTER = "\ue007"


def heading(page):
    return page.text(".range h3")


def shown_part(page):
    """Start and width of the timeline's window, in percent of the time."""
    return page.js("const n = document.querySelector('.overview .pane');"
                   "return [parseFloat(n.style.left), parseFloat(n.style.width)]")


def test_a_range_is_extended_by_shift_and_drag(case):
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        page.drag("#timeline .u-over", 0.25, 0.5)
        assert heading(page) == "From 500.00 ms to 1.2100 s"
        page.drag("#timeline .u-over", 0.6, 0.7, shift=True)
        later = heading(page)
        assert later.startswith("From 500.00 ms to 1.6") or later.startswith("From 500.00 ms to 1.7"), later
        page.drag("#timeline .u-over", 0.015, 0.1, shift=True)
        assert heading(page).startswith("From 2") and heading(page).endswith(later.split(" to ")[1]), heading(page)
        # without Shift it begins anew; the blocks do the same
        page.drag("#timeline .u-over", 0.25, 0.5)
        assert heading(page) == "From 500.00 ms to 1.2100 s"
        page.drag("#blocks canvas", 0.6, 0.7, shift=True)
        assert heading(page).startswith("From 500.00 ms to 1.6"), heading(page)
        assert page.complaints() == []


def test_two_moments_are_compared_as_table_and_as_flame_graph(case):
    """The difference between the ends of a range is what was alive at one less what was alive at the other."""
    def alive(until):
        return {group["kind"]: (group["count"], group["bytes"]) for group in
                case.report("leaks.gt", "range", "--to", until)["groups"] if group["count"]}
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        page.js("location.hash = '#range=0.5-1.21&part=net&what=chosen'")
        page.wait("!document.querySelector('.range').hidden")
        first, last = alive("0.5"), alive("1.21")
        wanted = {kind: last.get(kind, (0, 0))[1] - first.get(kind, (0, 0))[1] for kind in {*first, *last}}
        rows = page.js("return [...document.querySelectorAll('.range tr.row')].map(r => [...r.cells].map(c => c.innerText))")
        assert {row[4]: row[3] for row in rows} == {"event": "+32", "buffer": "−64.0 MiB (−1)"}, rows
        assert wanted["buffer"] == -64 << 20, wanted
        assert [(box["name"], box["old"]) for box in boxes(page) if box["name"] == "buffer"] == [("buffer", 64 << 20)]
        assert page.text("#flame .readout") == "all  ·  −64.0 MiB", page.text("#flame .readout")
        assert page.complaints() == []


def test_a_range_without_bytes_shows_its_resources(case):
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        page.js("location.hash = '#range=0.9-1.21&what=chosen'")
        page.wait("!document.querySelector('.range').hidden")
        assert page.text("#flame [aria-label='Measured in'] [aria-pressed=true]") == "Resources"
        assert "31 resources" in page.text("#flame .readout"), page.text("#flame .readout")
        page.js("document.querySelector('#flame [data-value=bytes]').click()")
        assert "These resources have no bytes: choose Resources." in page.text("#flame")
        assert page.complaints() == []


def test_a_finger_selects_a_range(case):
    with Browser(case, width=400, height=800) as page:
        page.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
        try:
            opened(page, page_of(case, "leaks.gt"))
            page.swipe("#timeline .u-over", 0.25, 0.5)
            page.wait("!document.querySelector('.range').hidden")
            assert heading(page).startswith("From 500.00 ms to 1.2"), heading(page)
            page.swipe("#blocks canvas", 0.4, 0.8)
            page.wait("!document.querySelector('.range h3').innerText.startsWith('From 500.00 ms to 1.2')")
            assert page.js("return document.documentElement.scrollWidth") <= 400
            assert page.complaints() == []
        finally:
            page.cdp("Emulation.setTouchEmulationEnabled", enabled=False)


def test_the_time_is_zoomed_by_letters_and_on_the_overview(case):
    with Browser(case) as page:
        opened(page, page_of(case, "sampled.gt"))
        page.js("document.activeElement.blur()")
        page.key("w")
        left, width = shown_part(page)
        assert abs(width - 50) < 1, width
        page.key("d")
        assert shown_part(page)[0] > left or left + width > 99
        page.key("a")
        page.key("s")
        assert shown_part(page) == [0, 100]
        # drawn on the strip below the timeline
        page.drag(".overview", 0.25, 0.75)
        left, width = shown_part(page)
        assert abs(left - 25) < 1 and abs(width - 50) < 1, (left, width)
        page.drag(".overview", 0.5, 0.6)  # inside: it moves
        assert abs(shown_part(page)[0] - 35) < 1 and abs(shown_part(page)[1] - 50) < 1, shown_part(page)
        page.key("0")
        page.js("location.hash = '#range=0.2-0.4'")
        page.wait("!document.querySelector('.range').hidden")
        page.key("f")
        left, width = shown_part(page)
        assert heading(page) == "From 110.00 ms to 410.00 ms"
        end = page.js("return JSON.parse(document.getElementById('data').textContent).end_ns") / 1e9
        assert abs(left - 11 / end) < 1 and abs(width - 30 / end) < 1, (left, width)
        # on the blocks, too
        page.js("document.querySelector('#blocks canvas').focus()")
        page.key("s")
        assert shown_part(page)[1] > width
        assert page.complaints() == []


def test_charts_beside_the_timeline_show_its_window(case):
    """Their values at the left edge are those of that moment."""
    with Browser(case) as page:
        opened(page, page_of(case, "sampled.gt"))
        edges = """return [...document.querySelectorAll('#samples .chart')].map(n =>
            n.querySelector('canvas').toDataURL().length)"""
        whole = page.js(edges)
        page.js("location.hash = '#zoom=0.3-0.5'")
        page.wait("location.hash.includes('zoom')")
        page.wait(f"JSON.stringify((() => {{ {edges} }})()) !== '{str(whole).replace(' ', '')}'")
        page.js("location.hash = '#'")
        page.wait(f"JSON.stringify((() => {{ {edges} }})()) === '{str(whole).replace(' ', '')}'")
        assert page.complaints() == []


def test_a_search_goes_from_box_to_box(case):
    recordings(case)
    export, at = Export(), 0
    # one match is too narrow to be read
    for i, (names, size) in enumerate(((("wanted", "left"), 1 << 20), (("other", "right"), 1 << 30),
                                       (("wanted", "right"), 1 << 28))):
        export.call(10 * i, 10 * i + 5, i + 1, "cudaMalloc", BACKTRACE,
                    stack=[(one, "/app/a") for one in (*names, "main")])
        export.alloc(10 * i + 1, 0x1000000 + at, size, correlation=i + 1)
        at += size
    assert case.gputrack("import", "-q", export.save(case.path("s.sqlite")), "-o", "s.gt").status == 0
    with Browser(case) as page:
        page.open(page_of(case, "s.gt").resolve().as_uri() + "#libraries=1")
        page.wait("document.body.dataset.drawn === 'all'")
        page.js("document.querySelector('#flame input').focus()")
        page.type("#flame input", "wanted")
        matched = "return document.querySelector('#flame input').nextElementSibling.innerText"
        assert page.js(matched) == "20.1 % matched in 2 boxes", page.js(matched)
        page.key(ENTER)
        assert page.js(matched) == "1 of 2, 20.1 % matched" and "256 MiB" in page.text("#flame .readout")
        page.key(ENTER)
        assert page.js(matched) == "2 of 2, 20.1 % matched" and "1.00 MiB" in page.text("#flame .readout")
        assert "box=" in page.js("return location.hash")  # zoomed, as it had no room
        page.key(ENTER, shift=True)
        assert page.js(matched) == "1 of 2, 20.1 % matched"
        page.type("#flame input", "nowhere")
        page.key(ENTER)
        assert page.js(matched) == "no match"
        assert page.complaints() == []


def test_all_gaps_are_listed(case):
    recordings(case)
    with Browser(case) as page:
        # gaps of more processes than the header lists
        name = case.path("killed.gt")
        name.mkdir()
        for i in range(9):
            made = case.run(case.build / "bench" / "make_events", f"{i}.gt", "20", "balanced")
            assert made.status == 0, made.err
            for trace in case.path(f"{i}.gt").glob("*.trace"):
                data = trace.read_bytes()
                trace.unlink()
                (name / trace.name).write_bytes(data[:len(data) * 2 // 3])
        opened(page, page_of(case, "killed.gt"))
        assert "3 more gaps" in page.text(".gaps summary"), page.text("header")
        page.click(".gaps summary")
        assert len(page.texts(".gaps .gaps li")) == 3
        assert page.complaints() == []


def many_ways(case, name, ways):
    """One place that so many stacks lead to, of which each allocates more than the one before."""
    export = Export()
    for i in range(ways):
        export.call(10 * i, 10 * i + 5, i + 1, "cudaMalloc", BACKTRACE,
                    stack=[("allocate", "/app/a"), *((f"caller{i}_{k}", "/app/a") for k in range(12)), ("main", "/app/a")])
        export.alloc(10 * i + 1, 0x1000000 + 0x1000000 * i, 4096 * (i + 1), correlation=i + 1)
    done = case.gputrack("import", "-q", export.save(case.path("w.sqlite")), "-o", name)
    assert done.status == 0, done.err
    return name


def test_all_stacks_of_a_place_and_all_places_of_the_blocks_are_shown(case):
    recordings(case)
    with Browser(case) as page:
        opened(page, page_of(case, many_ways(case, "ways.gt", 12), "--by", "function"))
        assert len(page.texts("#sites tr.row")) == 1
        page.js("document.querySelector('#sites tr.row').click()")
        assert "the largest of 12 stacks of this place" in page.text("#sites tr.opened")
        page.click("#sites .stacks summary")
        page.wait("document.querySelectorAll('#sites .stacks ol').length === 11")
        assert "caller0_0" in page.text("#sites .stacks") and "4.00 KiB in 1 resource" in page.text("#sites .stacks")
        opened(page, page_of(case, "ways.gt"))
        keys = page.texts("#blocks .place-key")
        assert len(keys) == 7 and page.text("#blocks button.key") == "5 more places", (keys, page.text("#blocks .legend"))
        page.click("#blocks button.key")
        assert len(page.texts("#blocks .place-key")) == 12
        page.click("#blocks button.key")
        assert len(page.texts("#blocks .place-key")) == 7
        assert page.complaints() == []


def test_the_page_is_read_without_seeing_it(case):
    """Each picture has a name that says how to use it, and a table of its values."""
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        tree = page.cdp("Accessibility.getFullAXTree")["nodes"]
        named = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")}
        roles = {role for role, _ in named}
        for words in ("Live memory and resources over time", "Blocks of device memory over time", "Flame graph:"):
            assert any(name.startswith(words) for _, name in named), words
        assert {"table", "columnheader", "row", "searchbox", "navigation", "main", "heading"} <= roles, roles
        unnamed = [role for role, name in named if role in ("button", "link", "searchbox", "combobox") and not name]
        assert unnamed == []
        page.js("document.querySelectorAll('details.functions').forEach(n => { n.open = true; })")
        page.wait("document.querySelectorAll('details.functions table').length === 2")
        for heading_of in ("#blocks", "#flame"):
            assert page.js("return document.querySelectorAll(arguments[0] + ' table tbody tr').length", heading_of) > 3
        # headings go down one level at a time
        levels = page.js("return [...document.querySelectorAll('h1, h2, h3, h4')].filter(n => n.checkVisibility())"
                         ".map(n => Number(n.tagName[1]))")
        assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels


# While the program runs.

def test_a_served_page_keeps_what_was_asked_and_answers_anew(case):
    """A range, a filter, a search, a form of the flame graph and the order of a table outlive newer data."""
    page_of(case, "leaks.gt")
    os.rename(case.path("family.gt"), case.path("now.gt"))
    asked = "#range=0.05-0.6&what=chosen&filter=kind:buffer&search=family&form=flame&inverted=1"
    with Served(case, "now.gt") as served, Browser(case) as page:
        page.open(served.address + asked)
        page.wait("document.body.dataset.drawn === 'all'")
        page.js("[...document.querySelectorAll('#sites th button')].find(b => b.textContent === 'Created').click();"
                "document.querySelector('#blocks details.functions').open = true")
        page.wait("document.querySelectorAll('#blocks tr.row').length")
        before = page.text(".range .sum")
        # another process comes, whose buffers the range has too
        shutil.copy(case.path("leaks.gt/200.trace"), case.path("now.gt/200.trace"))
        page.wait("[...document.querySelector('#process').options].some(o => o.value === '200')")
        page.wait("document.body.dataset.drawn === 'all'")
        assert page.js("return location.hash") == asked
        assert page.text(".range .sum") != before and heading(page).startswith("From ")
        assert page.texts(".chip") == ["kind:buffer\n×"] and "% matched in" in page.text("#flame")
        pressed = page.texts("#flame [aria-pressed=true]")
        assert {"Selected range", "Flame", "Callees first"} <= set(pressed), pressed
        assert page.js("return document.querySelector('#sites [aria-sort=descending]').innerText") == "Created"
        assert page.js("return document.querySelectorAll('#blocks tr.row').length") > 0
        wanted = case.report("now.gt", "range", "--from", "0.05", "--to",
                             re.search(r"--to ([\d.]+)\.", page.text(".range")).group(1))["groups"]
        rows = csv.DictReader(io.StringIO(page.saved(".range button.csv")))
        assert sum(int(row["Left behind (bytes)"]) for row in rows) == \
            sum(group["bytes"] for group in wanted if group["kind"] == "buffer") > 0
        assert page.complaints() == []


# While it is made.

def test_a_page_that_takes_long_says_how_far_it_is(case):
    """By a clock that runs so fast that everything takes long: reading, reading again, writing; then the line is gone."""
    page_of(case, "leaks.gt")
    made = case.run(case.build / "bench" / "make_events", "some.gt", "200000", "balanced")
    assert made.status == 0, made.err
    master, slave = pty.openpty()
    done = subprocess.run([case.build / "gputrack", "html", "some.gt"], cwd=case.folder, stderr=slave,
                          env=dict(os.environ, LD_PRELOAD=str(case.program("fast_clock.so"))), check=False)
    os.close(slave)
    said = b""
    while chunk := read_terminal(master):
        said += chunk
    lines = [line.strip() for line in re.split("\r|\x1b\\[K", said.decode()) if line.strip()]
    assert done.returncode == 0 and lines[-1] == "gputrack: wrote some.html", lines
    read = [line for line in lines if re.fullmatch(r"gputrack: read [\d,]+ events", line)]
    again = [line for line in lines if re.fullmatch(r"gputrack: read [\d,]+ events again", line)]
    assert read and again and lines.index(again[0]) == len(read), lines
    assert lines[-2] == "gputrack: writing" and said.decode().rindex("\r\x1b[K") > said.decode().rindex("writing")


def read_terminal(master):
    try:
        return os.read(master, 65536)
    except OSError:
        return b""  # nobody has it open any more
