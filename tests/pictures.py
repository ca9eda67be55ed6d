#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures.py - redraws the pictures of README and doc/: the page, as Chromium shows it.

usage: tests/pictures.py     in a checkout that is built in build/

page.png is the page of samples/guide/before/train.py, problem 5 of doc/guide.md; blocks.png the blocks of a pool in the
manner of PyTorch's, over the stand-in driver. Those of SHOWN are of a program that is made up (see `training`);
tests/e2e/test_html_answers.py draws them in every run.
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
from nsys_export import BACKTRACE, Export  # noqa: E402

PAGE_HEIGHT = 1036  # up to the end of what was alive at the peak


class Place:
    """The part of a test case the browser needs: a folder, and a way to skip."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, name):
        return self.folder / name

    def skip(self, reason):
        sys.exit(f"pictures.py: {reason}")


MIB = 1 << 20
STEPS, STEP_NS = 40, 25_000_000
# of a step: where, how much, and after which part of it that is freed; None: never
STEP = (("Embedding::forward", 24, 0.9), ("Attention::forward", 96, 0.8), ("Attention::softmax", 48, 0.5),
        ("Linear::forward", 64, 0.75), ("Linear::backward", 80, 0.7), ("Adam::step", 12, 0.95),
        ("Metrics::remember", 3, None))
# name: the recordings, what is selected, width, height, dark
SHOWN = {
    "page-range.webp": (["now"], "range=0.50875-0.60875&what=chosen", 1280, 1010, False),
    "page-flame-dark.webp": (["now"], "flame&what=peak&search=forward&libraries=1", 1280, 420, True),
    "page-compare.webp": (["before", "now"], "", 1280, 1000, False),
    "page-narrow.webp": (["now"], "range=0.50875-0.60875&what=chosen", 400, 1010, False),
    "page-narrow-dark.webp": (["now"], "at=0.52&what=chosen", 400, 1010, True),
}


def training(path, leaks):
    """The profile of a program that trains for a second; if it leaks, its metrics stay on the device."""
    export, number = Export(), 0
    export.processes[100] = "./train"

    def allocate(time, name, size, outer):
        nonlocal number
        number += 1
        export.call(time - 500, time + 500, number, "cudaMalloc", BACKTRACE,
                    stack=[(name, "/app/train"), *((one, "/app/train") for one in (*outer, "main"))])
        export.alloc(time, 0x7f0000000000 + number * (1 << 28), size, correlation=number)
        return 0x7f0000000000 + number * (1 << 28), size

    weights = [allocate(1_000_000 * i, name, size * MIB, ("Model::load",)) for i, (name, size) in
               enumerate((("Linear::Linear", 160), ("Attention::Attention", 120), ("Embedding::Embedding", 60)), 1)]
    for step in range(STEPS):
        start = 10_000_000 + step * STEP_NS
        for i, (name, size, until) in enumerate(STEP):
            block = allocate(start + 1_500_000 * i, name, size * MIB + 4096 * (step % 5), ("train_step", "train"))
            if until or not leaks:
                export.free(start + int(STEP_NS * (until or 0.97)), *block)
    for i, block in enumerate(weights):
        export.free(10_000_000 + STEPS * STEP_NS + 1_000_000 * i, *block)
    return export.save(path)


def draw_answers(folder, into, run):
    """Draws SHOWN. `run(words…)` runs gputrack in the folder."""
    for name in ("before", "now"):
        run("import", "-q", training(folder / f"{name}.sqlite", name == "now"), "-o", f"{name}.gt")
    for name, (names, fragment, width, height, dark) in SHOWN.items():
        page = folder / "shown.html"
        run("html", *(f"{one}.gt" for one in names), "-o", page)
        with Browser(Place(folder), width=width, height=height, dark=dark) as browser:
            # the page scrolls at once, not while the picture is taken
            browser.cdp("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"}])
            browser.open(page.as_uri() + "#" + fragment)
            browser.wait("document.body.dataset.drawn === 'all'")
            browser.js("document.getElementById(arguments[0])?.scrollIntoView({ behavior: 'instant' })",
                       fragment.split("&")[0])
            browser.screenshot(into / name)


def gputrack(*words, cwd=ROOT, **environment):
    done = subprocess.run([ROOT / "build" / "gputrack", *words], cwd=cwd, capture_output=True,
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


def draw_blocks():
    build = ROOT / "build"
    with tempfile.TemporaryDirectory() as folder:
        page, recording = pathlib.Path(folder) / "page.html", f"{folder}/pool.gt"
        gputrack("run", "-q", "-o", recording, "build/tests/e2e/programs/torch_pool",
                 "build/tests/fake/torch/libc10_cuda.so", "expandable", "120", "3",
                 LD_LIBRARY_PATH=str(build / "tests" / "fake" / "cuda"))
        gputrack("html", recording, "-o", str(page))
        with Browser(Place(folder), width=1100, height=900) as browser:
            browser.open(page.as_uri() + "#order=address")
            browser.wait("document.body.dataset.drawn === 'all'")
            browser.js("document.querySelector('#blocks canvas').focus();"
                       "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));"
                       "document.activeElement.blur()")
            browser.screenshot(PICTURES / "blocks.png", part="#blocks")


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    draw_page()
    draw_blocks()
    with tempfile.TemporaryDirectory() as folder:
        draw_answers(pathlib.Path(folder), PICTURES, lambda *words: gputrack(*words, cwd=folder))


if __name__ == "__main__":
    main()
