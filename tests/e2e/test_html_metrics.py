# SPDX-License-Identifier: MIT
"""test_html_metrics.py - the resource tracker's twelve charts in the page of a recording."""
import os

from browser import Browser
from pages import data_of, opened, page_of

TOGETHER = True  # one browser


def measured(case, *program, csv="t.csv", recording="m.gt", more=()):
    """Makes a recording with --csv; returns the CSVs, sorted by name."""
    done = case.gputrack("run", "-q", "-o", recording, "--csv", csv, *more, *program, env=case.pocl())
    assert done.status == 0, done.err
    stem, end = csv.rsplit(".", 1)
    return sorted(case.folder.glob(f"{stem}_pid*.{end}"))


def metrics_of(case, recording="m.gt"):
    return data_of(page_of(case, recording))["metrics"]


def choose(page, selector, text):
    page.js("const p = document.querySelector(arguments[0]);"
            "p.value = [...p.options].find(o => o.text.includes(arguments[1])).value;"
            "p.dispatchEvent(new Event('change'))", selector, text)


# The file.

def test_a_recording_shows_the_metrics_of_its_tracker_csv(case):
    csv, = measured(case, case.program("leaky"), more=["--csv-more"])
    one, = metrics_of(case)
    rows = csv.read_text().splitlines()[1:]
    assert one["csv"] == str(csv.resolve()) and str(one["pid"]) in csv.name
    assert one["tracker"]["rows"] == len(rows) > 10
    alone = data_of(page_of(case, csv.name))["tracker"]
    assert {**alone, "path": ""} == {**one["tracker"], "path": ""}


def test_the_threshold_applies_to_a_recording_too(case):
    case.need_page()
    measured(case, case.program("leaky"))
    assert case.gputrack("html", "m.gt", "--threshold", "7").status == 0
    assert data_of(case.path("m.html"))["metrics"][0]["tracker"]["threshold_kb"] == 7


def test_each_program_of_an_exec_has_its_own_metrics(case):
    found = measured(case, case.program("exec_loop"), "--times", "15")
    data = data_of(page_of(case, "m.gt"))
    assert len(found) == 15 and len(data["metrics"]) == 12 and data["metrics_left_out"] == 3
    assert len({one["csv"] for one in data["metrics"]}) == 12
    assert all(one["tracker"]["rows"] == 3 for one in data["metrics"])


def test_a_recording_without_a_tracker_has_no_metrics(case):
    done = case.gputrack("run", "-q", "-o", "m.gt", case.program("leaky"), env=case.pocl())
    assert done.status == 0 and metrics_of(case) == []


def test_recording_and_csv_may_be_moved_together(case):
    csv, = measured(case, case.program("leaky"))
    rows = metrics_of(case)[0]["tracker"]["rows"]
    for place in ("moved", "moved/m.gt"):
        case.path("moved").mkdir(exist_ok=True)
        if not case.path("moved/m.gt").exists():
            case.path("m.gt").rename(case.path("moved/m.gt"))
        csv = csv.rename(case.path(place) / csv.name)
        assert metrics_of(case, "moved/m.gt")[0]["tracker"]["rows"] == rows


def test_a_csv_that_no_longer_belongs_to_the_recording_is_not_shown(case):
    csv, = measured(case, case.program("leaky"))
    text = csv.read_text()
    last = text.splitlines()[-1].split(",")
    later = ",".join([last[0], str(int(last[1]) + 3600 * 1000), *last[2:]]) + "\n"
    for content, why in ((text + later, "belongs to another one"), ("hello\n", "no longer"), ("", "no longer"),
                         (text.splitlines()[0] + "\n", "no row")):
        csv.write_text(content)
        one, = metrics_of(case)
        assert why in one["missing"] and "tracker" not in one, one
    csv.unlink()
    assert "neither where it was written nor beside the" in metrics_of(case)[0]["missing"]
    os.mkfifo(csv)  # must not be waited for
    assert "neither where it was written nor beside the" in metrics_of(case)[0]["missing"]


def test_a_killed_program_has_its_charts(case):
    done = case.gputrack("run", "-q", "-o", "m.gt", "--csv", "t.csv", case.program("killed"),
                         "--calls", "50", "--how", "kill9", env=case.pocl())
    assert done.status == -9, done.err
    one, = metrics_of(case)
    assert one["tracker"]["rows"] >= 50


def test_a_truncated_last_row_does_no_harm(case):
    csv, = measured(case, case.program("leaky"))
    text = csv.read_text()
    csv.write_text(text[:-20])
    one = metrics_of(case)[0]["tracker"]
    assert one["bad_rows"] == 1 and one["rows"] == len(text.splitlines()) - 2


def test_plot_names_the_csv_with_the_metrics(case):
    found = measured(case, case.program("forks"), "--exec")
    done = case.gputrack("plot", "m.gt", "-o", "m.txt")
    assert done.status == 0, done.err
    line, = [line for line in done.out.splitlines() if "Process metrics" in line]
    assert any(str(csv.resolve()) in line for csv in found) and " and 1 more" in line, line


# In a browser.

def test_the_page_of_a_recording_has_twelve_charts(case):
    csv, = measured(case, case.program("leaky"))
    path = page_of(case, "m.gt")
    with Browser(case) as page:
        opened(page, path)
        assert page.texts("nav a")[-1] == "Process metrics"
        panels = page.texts("#metrics .panel")
        assert len(panels) == 12 and "Resource Counts" in panels[4] and "L0" not in panels[4]
        assert "clCreateContext" in panels[8]
        assert f"{len(csv.read_text().splitlines()) - 1} tracked calls" in page.text("#metrics .facts")
        assert page.js("return document.querySelectorAll('#metrics .panel canvas').length") >= 6
        assert page.js("return document.querySelector('#measured-process')") is None
        page.resize(400, 800)
        page.wait("document.documentElement.scrollWidth <= 400")
        assert page.complaints() == [] and page.requests() == [path.as_uri()]


def test_one_process_is_shown_at_a_time(case):
    found = measured(case, case.program("forks"), "--exec", "--spawn")
    assert len(found) == 3
    pids = [str(one["pid"]) for one in metrics_of(case)]
    found[1].unlink()
    lost = next(pid for pid in pids if pid in found[1].name)
    kept = next(pid for pid in pids if pid != lost)
    with Browser(case) as page:
        opened(page, page_of(case, "m.gt"))
        assert page.js("return document.querySelectorAll('#measured-process option').length") == 3
        choose(page, "#measured-process", lost)
        assert "neither where it was written nor beside the" in page.text("#metrics") and page.texts("#metrics .panel") == []
        choose(page, "#measured-process", kept)
        page.wait("document.querySelectorAll('#metrics .panel canvas').length")
        choose(page, "#process", lost)  # the page's own choice
        assert page.js("return document.querySelector('#measured-process')") is None
        assert found[1].name in page.text("#metrics") and page.texts("#metrics .panel") == []
        assert "alarm" not in page.text("#metrics") and page.text("#timeline")
        assert page.complaints() == []


def test_the_name_of_a_csv_is_never_markup(case):
    name = "<img src=x onerror=window.owned=1>.csv"
    csv, = measured(case, case.program("leaky"), csv=name)
    with Browser(case) as page:
        csv.write_text(csv.read_text().replace("clCreateBuffer", "<script>window.owned=1</script>"))
        opened(page, page_of(case, "m.gt"))
        assert "<script>window.ow" in page.text("#metrics")
        csv.unlink()
        opened(page, page_of(case, "m.gt"))
        assert "<img src=x onerror=" in page.text("#metrics")
        assert page.js("return window.owned") is None and page.complaints() == []
