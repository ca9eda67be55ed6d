# SPDX-License-Identifier: MIT
"""test_html_blocks.py - single blocks on the page: which are in it, what they add up to, one in full."""
import itertools
import random

import test_pools
from browser import Browser
from pages import Blocks, data_of, last_values, lives_at, opened, page_of, recordings, row_times
from test_html_answers import choose

TOGETHER = True  # one browser
ON_DEVICE = ("device", "shared")


def pool_page(case, mode):
    done = test_pools.record(case, f"{mode}.gt", test_pools.program(case, 3, mode, 200, 3))
    assert done.status == 0, done.err
    return page_of(case, f"{mode}.gt")


def events_page(case, events, shape="balanced"):
    made = case.run(case.build / "bench" / "make_events", f"e{events}.gt", str(events), shape)
    assert made.status == 0, made.err
    return page_of(case, f"e{events}.gt")


def test_blocks_and_free_parts_are_the_timelines_total(case):
    """At every change of every golden recording and of pools: where all blocks are in the page, to the byte."""
    recordings(case)
    paths = [page_of(case, recording.name) for recording in sorted(case.folder.glob("*.gt"))]
    paths += [events_page(case, 3000), *(pool_page(case, mode) for mode in ("plain", "expandable", "private"))]
    segments = 0
    for path in paths:
        for one in data_of(path)["sets"]:
            blocks, rows = Blocks(one), one["rows"]
            totals = [row[2] for row in last_values(rows["device"])] if rows["device"] else []
            assert blocks.is_complete or one["pid"], path.name
            segments += len(blocks.segments)
            for time, total in itertools.islice(zip(row_times(rows), totals), 0, None, 1 + len(totals) // 200):
                found = sum(blocks.parts_at(time))
                if blocks.is_complete and rows["step_ns"] == 1:
                    assert min(found, 2**53 - 1) == total, (path.name, one["pid"], time, blocks.parts_at(time))
                else:
                    assert found <= total, (path.name, one["pid"], time)
    assert segments > 20


def test_cached_and_fragmented_parts_are_what_the_report_says(case):
    chance = random.Random(7)
    for mode in ("plain", "expandable"):
        one = data_of(pool_page(case, mode))["sets"][0]
        blocks, seen = Blocks(one), [0, 0]
        times = [time for time in row_times(one["rows"]) if all(blocks.parts_at(time))]
        for time in chance.sample(times, 4):
            report = case.report(f"{mode}.gt", "memory", "--at", f"{time / 1e9:.9f}")
            live, fragmented = report["pool"]["live_bytes"], report["pool"]["fragmented_bytes"]
            # a piece that is not mapped yet, or no longer, is cached here and none of the report's
            cached = report["pool"]["cached_bytes"] - fragmented
            found = blocks.parts_at(time)
            assert found[:2] == [live, fragmented], (mode, time, found, report["pool"])
            assert found[2] - cached in ((0,) if mode == "plain" else (0, 2 << 20)), (mode, time, found, report["pool"])
            seen = [sum(pair) for pair in zip(seen, (fragmented, cached))]
        assert all(seen), (mode, seen)


def shown_total(page):
    """Bytes of device memory at the selected moment, by the blocks' first line."""
    return int(page.js("return document.querySelector('#blocks .sum strong').title").split()[0].replace(",", ""))


def test_the_selected_moment_is_what_the_report_says_of_it(case):
    paths = {"leaks": page_of(case, "leaks.gt"), "plain": pool_page(case, "plain"),
             "e20000": events_page(case, 20000)}
    chance = random.Random(25)
    with Browser(case) as page:
        for name, path in paths.items():
            one = data_of(path)["sets"][0]
            devices = {kind["name"] for kind in one["kinds"] if kind["memory"] in ON_DEVICE}
            opened(page, path)
            assert shown_total(page) == one["peak"]["bytes"], name
            for time in chance.sample(row_times(one["rows"]), 3):
                moment = f"{time // 10**9}.{time % 10**9:09}"
                page.js("location.hash = `#at=${arguments[0]}`", moment)
                page.wait(f"Math.abs(Number(location.hash.slice(4)) - {moment}) < 1e-9")
                report = case.report(f"{name}.gt", "range", "--to", moment)
                wanted = sum(group["bytes"] for group in report["groups"] if group["kind"] in devices)
                page.wait(f"document.querySelector('#blocks .sum strong').title === "
                          f"'{wanted:,} bytes'", seconds=5)
        assert page.complaints() == []


def facts(page):
    """What the opened block says: name and value."""
    return page.js("return Object.fromEntries([...document.querySelectorAll('.block-facts dt')]"
                   ".map(term => [term.innerText, term.nextElementSibling.innerText]))")


def test_a_block_is_opened_by_mouse_keys_and_link(case):
    path = page_of(case, "leaks.gt")
    with Browser(case) as page:
        opened(page, path)
        assert page.js("return document.querySelector('#blocks [data-value=address]').disabled")
        page.js("document.querySelector('#blocks canvas').focus()")
        page.key("\ue014")  # right: the biggest block
        assert page.text(".block-detail h3") == "64.0 MiB, buffer"
        assert facts(page)["Life"] == "300.00 ms: from 500.00 ms to 800.00 ms", facts(page)
        calls = page.texts(".calls > div")
        assert calls[0].startswith("Allocated by\ndemo+0x1111") and calls[1].startswith("Freed by\ndemo+0x3111"), calls
        assert "block=500000000.5000" in page.js("return location.hash")
        page.key("\ue015")  # down
        assert page.text(".block-detail h3") == "2.86 MiB, image", page.text(".block-detail")
        assert "Never freed." in page.text(".calls")
        page.key("\ue006")  # enter: zoom to it
        zoomed = page.js("return location.hash")
        assert "zoom=" in zoomed and "level=" in zoomed, zoomed
        page.key("\ue00c")  # escape
        assert page.js("return document.querySelector('.block-detail').hidden")
        assert "zoom=" not in page.js("return location.hash")
        page.open("about:blank")
        page.open(path.resolve().as_uri() + zoomed)
        page.wait("document.body.dataset.drawn === 'all'")
        assert page.text(".block-detail h3") == "2.86 MiB, image"
        # the mouse: in the middle of the first third of a second after it was allocated is the big one
        page.click("#blocks [aria-label='Show all blocks']")
        page.js("""
            const canvas = document.querySelector('#blocks canvas'), box = canvas.getBoundingClientRect();
            const at = { clientX: box.left + 72 + (box.width - 96) * 0.65 / 2.4, clientY: box.top + 200, bubbles: true };
            canvas.dispatchEvent(new PointerEvent('pointermove', at));
            window.said = document.querySelector('#blocks .readout').innerText;
            canvas.dispatchEvent(new PointerEvent('pointerdown', at));
            dispatchEvent(new PointerEvent('pointerup', at));""")
        assert page.js("return said").startswith("64.0 MiB  ·  buffer  ·  300.00 ms: from 500.00 ms"), page.js("return said")
        assert page.text(".block-detail h3") == "64.0 MiB, buffer"
        # a drag selects a range, as on the timeline
        page.drag("#blocks canvas", 0.3, 0.5)
        assert "range=0.5-1.15" in page.js("return location.hash"), page.js("return location.hash")
        # filters
        page.type("#filter", "kind:image")
        assert shown_total(page) < 3 << 20
        assert page.complaints() == []


def test_blocks_are_a_table_and_a_picture(case):
    path = page_of(case, "leaks.gt")
    with Browser(case, width=400) as page:
        opened(page, path)
        assert page.js("return document.documentElement.scrollWidth") <= 400
        page.js("document.querySelector('#blocks details.functions').open = true")
        page.wait("document.querySelectorAll('#blocks tr.row').length === 8")
        page.js("window.blobs = []; URL.createObjectURL = blob => { blobs.push(blob); return '#'; }")
        page.click("#blocks button.csv")
        page.click("#blocks .pictures button")
        page.wait("blobs.length === 2")
        page.js("blobs.find(b => b.type === 'text/csv').text().then(text => { window.csv = text; })")
        page.wait("window.csv")
        lines = page.js("return csv").splitlines()
        assert lines[0] == "Size,Allocated,Freed,Lifetime,Kind,Address,Where,Freed by" and len(lines) == 9, lines
        assert lines[1].startswith("67108864,0.5,0.8,0.3"), lines[1]
        assert page.js("return blobs.find(b => b.type === 'image/png').size") > 1000
        # of a range: those that lived in it, and it says so, of none, too
        for start, end, count in ((0.6, 0.7, sum(alive_in(line, 0.6, 0.7) for line in lines[1:])), (0, 0.000000001, 0)):
            choose(page, f"#range={start:.9f}-{end:.9f}")
            page.wait(f"document.querySelectorAll('#blocks tr.row').length === {count}")
            assert f"{count} of 8 blocks lived in the selected range." in page.text("#blocks details"), (start, end)
        assert page.complaints() == []


def alive_in(line, start, end):
    """Of a row of the table, as CSV."""
    born, ended = line.split(",")[1:3]
    return float(born) <= end and (ended == "never" or float(ended) > start)


def test_segments_of_pools_are_shown_by_address(case):
    path = pool_page(case, "plain")
    blocks = Blocks(data_of(path)["sets"][0])
    with Browser(case) as page:
        page.open(path.resolve().as_uri() + "#order=address")
        page.wait("document.body.dataset.drawn === 'all'")
        legend = page.texts("#blocks .legend .key")
        assert legend[-2:] == ["cached", "fragmented"], legend
        # each block that the keys reach lies in its segment
        inside = [b for b in blocks.blocks if any(s["address"] <= b["handle"] < s["address"] + s["size"] and
                                                  lives_at(s, b["born"]) for s in blocks.segments)]
        assert len(inside) == len(blocks.blocks)
        page.js("document.querySelector('#blocks canvas').focus()")
        page.key("\ue014")
        assert "MiB at 0x" in facts(page)["Segment"], facts(page)
        assert "No stack of the call that freed it was recorded." in page.text(".calls")
        name = f"s{blocks.segments[0]['born']}.{blocks.segments[0]['address']:x}"
        page.js("location.hash = `#order=address&block=${arguments[0]}`", name)
        page.wait("document.querySelector('.block-detail h3').innerText.includes('cache segment')")
        assert page.text(".block-detail h3").endswith("PyTorch cache segment")
        page.js("document.querySelector('#blocks canvas').focus()")
        page.key("o")
        assert "order=" not in page.js("return location.hash"), page.js("return location.hash")
        assert page.js("return document.querySelector('#blocks [data-value=age]').getAttribute('aria-pressed')") == "true"
        assert page.complaints() == []
