# SPDX-License-Identifier: MIT
"""test_html_flame.py - the page's flame graph, keys and comparisons, against what other commands say."""
import csv
import io
import json
import re
from collections import Counter

from browser import Browser
from pages import data_of, opened, page_of, recordings

TOGETHER = True  # one browser

ENTER, ESCAPE, UP, DOWN = "\ue007", "\ue00c", "\ue013", "\ue015"
# what the canvas shows, box by box
BOXES = """return document.querySelector('.flame canvas').boxes.map(({ node, left, share, row }) => ({
    name: node.name, at: node.at, place: node.where, value: node.value, old: node.old, left, share, row,
    path: (function up(n) { return n.parent ? [...up(n.parent), n.kind ? `[${n.kind.api} ${n.name}] ${n.at}` :
        n.name] : []; })(node), tips: node.children.size === 0 }))"""


def boxes(page):
    return page.js(BOXES)


def names(page):
    return [box["name"] for box in boxes(page)]


def press(page, text, within="#flame"):
    found = page.js("const b = [...document.querySelectorAll(`${arguments[0]} button`)]"
                    ".find(b => b.textContent === arguments[1]); b?.click(); return !!b", within, text)
    assert found, text


def click(page, name, shift=False):
    """Clicks in the middle of the first box of this name, with the mouse's coordinates."""
    found = page.js("""
        const canvas = document.querySelector('.flame canvas'), frame = canvas.getBoundingClientRect();
        const box = canvas.boxes.find((one) => one.node.name === arguments[0]);
        const rows = Math.max(...canvas.boxes.map((one) => one.row)) + 1;
        if (box)
          canvas.dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: arguments[1],
            clientX: frame.left + (box.left + box.share / 2) * frame.width,
            clientY: frame.top + (box.row + 0.5) * frame.height / rows }));
        return !!box""", name, shift)
    assert found, name


def collapsed(case, recording, value):
    """Stacks and their weights, as `gputrack export` has them."""
    out = case.gputrack("export", recording, "-f", "collapsed", "--value", value).out
    return Counter({stack: int(weight) for stack, weight in
                    (line.rsplit(" ", 1) for line in out.splitlines())})


def shown(page):
    return Counter({";".join(box["path"]).rstrip(): box["value"] for box in boxes(page) if box["tips"]})


def test_each_choice_shows_what_export_says(case):
    path = page_of(case, "leaks.gt")
    with Browser(case) as page:
        opened(page, path)
        for what, unit, value in (("Leaked", "Bytes", "leaked"), ("At the peak", "Bytes", "peak"),
                                  ("All created", "Bytes", "allocated"), ("Leaked", "Resources", "objects")):
            press(page, what)
            press(page, unit)
            wanted = collapsed(case, "leaks.gt", value)
            assert shown(page) == wanted and len(wanted) > 2, (what, shown(page), wanted)
            assert f"what={page.js('return document.querySelector(`#flame [aria-pressed=true]`).dataset.value')}" \
                in page.js("return location.hash")
        # the selected moment: what the list above it says
        page.js("location.hash = '#at=2.1&what=chosen&measure=bytes'")
        page.wait("document.querySelector('.moment h3').innerText.startsWith('Alive at 2.1')")
        all_of_it = boxes(page)[0]
        assert all_of_it["name"] == "all"
        sums = page.text(".moment .sum")
        assert "7.86 MiB" in sums and "64.0 KiB" in sums and all_of_it["value"] == sum(
            box["value"] for box in boxes(page) if box["tips"])
        assert "7.92 MiB" in page.text("#flame .readout"), page.text("#flame .readout")
        assert page.complaints() == []


