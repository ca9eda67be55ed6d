#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures.py - redraws the README's picture: the page, as Chromium shows it.

usage: tests/pictures.py     in a checkout that is built in build/

page.png is the page of samples/guide/before/train.py, problem 5 of doc/guide.md.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "doc" / "pictures"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from browser import Browser  # noqa: E402

PAGE_HEIGHT = 975  # up to the end of what was alive at the peak


class Place:
    """The part of a test case the browser needs: a folder, and a way to skip."""

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


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    draw_page()


if __name__ == "__main__":
    main()
