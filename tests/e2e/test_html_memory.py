# SPDX-License-Identifier: MIT
"""test_html_memory.py - how much memory there is, on the page: its line, and that it ran out."""
import re

from browser import Browser
from nsys_export import BACKTRACE, Export
from pages import data_of, opened
from test_memory import parts, pool
from test_nsys import take
from test_nsys_profile import GIB, MALLOC, allocate, out_of_memory


def page_of(case, export, name):
    case.need_page()
    take(case, export, name)
    done = case.gputrack("html", f"{name}.gt")
    assert done.status == 0, done.err
    return case.path(f"{name}.html")


def test_the_page_opens_with_the_sentence_of_the_report(case):
    path = page_of(case, out_of_memory(), "o")
    text = case.gputrack("report", "o.gt", env={"COLUMNS": "200"}).out
    sentence, = [line for line in text.splitlines() if line.startswith("OUT OF MEMORY")]
    clean = Export()
    allocate(clean, 1, 1000)
    with Browser(case, width=400) as page:
        opened(page, path)
        shown = page.texts("#main > *")[0]
        assert shown.startswith(sentence), (shown, sentence)
        assert "36.0 GiB\n9 blocks of device memory" in shown and "cudaMalloc" in shown
        assert "the program stopped there" in shown
        assert page.js("return document.documentElement.scrollWidth") <= 400
        page.resize(1280, 900)
        assert page.text("#timeline .capacity") == "capacity 39.5 GiB"
        opened(page, page_of(case, clean, "c"))
        assert page.text("#shortage") is None and page.text("#timeline .capacity") is None
        assert page.complaints() == []


def test_all_that_held_memory_when_it_ran_out_is_listed(case):
    """The sentence of the report names a few; the moment has all of them."""
    export = Export()
    export.gpu(0, "NVIDIA A100-SXM4-40GB", 42405855232)
    for i in range(24):
        export.call(1000 * i, 1000 * i + 100, i + 1, MALLOC, BACKTRACE, tid=7,
                    stack=[(f"layer{i}", "/app/train"), ("main", "/app/train")])
        export.alloc(1000 * i + 50, (i + 1) * 8 * GIB, GIB, correlation=i + 1)
    export.call(313000000, 313900000, 50, MALLOC, tid=7, result=2)
    path = page_of(case, export, "many")
    more = data_of(path)["sets"][0]["out_of_memory"]["more_holders"]
    with Browser(case) as page:
        opened(page, path)
        assert page.text("#shortage button") == f"and {more} more: show all of that moment" and more > 5
        page.click("#shortage button")
        assert page.text(".moment h3").startswith("Alive at 313.0"), page.text(".moment h3")
        page.click(".moment .more")
        assert len(page.texts(".moment summary")) == 24 and "24.0 GiB of device memory" in page.text(".moment")
        page.js("history.back()")
        page.wait("!location.hash.includes('at=')")
        assert "At the peak" in page.text(".moment h3") and page.complaints() == []


def test_a_process_has_its_own_shortage(case):
    export = out_of_memory()
    export.row(0, 500, 0x1000, GIB, pid=200)
    path = page_of(case, export, "p")
    both, hundred, other = sorted(data_of(path)["sets"], key=lambda s: s["pid"])
    assert "37.0 of 39.5 GiB" in both["out_of_memory"]["text"], both["out_of_memory"]
    assert "36.0 of 39.5 GiB" in hundred["out_of_memory"]["text"], hundred["out_of_memory"]
    assert other["pid"] == 200 and other["out_of_memory"] is None


