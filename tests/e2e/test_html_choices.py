# SPDX-License-Identifier: MIT
"""test_html_choices.py - what a reader chooses on the page: links, ranges, filters, one of several recordings."""
import collections
import itertools
import random
import shutil

import test_pools
from browser import Browser
from pages import Lives, data_of, last_values, opened, page_of, recordings

TOGETHER = True  # one browser


def fragment(page):
    return page.js("return location.hash")


def seconds(time_ns):
    return f"{time_ns // 10**9}.{time_ns % 10**9:09}"


def range_of(lives, sites, kinds, first, last):
    """By place and kind: left, allocated and freed, after step `first` and up to step `last`."""
    rows = collections.defaultdict(lambda: [0] * 6)
    for origin, born, ended, count, size in lives.cells:
        row = rows[origin["site"]]
        within, is_freed = first < born <= last, ended is not None and first < ended <= last
        for i, counts in enumerate((within and (ended is None or ended > last), within, is_freed)):
            row[2 * i] += count * counts
            row[2 * i + 1] += size * counts
    return sorted([kinds[sites[site][1]]["api"], kinds[sites[site][1]]["name"], *row]
                  for site, row in rows.items() if any(row[2:]))


def reported_range(case, name, *options):
    report = case.report(name, "range", *options)
    keys = ("count", "bytes", "allocated", "allocated_bytes", "freed", "freed_bytes")
    rows = sorted([group["api"], group["kind"], *(group[key] for key in keys)]
                  for group in report["groups"])
    for key in keys:
        assert report["range"][key] == sum(group[key] for group in report["groups"]), key
    return rows


def test_a_range_is_what_the_report_says_of_it(case):
    recordings(case)
    for events in (3000, 60000):
        made = case.run(case.build / "bench" / "make_events", f"r{events}.gt", str(events), "balanced")
        assert made.status == 0, made.err
    chance = random.Random(25)
    for name, ranges in (("leaks.gt", 1), ("family.gt", 1), ("r3000.gt", 1), ("r60000.gt", 1)):
        data = data_of(page_of(case, name))
        everything = data["sets"][0]
        lives, kinds = Lives(everything), everything["kinds"]
        steps = [sorted(chance.sample(range(-1, len(lives.times)), 2)) for _ in range(ranges)]
        for first, last in [(-1, len(lives.times) - 1), *steps]:
            wanted = reported_range(case, name, *(("--from", seconds(lives.times[first])) if first >= 0 else ()),
                                    "--to", seconds(lives.times[last]))
            found = range_of(lives, everything["sites"], kinds, first, last)
            # the report has one key for an API where the page has its name
            assert [row[1:] for row in found] == [row[1:] for row in wanted], (name, first, last)


def test_a_link_repeats_what_was_chosen(case):
    path = page_of(case, "leaks.gt")
    with Browser(case) as page:
        opened(page, path)
        assert fragment(page) == ""
        page.drag("#timeline .u-over", 0.9, 0.9)
        chosen, link = page.text(".moment h3"), fragment(page)
        assert chosen.startswith("Alive at 2.1") and "at=2.1" in link, (chosen, link)
        page.js("[...document.querySelectorAll('#timeline button')]"
                ".find(b => b.textContent === 'Resources').click()")
        assert "unit=objects" in fragment(page)
        page.js("history.back()")
        page.wait("!location.hash.includes('unit=')")
        assert fragment(page) == link and page.text(".moment h3") == chosen
        page.js("history.back()")
        page.wait("!location.hash")
        assert "At the peak" in page.text(".moment h3")
        page.js("history.forward()")
        page.wait("location.hash.includes('at=')")
        assert page.text(".moment h3") == chosen
        page.open("about:blank")
        page.open(path.resolve().as_uri() + link + "&unit=objects")
        page.wait("document.body.dataset.drawn === 'all'")
        assert page.text(".moment h3") == chosen
        assert "event" in page.text("#timeline .legend")
        page.open("about:blank")
        # a link that was cut or made up is as good as none
        page.open(path.resolve().as_uri() + "#no_such&at=%E2&at=x&range=5-1&pid=-1&constructor=1&part=")
        page.wait("document.body.dataset.drawn === 'all'")
        assert "At the peak" in page.text(".moment h3")
        assert page.complaints() == []


