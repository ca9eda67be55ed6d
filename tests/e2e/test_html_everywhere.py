# SPDX-License-Identifier: MIT
"""test_html_everywhere.py - everything the page offers, used on recordings of every kind.

Of no, one, 33 and a million events (GPUTRACK_TEST_LONG=1: of ten million, too), of 32 processes, of three APIs, and of
hostile names. What each answer says is compared with reports elsewhere; here the parts must add up to what is shown.
"""
import math
import random
import re

from browser import Browser
from pages import Blocks, data_of, opened, page_of, recordings
from test_html_answers import LONG, imported, made, processes, rows_of, several_apis
from test_html_flame import click

TOGETHER = True  # one browser
RIGHT, ENTER, ESCAPE = "\ue014", "\ue007", "\ue00c"
PRESSED = "document.querySelector('#flame [data-value=\"%s\"]')"
# of the flame graph that is drawn: the value of its root, and whether that of each box is what is in it
ROOT = """const boxes = document.querySelector('.flame canvas').boxes;
    return boxes.length ? boxes.reduce((a, b) => b.share > a.share ? b : a).node.value : 0"""
CHILDREN = """return document.querySelector('.flame canvas').boxes.every(({ node: { value, sorted } }) =>
    !sorted.length || Math.abs(sorted.reduce((sum, one) => sum + one.value, 0) - value) <= 1e-12 * value)"""


def fragment(page):
    return page.js("return decodeURIComponent(location.hash)")


def range_of(words):
    return tuple(map(float, re.search(r"range=([\d.]+)-([\d.]+)", words).groups()))


def near(a, b):
    """As exact as numbers beyond 2^53 are."""
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=0.5)


def focus(page, selector):
    page.js("document.querySelector(arguments[0]).focus({ preventScroll: true })", selector)


def use_range(page, name, is_sparse=False):
    """Selects one by the mouse, extends it by keys and mouse; what it left is what it allocated and did not free."""
    page.drag("#timeline .u-over", 0.3, 0.6)
    first = fragment(page)
    focus(page, "#timeline .chart")
    page.key(RIGHT, shift=True)
    page.drag("#timeline .u-over", 0.6, 0.9, shift=True)
    assert "range=" in first and page.text(".range h3").startswith("From "), name
    (start, end), (from_start, to_end) = range_of(first), range_of(fragment(page))
    assert from_start <= start and to_end >= end, (name, first, fragment(page))
    assert is_sparse or fragment(page) != first, name  # between the two there may be no step
    rows = rows_of(page.saved(".range button.csv"))
    for unit in ("bytes", "resources"):
        def total(part):
            return sum(int(row[f"{part} ({unit})"]) for row in rows)
        assert near(total("Allocated") - total("Freed"), total("Difference")), (name, unit)
        assert total("Left behind") <= total("Allocated"), (name, unit)
    for part, title in (("left", "Left behind"), ("freed", "Freed"), ("allocated", "Allocated")):
        page.click(f".range [data-value='{part}']")
        page.click("#flame [data-value='chosen']")
        unit = "bytes" if page.js(f"return {PRESSED % 'bytes'}?.getAttribute('aria-pressed')") == "true" else "resources"
        assert near(page.js(ROOT), sum(int(row[f"{title} ({unit})"]) for row in rows)), (name, part)
    page.click(".range [data-value='left']")


def use_flame(page, name):
    """Each choice, both ways up and round, one function alone, a search; nothing is lost on the way."""
    choices = page.js("return [...document.querySelectorAll('#flame .segmented')].map(g => "
                      "[...g.querySelectorAll('button:not(:disabled)')].map(b => b.dataset.value))")
    for what in choices[0]:
        for measure in choices[1]:
            page.click(f"#flame [data-value='{what}']")
            page.click(f"#flame [data-value='{measure}']")
            whole = page.js(ROOT)
            assert page.js(CHILDREN), (name, what, measure)
            for change in ("Callees first", "Flame", "Library frames", "Callees first", "Icicle", "Library frames"):
                page.js("[...document.querySelectorAll('#flame button')].find(b => b.textContent === arguments[0])?.click()",
                        change)
                assert near(page.js(ROOT), whole), (name, what, measure, change)
    page.type("#flame input", "a")
    assert "% matched" in page.text("#flame") or "no match" in page.text("#flame"), name
    page.type("#flame input", "")
    page.click("#flame [data-value='total']")
    click(page, page.js("return document.querySelector('.flame canvas').boxes.find(b => b.node.fn).node.name"), shift=True)
    assert "fn=" in fragment(page), name
    focus(page, ".flame canvas")
    page.key(ESCAPE)
    assert "fn=" not in fragment(page), name


def use_blocks(page, path, name):
    """A block by keys: its life and stacks, and a view of it alone; then those of a range, and all, as a table."""
    focus(page, "#blocks canvas")
    page.key(RIGHT)
    assert "block=" in fragment(page) and "Allocated by" in page.text(".block-detail"), (name, page.text("#blocks"))
    page.key(ENTER)
    assert "zoom=" in fragment(page), name
    page.key("o")
    page.key("o")
    page.key(ESCAPE)
    assert "block=" not in fragment(page) and "zoom=" not in fragment(page), name
    page.js("document.querySelector('#blocks details.functions').open = true")
    page.wait("document.querySelector('#blocks details table')")
    start, end = range_of(fragment(page))
    in_range = rows_of(page.saved("#blocks details .csv"))  # none, if no program had a block then
    focus(page, "#timeline .chart")
    page.key(ESCAPE)
    assert "range=" not in fragment(page), name
    rows = rows_of(page.saved("#blocks details .csv"))
    assert len(rows) == Blocks(data_of(path)["sets"][0]).raw["count"] > 0, (name, len(rows))
    # the link has the range's ends to a nanosecond or less: what is that near to one may be in it or not
    assert_between(in_range, [row for row in rows if lived(row, start + 1e-9, end - 1e-9)],
                   [row for row in rows if lived(row, start - 1e-9, end + 1e-9)], name)