def test_search_zoom_and_keys(case):
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        first = names(page)
        assert first[0] == "all" and "demo+0x1300" in first
        assert any(box["name"] == "image" and box["at"] == "demo+0x2111" for box in boxes(page))
        hits = "return document.querySelector('.flame canvas').boxes.filter(b => " \
               "b.node.searched.includes(arguments[0])).map(b => b.node.name)"
        page.type("#flame input", "0x2111")
        assert page.js(hits, "0x2111") == ["demo+0x2111"] and "36.1 % matched" in page.text("#flame")
        assert page.js("return location.hash") == "#search=0x2111"
        page.type("#flame input", "nothing of the kind")
        assert "no match" in page.text("#flame")
        page.type("#flame input", "")
        click(page, "demo+0x2111")
        zoomed = names(page)
        assert "demo+0x1111" not in zoomed and "image" in zoomed
        link = page.js("return location.href")
        page.js("document.querySelector('.flame canvas').focus()")
        page.key(DOWN)
        assert page.text("#flame .readout").startswith("image  ·  OpenCL  ·  demo+0x2111")
        page.key(UP)
        assert page.text("#flame .readout").startswith("demo+0x2111")
        page.key(ESCAPE)
        assert names(page) == first
        page.js("history.back()")
        page.wait("location.hash.includes('box=')")
        assert names(page) == zoomed
        page.open("about:blank")
        page.open(link)
        page.wait("document.body.dataset.drawn === 'all'")
        assert names(page) == zoomed
        assert page.complaints() == []


def test_both_ways_up_and_round_and_one_function(case):
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        press(page, "At the peak")
        icicle = boxes(page)
        press(page, "Flame")
        flame = boxes(page)
        top = max(box["row"] for box in icicle)
        assert [(b["name"], top - b["row"]) for b in icicle] == [(b["name"], b["row"]) for b in flame]
        press(page, "Icicle")
        press(page, "Callees first")
        inverted = boxes(page)
        kinds = {box["name"]: box["value"] for box in inverted if box["row"] == 1}
        assert kinds == {"buffer": 72351744, "image": 3000000, "host memory": 65536}
        assert inverted[0]["value"] == icicle[0]["value"]
        assert [b["name"] for b in inverted if b["tips"]] == ["demo+0x1300"] * 3
        press(page, "Callees first")
        # callers above, callees below; a click goes on to another function
        click(page, "demo+0x1200", shift=True)
        around = sorted((box["row"], box["name"], box["value"]) for box in boxes(page))
        assert around == [(0, "demo+0x1300", 72351744), (1, "demo+0x1200", 72351744),
                          (2, "demo+0x1111", 72351744), (3, "buffer", 72351744)]
        click(page, "demo+0x1300")
        around = [(box["row"], box["name"], box["value"]) for box in boxes(page)]
        assert (0, "demo+0x1300", icicle[0]["value"]) in around and (1, "demo+0x2111", 3000000) in around
        page.js("document.querySelector('.flame canvas').focus()")
        page.key(ESCAPE)
        assert boxes(page) == icicle
        # the same as a table
        page.js("document.querySelector('#flame details').open = true")
        page.wait("document.querySelector('#flame tr.row')")
        rows = {row.split("\t")[3]: row.split("\t") for row in page.texts("#flame tr.row")}
        assert rows["demo+0x1300"][:3] == ["71.9 MiB", "–", "100.0 %"], rows
        assert rows["demo+0x1111"][:2] == ["69.0 MiB", "69.0 MiB"], rows
        page.click("#flame tr.row")
        page.click("#flame tr.opened button")
        assert len(page.js("return location.hash").split("fn=")) == 2
        assert page.complaints() == []


def test_runs_of_library_frames_are_one_box(case):
    with Browser(case) as page:
        opened(page, page_of(case, "held.gt"))
        press(page, "All created")
        folded = boxes(page)
        assert "library frames" in page.js("""
            const canvas = document.querySelector('.flame canvas');
            return canvas.boxes.map(({ node }) => node.folded ? `${node.folded} library frames` : '').join()""")
        press(page, "Library frames")
        whole = boxes(page)
        assert len(whole) > len(folded) and whole[0]["value"] == folded[0]["value"]
        assert "libraries=1" in page.js("return location.hash")
        assert page.complaints() == []


