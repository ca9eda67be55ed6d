# SPDX-License-Identifier: MIT
"""test_html_looks.py - how the page looks: wide and narrow, light and dark, on paper."""
import re

from browser import Browser
from pages import opened, page_of, recordings
from test_html import tracker_page

TOGETHER = True  # one browser


def test_nothing_is_wider_than_a_phone_screen(case):
    names = ("leaks.gt", "markup.gt", "hostile.gt", "family.gt", "mistakes.gt", "silent.gt")
    paths = [page_of(case, name) for name in names] + [tracker_page(case)]
    with Browser(case, width=400, height=800) as page:
        for path in paths:
            for width in (400, 1280):
                page.resize(width, 800)
                opened(page, path)
                page.js("document.querySelectorAll('tr.row').forEach(n => n.click())")
                assert page.js("return document.documentElement.scrollWidth") <= width, path.name


def test_numbers_have_their_titles_on_a_narrow_screen(case):
    """Where columns become lines, nothing is below its title."""
    paths = [page_of(case, name) for name in ("leaks.gt", "growing.gt")]
    for names in (("before.gt", "after.gt"), ("before.gt", "after.gt", "leaks.gt")):
        assert case.gputrack("html", *names, "-o", f"{len(names)}.html").status == 0
        paths.append(case.path(f"{len(names)}.html"))
    shown = """return [...document.querySelectorAll('tr.row td')].filter((n) => n.offsetWidth && n.innerText)
        .map((n) => [n.className, getComputedStyle(n, '::before').content, n.innerText])"""
    titles = set()
    with Browser(case, width=400, height=800) as page:
        for path in paths:
            page.resize(400, 800)
            opened(page, path)
            cells = page.js(shown)
            assert all(title != "none" for kind, title, _ in cells if kind.split()[0] in ("num", "tests")), cells
            assert all(title == "none" for kind, title, _ in cells if kind in ("site", "kind")), cells
            titles.update(title.strip('" ') for _, title, _ in cells)
            # each in a line of its own or beside another, none over another
            assert page.js("""return [...document.querySelectorAll('tr.row')].every((row) =>
                [...row.cells].filter((n) => n.offsetWidth).every((n, i, all) => all.slice(i + 1).every((m) => {
                  const a = n.getBoundingClientRect(), b = m.getBoundingClientRect();
                  return b.top >= a.bottom - 1 || b.left >= a.right; })))"""), path.name
            page.resize(1280, 800)
            assert {title for _, title, _ in page.js(shown)} == {"none"}, path.name
    assert {"Bytes", "Count", "Alive at end", "Total", "Growth", "Runs", "Leaked", "Peak", "In"} <= titles, titles


def test_buttons_of_a_chart_are_below_it(case):
    path = tracker_page(case)
    gaps = """return [...document.querySelectorAll('.panel .pictures')].map((n) =>
        n.querySelector('button').getBoundingClientRect().top - n.previousElementSibling.getBoundingClientRect().bottom)"""
    with Browser(case) as page:
        for width in (1600, 400):
            page.resize(width, 900)
            opened(page, path)
            found = page.js(gaps)
            assert len(found) > 8 and min(found) >= 6, (width, found)


def test_dark_and_light(case):
    path = page_of(case, "leaks.gt")
    ground = "return getComputedStyle(document.body).backgroundColor"
    with Browser(case, dark=True) as page:
        opened(page, path)
        dark = page.js(ground)
        page.click("#theme")
        light = page.js(ground)
        assert dark != light and page.text("#theme") == "Dark"


def linear(part):
    return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4


def contrast(one, other):
    """Of two colours of 0 to 255, as WCAG 2 defines it."""
    lights = sorted((sum(weight * linear(part / 255) for weight, part in zip((0.2126, 0.7152, 0.0722), rgb))
                     for rgb in (one, other)), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def test_text_has_the_contrast_that_wcag_aa_asks_for(case):
    css = (case.source / "viewer" / "page.css").read_text(encoding="utf-8")
    for theme in (0, 1):
        inks = {name: tuple(int(pair[theme][i:i + 2], 16) for i in (1, 3, 5)) for name, *pair in
                re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)}
        assert len(inks) > 25

        def mix(first, second, share):
            return tuple(a * share + b * (1 - share) for a, b in zip(inks[first], inks[second]))
        texts = [(ink, ground, inks[ground]) for ink in ("ink", "dim", "accent", "bad", "warn", "good")
                 for ground in ("paper", "ground")]
        texts += [("bad", "bad-ground", inks["bad-ground"]), ("ink", "bad-ground", inks["bad-ground"]),
                  ("paper", "a hit", inks["accent"])]
        # the flame graph: functions, library frames, kinds, changes at their strongest
        texts += [("ink", f"h{i}", inks[f"h{i}"]) for i in range(5)]
        texts += [("dim", "library", mix("h4", "ground", 0.35))]
        texts += [("ink", f"kind {i}", mix(f"k{i}", "paper", 0.42)) for i in range(8)]
        texts += [("ink", name, mix(name, "paper", share)) for name in ("grown", "shrunk") for share in (0.15, 0.6)]
        for ink, name, ground in texts:
            assert contrast(inks[ink], ground) >= 4.5, (("light", "dark")[theme], ink, name,
                                                        contrast(inks[ink], ground))
        for ground in ("paper", "ground"):
            assert contrast(inks["edge"], inks[ground]) >= 3, ("the edges of controls", theme)