def held_by_kind(one, lives):
    """{"bytes": by kind, at the end of each step, "objects": likewise}, as the lives have it."""
    changes = {unit: [[0] * len(lives.times) for _ in one["kinds"]] for unit in ("bytes", "objects")}
    for origin, born, ended, count, size in lives.cells:
        kind = one["sites"][origin["site"]][1]
        for step, sign in ((born, 1), (ended, -1)):
            if step is not None:
                changes["bytes"][kind][step] += sign * size
                changes["objects"][kind][step] += sign * count
    return {unit: [list(itertools.accumulate(row)) for row in rows] for unit, rows in changes.items()}


def kinds_at_steps(one, lives):
    """The same, as the kinds over time have it."""
    width, found = 1 << one["lives"]["shift"], {}
    for unit in ("bytes", "objects"):
        rows = [[row[2] for row in last_values(kind[unit])] if kind[unit] else None for kind in one["kinds"]]
        found[unit] = [[row[min((step + 1) * width, len(row)) - 1] if row else 0
                        for step in range(len(lives.times))] for row in rows]
    return found


def test_lives_add_up_to_the_totals_of_each_kind(case):
    """At every step of every golden recording: where processes end, handles come back, sizes are absurd."""
    recordings(case)
    for recording in sorted(case.folder.glob("*.gt")):
        for one in data_of(page_of(case, recording.name))["sets"]:
            lives = Lives(one)
            held, wanted = held_by_kind(one, lives), kinds_at_steps(one, lives)
            limited = {unit: [[min(value, 2**53 - 1) for value in row] for row in rows]
                       for unit, rows in held.items()}
            assert limited == wanted, (recording.name, one["pid"])


def test_lives_of_pools_add_up(case):
    """A piece of memory is known to be a segment when it has a block: it then has been one from the start."""
    for mode in ("plain", "expandable", "private"):
        done = test_pools.record(case, f"{mode}.gt", test_pools.program(case, 3, mode, 200, 3))
        assert done.status == 0, done.err
        page_of(case, "leaks.gt")
        one = data_of(page_of(case, f"{mode}.gt"))["sets"][0]
        lives = Lives(one)
        held, wanted = held_by_kind(one, lives), kinds_at_steps(one, lives)
        block = [kind["name"] for kind in one["kinds"]].index("PyTorch block")
        first = next(i for i, count in enumerate(held["objects"][block]) if count)
        assert 0 < first < 10 < len(lives.times)
        for unit in held:
            sums = [[sum(column) for column in list(zip(*rows))[first:]] for rows in (held[unit], wanted[unit])]
            assert sums[0] == sums[1], (mode, unit)
            assert [row[-1] for row in held[unit]] == [row[-1] for row in wanted[unit]], (mode, unit)


def shown_range(page):
    """[left, freed, allocated, difference, kind] of each row."""
    return page.js("return [...document.querySelectorAll('.range tr.row')].map(row => "
                   "[...row.cells].slice(0, 5).map(cell => cell.innerText))")


