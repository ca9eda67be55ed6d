# SPDX-License-Identifier: MIT
"""test_html_choices.py - what a reader chooses on the page: links, ranges, filters."""
import collections
import random

from browser import Browser
from pages import Lives, data_of, opened, page_of, recordings

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
    for name, ranges in (("leaks.gt", 3), ("family.gt", 3), ("r3000.gt", 3), ("r60000.gt", 2)):
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
