# SPDX-License-Identifier: MIT
"""test_html_choices.py - what a reader chooses on the page: links, ranges, filters."""
from browser import Browser
from pages import opened, page_of

TOGETHER = True  # one browser


def fragment(page):
    return page.js("return location.hash")


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
