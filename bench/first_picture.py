#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""first_picture.py PAGE ROUNDS - how long a page takes in a browser: `first | all`, min and median."""
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))
import chromium  # noqa: E402
from browser import Browser  # noqa: E402

TIMES = """
const marks = Object.fromEntries(performance.getEntriesByType("mark").map(m => [m.name, m.startTime]));
const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
return [Math.max(paint, marks["first picture"]), marks["all drawn"]];
"""


class Folder:
    def __init__(self, path):
        self.folder = pathlib.Path(path)

    def path(self, name):
        return self.folder / name

    def skip(self, reason):
        sys.exit(f"first_picture.py: {reason}")


def main():
    page, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    first, whole = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder, Browser(Folder(folder)) as browser:
            browser.open(page)
            browser.wait("document.body.dataset.drawn === 'all' &&"
                         " performance.getEntriesByName('first-contentful-paint').length", 60)
            times = browser.js(TIMES)
            first.append(times[0])
            whole.append(times[1])
        chromium.close()  # the next round starts cold, too
    print(" | ".join(f"{min(times):.0f}, {statistics.median(times):.0f}" for times in (first, whole)))


main()