def test_a_range_is_selected_by_mouse_and_keys(case):
    path = page_of(case, "leaks.gt")
    with Browser(case) as page:
        opened(page, path)
        page.drag("#timeline .u-over", 0.25, 0.5)
        assert page.text(".range h3") == "From 500.00 ms to 1.2100 s", page.text(".range")
        assert "range=0.5-1.21" in fragment(page) and "what=chosen" in fragment(page)
        assert page.js("return document.querySelector('.moment').hidden")
        assert shown_range(page) == [["32", "–", "32", "+32", "event"],
                                     ["–", "64.0 MiB (1)", "–", "−64.0 MiB (−1)", "buffer"]]
        assert page.text(".range .sum").startswith("32 resources left behind: 32 resources allocated, "
                                                   "64.0 MiB in 1 resource freed; −64.0 MiB and +31 resources")
        assert "report -a range --from 0.5 --to 1.21." in page.text(".range")
        assert "Selected range" in page.text("#flame .segmented")
        page.click(".range [data-value=freed]")
        assert "64.0 MiB" in shown_range(page)[0][1] and "part=freed" in fragment(page)
        assert "64.0 MiB" in page.text("#flame .readout"), page.text("#flame .readout")
        page.js("history.back()")
        page.wait("!location.hash.includes('part=')")
        assert shown_range(page)[0][0] == "32"
        page.js("document.querySelector('#timeline .chart').focus()")
        page.key("\ue014", shift=True)  # right: one step longer
        assert page.text(".range h3") == "From 500.00 ms to 1.2200 s"
        page.key("\ue012", shift=True)
        assert page.text(".range h3") == "From 500.00 ms to 1.2100 s"
        page.key("\ue00c")  # escape
        assert page.js("return document.querySelector('.range').hidden") and "range=" not in fragment(page)
        assert not page.js("return document.querySelector('.moment').hidden")
        # a range that ends between two changes is widened to them
        page.js("location.hash = '#range=0.6-1.205'")
        page.wait("!document.querySelector('.range').hidden")
        assert page.text(".range h3") == "From 500.00 ms to 1.2100 s"
        assert page.complaints() == []


def test_a_filter_applies_to_every_view(case):
    path = page_of(case, "leaks.gt")
    with Browser(case) as page:
        opened(page, path)
        page.type("#filter", "kind:buffer size>=1M")
        assert page.texts(".chip") == ["kind:buffer\n×", "size>=1M\n×"]
        page.js("location.hash = location.hash + '&at=2.2'")
        page.wait("document.querySelector('.moment h3').innerText.startsWith('Alive')")
        assert "5.00 MiB of device memory, 5 resources" in page.text(".moment"), page.text(".moment")
        page.type("#filter", "kind:buffer size>1M")
        assert "0 B of device memory, 0 resources" in page.text(".moment"), page.text(".moment")
        assert page.texts("#leaks tr.row") == []
        rows = page.texts("#sites tr.row")
        assert len(rows) == 1 and rows[0].split("\t")[:4] == ["0", "64.0 MiB", "64.0 MiB", "1"], rows
        page.type("#filter", "kind:buffer size>=1M")
        rows = page.texts("#leaks tr.row")
        assert len(rows) == 1 and "buffer" in rows[0] and rows[0].startswith("5.00 MiB"), rows
        page.type("#filter", "kind:buffer size>1M")
        page.js("document.querySelector('.chip button').click()")
        assert page.js("return document.querySelector('#filter').value") == "size>1M"
        page.type("#filter", "-kind:event,context 0x2111")
        assert len(page.texts("#sites tr.row")) == 1 and "image" in page.texts("#sites tr.row")[0]
        page.type("#filter", "size>big kind>1 api:")
        assert page.js("return document.querySelectorAll('.chip.wrong').length") == 3
        assert len(page.texts("#leaks tr.row")) == 7
        page.type("#filter", "")
        assert page.texts(".chip") == []
        # threads, processes and devices
        opened(page, page_of(case, "family.gt"))
        everything = page.text(".moment .sum")
        page.type("#filter", "process:403")
        page.js("location.hash += '&at=0.6'")
        page.wait("document.querySelector('.moment h3').innerText.startsWith('Alive')")
        assert page.text(".moment .sum") == "1.19 MiB of device memory, 2 resources" != everything
        assert page.complaints() == []


def test_tables_are_copied_and_downloaded(case):
    path = page_of(case, "markup.gt")
    with Browser(case) as page:
        opened(page, path)
        page.js("window.copied = []; navigator.clipboard.writeText = async text => { copied.push(text) };"
                "window.blobs = []; URL.createObjectURL = blob => { blobs.push(blob); return '#'; }")
        page.js("[...document.querySelectorAll('#leaks button')].find(b => b.textContent === 'Copy as text').click()")
        page.wait("copied.length")
        text = page.js("return copied[0]").splitlines()
        assert text[0].split() == ["Bytes", "Count", "Kind", "Created", "by", "First", "Where"], text[0]
        assert len(text) == 1 + len(page.texts("#leaks tr.row"))
        page.click("#leaks button.csv")
        page.js("blobs[0].text().then(text => { window.csv = text; })")
        page.wait("window.csv")
        lines = page.js("return csv").splitlines()
        assert lines[0] == "Bytes,Count,Kind,Created by,First,Where" and len(lines) == len(text), lines
        page.js("[...document.querySelectorAll('header button')].find(b => b.textContent === 'Copy link').click()")
        page.wait("copied.length === 2")
        assert page.js("return copied[1] === location.href")
        assert page.complaints() == []