def test_a_function_is_one_box_for_all_its_calling_lines(case):
    done = case.gputrack("run", "-q", "-o", "leaky.gt", case.program("leaky"), env=case.pocl())
    assert done.status == 0, done.err
    with Browser(case) as page:
        opened(page, page_of(case, "leaky.gt"))
        press(page, "Resources")
        mains = [box for box in boxes(page) if box["name"] == "main"]
        assert len(mains) == 1 and mains[0]["value"] == 21
        assert re.search(r"leaky\.c:\d+, \d+$", mains[0]["place"]), mains
        assert page.complaints() == []


def test_pictures_of_the_flame_graph(case):
    catch = """window.saved = [];
        URL.createObjectURL = (blob) => { window.saved.push(blob); return 'data:,'; };"""
    with Browser(case) as page:
        opened(page, page_of(case, "markup.gt"))
        page.js(catch)
        press(page, "SVG")
        press(page, "PNG")
        page.wait("window.saved.length === 2")
        page.js("window.saved[0].text().then(text => { window.drawing = text; })")
        page.wait("window.drawing")
        drawing = page.js("return window.drawing")
        assert drawing.startswith("<svg") and drawing.count("<rect") > len(boxes(page)) and "<script" not in drawing
        assert "&lt;" in drawing, "names are text"
        assert page.js("return window.saved.map(b => b.type)") == ["image/svg+xml", "image/png"]
        assert page.js("return window.saved[1].size") > 1000
        assert page.complaints() == []


# Two recordings.

def compared(case, old, new):
    """The page of two recordings, and what `gputrack diff` says about them."""
    if not case.path(old).exists():
        recordings(case)
    case.need_page()
    done = case.gputrack("html", old, new)
    assert done.status == 0, done.err
    said = case.gputrack("diff", old, new, "--format", "json")
    return case.path(f"{new[:-3]}-diff.html"), json.loads(said.out)


def test_two_recordings_show_what_diff_says(case):
    path, said = compared(case, "before.gt", "after.gt")
    assert data_of(path)["diff"] == said and said["counts"]["new"] == said["counts"]["fixed"] == 1
    with Browser(case) as page:
        opened(page, path)
        words = {"new": "New", "grew": "Grew", "shrank": "Shrank", "fixed": "Fixed", "same": "As before"}
        rows = [[cell.strip() for cell in row.split("\t")] for row in page.texts("#leaks tr.row")]
        assert [(row[0], row[6]) for row in rows] == \
            [(words[site["change"]], site["place"]["text"]) for site in said["sites"]], rows
        assert rows[0][1:3] == ["+1.00 MiB", "+1"] and rows[3][1:3] == ["−1.00 MiB", "−1"], rows
        assert rows[0][3:5] == ["–", "1.00 MiB (1)"] and rows[3][3:5] == ["1.00 MiB (1)", "–"], rows
        saved = list(csv.DictReader(io.StringIO(page.saved("#leaks button.csv"))))
        assert [[row["Change"], *(int(row[f"{side} ({part})"]) for side in ("Before", "Now")
                                  for part in ("bytes", "resources"))] for row in saved] == \
            [[words[site["change"]], *(site[side][part] for side in ("old", "new") for part in ("bytes", "count"))]
             for site in said["sites"]], saved
        assert "1 new" in page.text(".verdicts") and "−128 KiB" in page.text(".verdicts")
        # the graph: each call site's bytes in both
        tips = {box["at"]: (box["old"], box["value"]) for box in boxes(page) if box["tips"]}
        wanted = {site["place"]["text"]: (site["old"]["bytes"], site["new"]["bytes"])
                  for site in said["sites"] if site["kind"] == "buffer"}
        assert tips == wanted, (tips, wanted)
        click(page, "upload")
        assert "0 B → 1.00 MiB, new" in page.text("#flame .readout"), page.text("#flame .readout")
        press(page, "At the peak")
        assert sum(box["value"] for box in boxes(page) if box["tips"]) == said["peak"]["new"]["device_bytes"]
        press(page, "Length", "#timeline")
        assert "align=length" in page.js("return location.hash")
        page.resize(400, 800)
        page.wait("document.documentElement.scrollWidth <= 400")  # charts follow once the page has
        page.click("#theme")
        assert page.complaints() == [] and page.requests() == [path.as_uri()]


