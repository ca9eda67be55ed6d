# SPDX-License-Identifier: MIT
"""pages.py - makes the page of a recording, opens it in a browser, and reads its data."""
import json
import re


def recordings(case):
    """The golden tests' recordings, in the case's folder."""
    made = case.run(case.build / "tests" / "golden" / "make_recordings", ".")
    assert made.status == 0, made.err


def page_of(case, name, *options):
    """The page of one of them; skipped where the page was left out of the build."""
    if not (case.folder / "leaks.gt").exists():
        recordings(case)
    done = case.gputrack("html", name, *options)
    if "built without the HTML page" in done.err:
        case.skip("gputrack was built without the HTML page")
    assert done.status == 0, done.err
    path = case.path(name.rsplit(".", 1)[0] + ".html")
    assert path.exists(), done.err
    return path


def opened(browser, path):
    browser.open(path)
    browser.wait("document.body.dataset.drawn === 'all'")
    return browser


def data_of(path):
    """The data in the page, parsed as JSON."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert len(found) == 1, "names have ended the data's element"
    return json.loads(found[0])