def test_a_capacity_is_shown_where_it_is_known_and_near(case):
    for name, devices, known, wanted in (
            ("one", [0], [16], {"bytes": 16 * GIB, "devices": 1}),
            ("two", [0, 1], [16, 32], {"bytes": 48 * GIB, "devices": 2}),
            ("unused", [1], [16, 32], {"bytes": 32 * GIB, "devices": 1}),
            ("unknown", [0, 1], [16], None)):
        export = Export()
        for number, size in enumerate(known):
            export.gpu(number, f"NVIDIA T{number}", size * GIB, cuda=number)
        for device in devices:
            export.alloc(1000 + device, 0x1000, 5 * GIB, device=device)
        assert data_of(page_of(case, export, name))["sets"][0]["capacity"] == wanted, name
    with Browser(case) as page:
        opened(page, case.path("unused.html"))
        assert page.text("#timeline .capacity") is None
        opened(page, case.path("one.html"))
        assert page.text("#timeline .capacity") == "capacity 16.0 GiB"
        page.js("[...document.querySelectorAll('#timeline button')]"
                ".find(b => b.textContent === 'Resources').click()")
        assert page.text("#timeline .capacity") is None
        assert page.complaints() == []


# what is written into the chart of a section while it is drawn again: text, left, right, height
WRITTEN = """
const written = [], { prototype } = CanvasRenderingContext2D, write = prototype.fillText;
prototype.fillText = function (text, x, y) {
  const { width } = this.measureText(text), left = this.textAlign === 'right' ? x - width : x;
  if (this.canvas.closest(arguments_[0]))
    written.push([text, left, left + width, y]);
  return write.apply(this, arguments);
};
dispatchEvent(new PopStateEvent('popstate'));
return new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
  prototype.fillText = write;
  done(written);
}))); """.replace("arguments_[0]", "'%s'")


def test_the_words_in_a_chart_do_not_hide_each_other(case):
    """Memory ran out at the end of the time, where the capacity would be written."""
    path = page_of(case, out_of_memory(), "o")
    with Browser(case) as page:
        for width in (1280, 400):
            page.resize(width, 900)
            for chart in ("#timeline", "#memory"):
                page.open(path.as_uri())
                page.wait("document.body.dataset.drawn === 'all'")
                page.js("history.replaceState(null, '', '#zoom=0.000000001-0.313')")
                words = [one for one in page.js(WRITTEN % chart) if re.search("[a-zA-Z]{4}", one[0])]
                assert "capacity 39.5 GiB" in [text for text, *_ in words] and len(words) > 1, (width, chart, words)
                for i, (text, left, right, y) in enumerate(words):
                    for other, start, end, at in words[i + 1:]:
                        assert end < left or start > right or abs(y - at) > 24 or text == other, (width, text, other)


def test_the_parts_of_device_memory_are_a_section(case):
    pool(case, "fragmented", 20, FAKE_GPU_MIB="1132")
    assert case.gputrack("html", "a.gt").status == 0
    found = parts(case.report("a.gt", "memory"))
    memory = data_of(case.path("a.html"))["memory"]
    shown = {part["key"]: part["bytes"] for part in memory["parts"] if part["bytes"]}
    assert shown == {part: size for part, size in found.items() if size}, (shown, found)
    assert memory["reported"] and memory["out_of_memory"]["asked"] == 200 << 20, memory
    assert len(str(memory)) < 8000, len(str(memory))
    clean = Export()
    allocate(clean, 1, 1000)
    with Browser(case, width=400) as page:
        opened(page, case.path("a.html"))
        lines = page.text("#memory .parts").splitlines()
        assert lines[0].startswith("720 MiB in use when memory ran out"), lines
        assert [line.split("\t")[1:] for line in lines[1:]] == [
            ["400 MiB", "56 %", "contexts and streams (measured)"],
            ["280 MiB", "39 %", "fragmented: cached in segments that a living block pins"],
            ["40.0 MiB", "6 %", "allocated by the program"]], lines
        assert page.js("return document.documentElement.scrollWidth") <= 400
        # the chart is drawn: it has the colours of the table
        assert page.js("""
            const canvas = document.querySelector('#memory canvas'), seen = new Set();
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            for (let i = 0; i < data.length; i += 4)
              seen.add(`rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
            return [...document.querySelectorAll('#memory .swatch')].every((swatch) =>
              seen.has(swatch.style.backgroundColor))""")
        page.resize(1280, 900)
        assert "Device memory" in page.texts("nav a")
        opened(page, page_of(case, clean, "c"))
        assert page.text("#memory") is None
        assert page.complaints() == []