def test_timelines_are_aligned_by_a_phase(case):
    path, _ = compared(case, "before.gt", "phases.gt")
    done = case.gputrack("html", "phases.gt", "phases.gt", "-o", "same.html")
    assert done.status == 0, done.err
    with Browser(case) as page:
        opened(page, path)  # nothing in common
        assert page.texts("#timeline .segmented button") == ["Start", "Peak", "Length"]
        opened(page, case.path("same.html"))
        press(page, "Phase", "#timeline")
        names = page.js("return [...document.querySelectorAll('#timeline option')].map(o => o.value)")
        assert "train > forward" in names, names
        times = {phase["name"]: phase["time_ns"] for phase in data_of(case.path("same.html"))["new"]["phases"]}
        created = [event for event in case.events("phases.gt") if event.get("phase") == "train > forward"]
        assert times["train > forward"] == min(event["time_ns"] for event in created)
        page.js("const s = document.querySelector('#timeline select'); s.value = 'train > forward';"
                "s.dispatchEvent(new Event('change'))")
        assert "phase=train" in page.js("return location.hash")
        assert page.complaints() == []


def test_hostile_names_are_inert_in_a_comparison(case):
    path, said = compared(case, "hostile.gt", "markup.gt")
    assert data_of(path)["diff"] == said
    with Browser(case) as page:
        opened(page, path)
        page.js("document.querySelectorAll('tr.row').forEach(n => n.click())")
        assert page.js("return window.owned ?? null") is None
        assert page.js("return document.scripts.length") == 2
        assert page.js("return document.querySelectorAll('img, b, iframe, object, main script').length") == 0
        assert "<script>window.owned=1</script>" in page.text("body")
        assert page.complaints() == []


# Keys.

def test_keys_are_listed_and_work(case):
    doc = (case.source / "doc" / "html.md").read_text(encoding="utf-8").split("## Keys\n")[1].split("\n\n")[0]
    documented = [[cell.strip() for cell in line.strip("|").split("|")] for line in doc.splitlines()[2:]]
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        page.key("?", shift=True)
        listed = page.js("return [...document.querySelectorAll('#keys tr')].map(row => "
                         "[...row.cells].map(cell => cell.textContent))")
        assert listed == documented, (listed, documented)
        assert page.js("return document.querySelector('#keys').open")
        page.key(ESCAPE)
        # it gives the focus back a moment later
        page.wait("!document.querySelector('#keys').open && document.activeElement === document.body")
        page.key("/")
        assert page.js("return document.activeElement.ariaLabel") == "Search the flame graph"
        page.key("?", shift=True)  # typed, no command
        assert page.js("return document.activeElement.value") == "?"
        page.js("document.activeElement.blur()")
        page.key("2")
        assert page.js("return location.hash.includes(document.querySelectorAll('#nav a')[1].hash.slice(1))")
        theme = page.text("#theme")
        page.key("t")
        assert page.text("#theme") != theme
        # every control can be reached, and has a name
        nameless = page.js("""return [...document.querySelectorAll('button, input, select, canvas[tabindex]')]
            .filter(n => !(n.textContent.trim() || n.ariaLabel || n.title)).map(n => n.outerHTML.slice(0, 100))""")
        assert nameless == []
        assert page.complaints() == []
