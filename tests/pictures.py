#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures.py - draws the README's pictures anew: the page by Chromium, the report from its ANSI output.

usage: tests/pictures.py     in a checkout that is built in build/, after ./dev demo

page.png is the page of samples/guide/before/train.py, problem 5 of doc/guide.md; report.svg is what
`gputrack report` prints of the demo's recording on a terminal.
"""
import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "doc" / "pictures"
RECORDING = ROOT / "build" / "demo.gt"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from browser import Browser  # noqa: E402

PAGE_HEIGHT = 975  # up to the end of what was alive at the peak
COLUMNS, CELL, LINE, EDGE = 80, 8.43, 19, 16
STYLE = {"1": "font-weight:bold", "2": "fill:#7d8590", "31": "fill:#ff7b72", "32": "fill:#3fb950",
         "33": "fill:#d29922", "36": "fill:#39c5cf"}


class Place:
    """What the browser asks of a test: a folder, and whom to tell when it is missing."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, name):
        return self.folder / name

    def skip(self, reason):
        sys.exit(f"pictures.py: {reason}")


def gputrack(*words, **environment):
    done = subprocess.run([ROOT / "build" / "gputrack", *words], cwd=ROOT, capture_output=True,
                          text=True, env=dict(os.environ, GPUTRACK_CONFIG="", LC_ALL="C.UTF-8",
                                              TZ="UTC", PATH=f"{ROOT}/build:{os.environ['PATH']}",
                                              **environment))
    if done.returncode:
        sys.exit(f"pictures.py: {done.stderr}")
    return done.stdout


def draw_page():
    with tempfile.TemporaryDirectory() as folder:
        page, recording = pathlib.Path(folder) / "page.html", f"{folder}/train.gt"
        gputrack("run", "-q", "-o", recording, "python3", "samples/guide/before/train.py",
                 OCL_ICD_VENDORS="pocl.icd", PYTHONDONTWRITEBYTECODE="1")
        gputrack("html", recording, "-o", str(page))
        with Browser(Place(folder), width=1280, height=PAGE_HEIGHT) as browser:
            browser.open(page)
            browser.wait("document.querySelector('#timeline canvas')")
            browser.screenshot(PICTURES / "page.png")


def spans(line):
    """Pieces of a line with the style that its escapes give them."""
    style, column = [], 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if code:
            style = [STYLE[c] for c in code[1].split(";") if c in STYLE]
        elif piece:
            yield column, ";".join(style), piece
            column += len(piece)


def draw_report():
    command = "gputrack report build/demo.gt"
    lines = gputrack("report", str(RECORDING), "--color", "always", COLUMNS=str(COLUMNS))
    lines = ["\x1b[1m$ " + command + "\x1b[0m", *lines.rstrip().splitlines()]
    width, height = COLUMNS * CELL + 2 * EDGE, len(lines) * LINE + 2 * EDGE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
           f'viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{command}">',
           '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
           '<g fill="#e6edf3" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" '
           'font-size="14">']
    for row, line in enumerate(lines):
        for column, style, text in spans(line):
            for words in re.finditer(r"\S+(?: \S+)*", text):  # runs of blanks would be made one
                x = EDGE + (column + words.start()) * CELL
                out.append(f'<text x="{x:.1f}" y="{EDGE + row * LINE + 14}" '
                           f'textLength="{len(words[0]) * CELL:.1f}"'
                           + (f' style="{style}"' if style else "")
                           + f'>{html.escape(words[0])}</text>')
    (PICTURES / "report.svg").write_text("\n".join([*out, "</g>", "</svg>"]) + "\n", encoding="utf-8")


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    if not RECORDING.exists():
        sys.exit("pictures.py: build/demo.gt is missing; run ./dev demo first")
    draw_page()
    draw_report()


if __name__ == "__main__":
    main()
