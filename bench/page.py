#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py BUILD_DIR - how quickly a page answers in a real browser, and what its tab takes.

Each figure is the time from the event until everything is drawn again, read back from the canvas.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import chromium  # noqa: E402
from browser import Browser  # noqa: E402
from nsys_export import BACKTRACE, Export  # noqa: E402

# a function's name, letter by letter; then back, and something that is nowhere
KEYS = ["f", "f1", "f12", "f1", "f", "m", "ma", "mak", "make", "x", "xy", "xyz", ""]
PAINTED = "document.querySelector('.flame canvas')?.getContext('2d').getImageData(0, 0, 1, 1);"
SEARCH = """
const input = document.querySelector('#flame input'), took = [];
for (const word of arguments[0]) {
  const begun = performance.now();
  input.value = word;
  input.dispatchEvent(new Event('input'));
  """ + PAINTED + """
  took.push(performance.now() - begun);
}
return took;"""
# the same, one at a time
TYPE = """
const input = document.querySelector('#flame input');
input.value = arguments[0];
input.dispatchEvent(new Event('input'));
""" + PAINTED
GO = """
history.replaceState(null, '', '#' + arguments[0]);
dispatchEvent(new PopStateEvent('popstate'));
""" + PAINTED
# as the reader's back button would: the address changes, and every view follows
CHOOSE = """
const took = [];
for (const words of arguments[0]) {
  history.replaceState(null, '', '#' + words);
  const begun = performance.now();
  dispatchEvent(new PopStateEvent('popstate'));
  """ + PAINTED + """
  took.push(performance.now() - begun);
}
return took;"""


class Folder:
    def __init__(self, path):
        self.folder = pathlib.Path(path)

    def path(self, name):
        return self.folder / name

    def skip(self, reason):
        sys.exit(f"page.py: {reason}")


def many_boxes(folder, gputrack, sites, frames):
    """A recording whose flame graph has about this many boxes, each wide enough to be drawn."""
    export = Export()
    for i in range(sites):
        stack = [(f"f{i}_{k}", "/app/program") for k in range(frames - 2)] + [("main", "/app/program")]
        export.call(10 * i, 10 * i + 5, i + 1, "cudaMalloc", BACKTRACE, stack=stack)
        export.alloc(10 * i + 1, 0x1000000 + i * (1 << 21), 1 << 20, correlation=i + 1)
    name = folder / f"boxes{sites}.gt"
    subprocess.run([gputrack, "import", "-q", export.save(folder / f"{sites}.sqlite"), "-o", name], check=True,
                   stderr=subprocess.DEVNULL)
    return name


def events(folder, build, count, shape):
    name = folder / f"{shape}{count}.gt"
    subprocess.run([build / "bench" / "make_events", name, str(count), shape], check=True)
    return name


def renderer_mib():
    """The proportional memory of the browser's biggest page process."""
    group, most = chromium.the_one.process.pid, 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) != group or b"--type=renderer" not in (process / "cmdline").read_bytes():
                continue
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    most = max(most, int(line.split()[1]))
        except OSError:
            continue
    return most / 1024


def thread_ms(browser, script, choices):
    """The median processor time of the page's thread for each, in ms: what other programs do hardly changes it."""
    def now():
        metrics = browser.cdp("Performance.getMetrics")["metrics"]
        return next(1000 * one["value"] for one in metrics if one["name"] == "TaskDuration")
    took = []
    for choice in choices:
        browser.js("return new Promise(done => requestIdleCallback(() => setTimeout(done)))")
        begun = now()
        browser.js(script, choice)
        took.append(now() - begun)
    return statistics.median(took)


def row(what, recording, gputrack, folder):
    page = folder / "page.html"
    subprocess.run([gputrack, "html", recording, "-o", page], check=True, stderr=subprocess.DEVNULL)
    with Browser(Folder(folder)) as browser:
        browser.cdp("Performance.enable", timeDomain="threadTicks")
        # as files without sources, all frames are a library's: show each
        browser.open(page.as_uri() + "#libraries=1")
        browser.wait("document.body.dataset.drawn === 'all' &&"
                     " performance.getEntriesByName('first-contentful-paint').length", 120)
        first = browser.js("return performance.getEntriesByName('first picture')[0].startTime")
        boxes = browser.js("return document.querySelector('.flame canvas').boxes.length")
        keys = browser.js(SEARCH, KEYS)
        end = browser.js("return JSON.parse(document.getElementById('data').textContent).end_ns") / 1e9
        in_range = [f"range={end * i / 12:.9f}-{end * (i + 2) / 12:.9f}&what=chosen" for i in range(10)]
        at_moment = [f"at={end * (i + 1) / 11:.9f}&what=chosen" for i in range(10)]
        ranges, moments = browser.js(CHOOSE, in_range), browser.js(CHOOSE, at_moment)
        threads = [thread_ms(browser, TYPE, KEYS), thread_ms(browser, GO, in_range), thread_ms(browser, GO, at_moment)]
        memory = renderer_mib()
    chromium.close()

    def spread(times):
        return f"{min(times):.0f}, {statistics.median(times):.0f}, {max(times):.0f}"
    print(f"| {what} | {page.stat().st_size / 1e6:.2f} | {first:.0f} | {boxes:,} | {spread(keys)} | {spread(ranges)} | "
          f"{spread(moments)} | {', '.join(f'{ms:.0f}' for ms in threads)} | {memory:.0f} |", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    gputrack = build / "gputrack"
    print("| page of | MB | first picture, ms | boxes | a key of the search, ms: min, median, most (goal: ≤ 100) | "
          "a range, ms: min, median, most (goal: ≤ 100) | a moment, ms: min, median, most | "
          "of the processor, ms, medians: key, range, moment | the tab, MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        row("5,500 boxes", many_boxes(folder, gputrack, 424, 14), gputrack, folder)
        row("50,000 boxes", many_boxes(folder, gputrack, 2400, 22), gputrack, folder)
        row("1 million events", events(folder, build, 1000000, "balanced"), gputrack, folder)
        row("10 million events", events(folder, build, 10000000, "balanced"), gputrack, folder)


main()