def lived(row, start, end):
    return float(row["Allocated"]) <= end and (row["Freed"] == "never" or float(row["Freed"]) > start)


def assert_between(rows, least, most, name):
    assert all(row in rows for row in least) and all(row in most for row in rows), (name, len(least), len(rows), len(most))


def use_filter(page, name):
    """Of one kind: every view has it alone. Without the filter they are as before."""
    before = page.text("#main")
    kind = page.js("return document.querySelector('#sites td.kind').innerText")
    page.type("#filter", f'kind="{kind}"')
    assert page.js("return document.querySelectorAll('.chip').length") == 1, name
    for table in ("#sites", "#leaks"):
        kinds = page.js("return [...new Set([...document.querySelectorAll(arguments[0])].map(n => n.innerText))]",
                        f"{table} td.kind")
        assert kinds in ([kind], []), (name, table, kinds)
    tips = page.js("return [...new Set(document.querySelector('.flame canvas').boxes.map(b => b.node.kind?.name))]")
    assert {tip for tip in tips if tip} <= {kind}, (name, tips)
    page.click(".chip button")
    page.wait("!document.querySelector('.chip')")
    assert page.text("#main") == before, name


def use_link(page, path, name):
    """What is chosen, opened anew by its address; and back."""
    words = fragment(page)
    kept = ".range h3" if "range=" in words else ".moment h3"
    before = page.text(kept)
    link = page.js("return location.href")
    page.open("about:blank")
    page.open(link)
    page.wait("document.body.dataset.drawn === 'all'")
    assert page.text(kept) == before and fragment(page) == words, (name, words, fragment(page))
    page.js("document.querySelector('#nav a').click()")
    assert fragment(page) != words, name
    page.js("history.back()")
    page.wait("decodeURIComponent(location.hash) === " + repr(words))
    assert page.text(kept) == before, name


def open_everything(page, name):
    """At the peak: all call sites can be listed, and they add up."""
    focus(page, "#timeline .chart")
    page.key(ESCAPE)
    page.key("p")
    rows = rows_of(page.saved(".moment button.csv"))
    for _ in range(100):
        if not page.js("const b = [...document.querySelectorAll('.moment .more')].find(b => b.offsetWidth);"
                       "b?.click(); return !!b"):
            break
    count = int(page.js("return document.querySelector('.moment').innerText.match(/([\\d,]+) resources?/)[1]").replace(",", ""))
    assert sum(int(row["Resources"]) for row in rows) == count, (name, count, rows[:3])
    # what the list shows: each call site, and those that the page does not have
    shown = page.js("return document.querySelectorAll('.moment details').length")
    assert shown in (len(rows), len(rows) - 1), (name, shown, len(rows))


def use_everything(case, page, name, is_sparse=False):
    path = page_of(case, name)
    opened(page, path)
    page.key("?")
    assert page.js("return document.getElementById('keys').open"), name
    page.key(ESCAPE)
    use_range(page, name, is_sparse)
    use_link(page, path, name)
    use_flame(page, name)
    use_filter(page, name)
    use_blocks(page, path, name)
    open_everything(page, name)
    assert page.js("return [...document.querySelectorAll('main table')].every(t => t.getAttribute('aria-label'))"), name
    assert page.js("return document.querySelectorAll('main script, main img, main iframe').length") == 0, name
    assert page.complaints() == [] and path.as_uri() in page.requests(), name


def test_a_page_without_events_can_be_used(case):
    with Browser(case) as page:
        opened(page, page_of(case, "untracked.gt"))
        assert "Nothing was tracked" in page.text("main")
        page.key("?")
        assert page.js("return document.getElementById('keys').open")
        page.key(ESCAPE)
        page.key("t")
        assert page.js("return document.querySelectorAll('#timeline, #flame, #blocks').length") == 0
        assert page.complaints() == []


def test_pages_of_one_and_33_events_can_be_used(case):
    recordings(case)
    with Browser(case) as page:
        use_everything(case, page, imported(case, "one.gt", 1), is_sparse=True)
        use_everything(case, page, imported(case, "some.gt", 33))


def test_a_page_of_millions_of_events_can_be_used(case):
    recordings(case)
    with Browser(case) as page:
        use_everything(case, page, made(case, "a_million.gt", 1000000))
        if LONG:
            use_everything(case, page, made(case, "ten_million.gt", 10000000))


def test_a_page_of_32_processes_can_be_used(case):
    recordings(case)
    name = processes(case, "family32.gt", 32)
    with Browser(case) as page:
        use_everything(case, page, name)
        # one process alone, too
        pid = random.Random(3).choice(page.js("return [...document.querySelector('#process').options].slice(1, 13)"
                                              ".map(o => o.value)"))
        page.js("const p = document.querySelector('#process'); p.value = arguments[0];"
                "p.dispatchEvent(new Event('change'))", pid)
        assert f"pid={pid}" in fragment(page)
        use_range(page, pid)
        use_flame(page, pid)
        assert page.complaints() == []


def test_a_page_of_three_apis_can_be_used(case):
    recordings(case)
    with Browser(case) as page:
        use_everything(case, page, several_apis(case, "apis.gt"), is_sparse=True)


def test_pages_of_hostile_names_can_be_used(case):
    recordings(case)
    with Browser(case) as page:
        for name in ("hostile.gt", "markup.gt"):
            use_everything(case, page, name, is_sparse=True)