# what is written into the flame graph when it is painted again: text, its colour, its strength, the colour below it
NAMES = """
const canvas = document.querySelector('.flame canvas'), { prototype } = CanvasRenderingContext2D;
const write = prototype.fillText, names = [];
prototype.fillText = function (text, x, y, ...more) {
  if (this.canvas === canvas)
    names.push([text, this.fillStyle, this.globalAlpha, Math.round(x - 3), Math.round(y - 8)]);
  return write.call(this, text, x, y, ...more);
};
canvas.dispatchEvent(new Event('blur'));
prototype.fillText = write;
const ctx = canvas.getContext('2d');
return names.map(([text, ink, strength, x, y]) => [text, ink, strength, [...ctx.getImageData(x, y, 1, 1).data].slice(0, 3)])"""


def test_names_in_pale_boxes_can_be_read(case):
    """While a search or a zoom makes boxes pale; in a comparison, too."""
    path = page_of(case, "leaks.gt")
    assert case.gputrack("html", "before.gt", "after.gt", "-o", "two.html").status == 0
    chosen = ("", "#what=peak&search=0x1111", "#libraries=1&search=nowhere&what=total")
    for dark in (False, True):
        with Browser(case, dark=dark) as page:
            for one in (path, case.path("two.html")):
                for words in chosen:
                    page.open("about:blank")
                    page.open(one.as_uri() + words)
                    page.wait("document.body.dataset.drawn === 'all'")
                    for zoomed in (False, True):
                        if zoomed:
                            page.js("const c = document.querySelector('.flame canvas'); c.focus();"
                                    "for (const key of ['ArrowDown', 'ArrowDown', 'Enter'])"
                                    "  c.dispatchEvent(new KeyboardEvent('keydown', { key }))")
                        names = page.js(NAMES)
                        assert names, (one.name, dark, words)
                        for text, ink, strength, ground in names:
                            rgb = [int(ink[i:i + 2], 16) for i in (1, 3, 5)]
                            seen = [a * strength + b * (1 - strength) for a, b in zip(rgb, ground)]
                            assert contrast(seen, ground) >= 4.5, (one.name, dark, words, text, contrast(seen, ground))


def test_printed_pages_are_white(case):
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    with Browser(case, dark=True) as page:
        opened(page, page_of(case, "leaks.gt"))
        page.cdp("Emulation.setEmulatedMedia", media="print", features=dark)
        assert page.js(style, "nav", "display") == "none"
        assert page.js(style, "body", "backgroundColor") == "rgb(255, 255, 255)"
        assert page.js(style, "#timeline canvas", "filter").startswith("invert(1)")
        assert page.js(style, ".swatch", "printColorAdjust") == "exact"
        # paper is narrower than the window that the charts were drawn for
        page.js("document.querySelector('#timeline .chart').style.width = '300px'")
        assert page.js("return document.querySelector('#timeline canvas').clientWidth") < 300
        page.click("#theme")
        assert page.js(style, "#timeline canvas", "filter") == "none"
        # before it is printed, a dark page is drawn in light colours; then it is dark again
        page.click("#theme")
        paper = "return document.documentElement.dataset.theme"
        page.js("window.inks = []; addEventListener('beforeprint', () => {"
                "window.inks.push(document.documentElement.dataset.theme, document.documentElement.dataset.ink); })")
        assert len(page.cdp("Page.printToPDF")["data"]) > 10000
        assert page.js("return window.inks") == ["light", "dark"] and page.js(paper) == "dark"


def test_a_printed_page_has_every_section(case):
    recordings(case)
    with Browser(case) as page:
        opened(page, page_of(case, "mistakes.gt"))
        sections = page.texts("section h2")
        page.cdp("Emulation.setEmulatedMedia", media="print")
        try:
            assert page.js("return [...document.querySelectorAll('section')].every(n => n.offsetHeight > 20)")
            assert page.js("return [...document.querySelectorAll('.controls, nav, .readout, input, .key.peak')]"
                           ".every(n => !n.offsetHeight)")
            # all cards beside each other
            assert len(page.js("return [...new Set([...document.querySelectorAll('.verdicts > *')]"
                               ".map(n => n.getBoundingClientRect().top))]")) == 1
            assert len(sections) > 5
            printed = page.cdp("Page.printToPDF")["data"]
            assert len(re.findall("JVBER", printed[:8])) == 1 and len(printed) > 20000
        finally:
            page.cdp("Emulation.setEmulatedMedia", media="")
        assert page.complaints() == []