def test_several_recordings_share_a_page(case):
    recordings(case)
    for name, to in (("before", "1/app"), ("after", "2/app"), ("markup", "2/markup"), ("clean", "2/clean"),
                     ("silent", "2/nogpu")):
        shutil.copytree(case.path(f"{name}.gt"), case.path(f"night/{to}.gt"))
    path, told = page_of(case, "night"), case.report("night", "summary")
    data = data_of(path)
    assert [data["all"][part] for part in ("tests", "recordings", "groups")] == \
        [told[part] for part in ("tests", "recordings", "groups")]
    assert list(data["pages"]) == list("01324"), "those that fail first"
    assert data["pages"]["0"]["recording"]["path"] == "night/1/app.gt", data["pages"]["0"]["recording"]
    case.path("known.supp").write_text("leak:load_texture\nleak:make_scratch\n")
    known = ("--suppressions", "known.supp", "--baseline", "night/1")
    assert case.gputrack("html", "night", *known, "-o", "known.html").status == 0
    groups = data_of(case.path("known.html"))["all"]["groups"]
    assert groups == case.report("night", "summary", *known)["groups"] and 0 < len(groups) < len(told["groups"])
    with Browser(case, width=400, height=800) as page:
        opened(page, path)
        assert page.js("document.querySelectorAll('tr.row').forEach(n => n.click());"
                       "return document.documentElement.scrollWidth") <= 400
        page.resize(1280, 900)
        rows = page.texts("#tests tr.row")
        assert [row.split()[:2] for row in rows[:2]] == [["leaked", "app"], ["leaked", "markup"]], rows
        leak = next(row for row in page.texts("#leaks tr.row") if "make_scratch" in row)
        assert leak.startswith("1.00 MiB") and "app (1 of 2 runs)" in leak, leak
        assert page.texts("#tests tr.opened a.recording")[:2] == ["night/1/app.gt", "night/2/app.gt"]
        page.js("document.querySelectorAll('#tests tr.opened a.recording')[1].click()")
        page.wait("document.querySelector('#timeline canvas')")
        assert fragment(page) == "#recording=2" and page.text("#recording") == "night/2/app.gt"
        assert "54" in page.text(".verdicts") and page.js("return document.title").startswith("./bin/game")
        page.js("document.querySelector('#nav a[href=\"#leaks\"]').click()")
        assert fragment(page) == "#leaks&recording=2"
        page.js("document.getElementById('all-recordings').click()")
        page.wait("document.getElementById('tests')")
        assert fragment(page) == "" and page.js("return document.title").startswith("5 recordings")
        page.js("history.back()")
        page.wait("document.getElementById('timeline')")
        assert page.complaints() == [] and page.requests() == [path.as_uri()]


def test_of_several_tests_the_worst_is_first(case):
    case.need_page()
    recordings(case)
    names = ("clean.gt", "family.gt", "gappy.gt", "leaks.gt", "sampled.gt")
    assert case.gputrack("html", *names, "-o", "all.html").status == 0
    tests = data_of(case.path("all.html"))["all"]["tests"]
    leaked = sorted((test for test in tests if test["outcome"] == "leaked"), key=lambda test: -test["leaked_bytes"])
    assert [test["test"] for test in leaked] == ["sampled", "leaks", "family"], leaked
    with Browser(case) as page:
        opened(page, case.path("all.html"))
        shown = [row.split("\t") for row in page.texts("#tests tr.row")]
        assert [row[1] for row in shown] == ["sampled", "leaks", "family", "gappy", "clean"], shown
        assert page.complaints() == []
