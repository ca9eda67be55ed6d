# SPDX-License-Identifier: MIT
"""test_html_filters.py - the page's filter applies to every view, and leaves what `gputrack report` leaves."""
import collections

from browser import Browser
from nsys_export import BACKTRACE, Export
from pages import opened, page_of, recordings
from test_html_answers import made, processes, rows_of

TOGETHER = True  # one browser


def by_kind(rows, count, size):
    """{kind: [resources, bytes]} of a table of the page, or of the groups of a report."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        sums[row.get("Kind") or row["kind"]][0] += int(row[count])
        sums[row.get("Kind") or row["kind"]][1] += int(row[size])
    return {kind: row for kind, row in sums.items() if any(row)}


def saved(page, selector):
    return rows_of(page.saved(f"{selector} button.csv"))


def flame(page, what):
    """{kind: [resources, bytes]} of the flame graph."""
    sums = collections.defaultdict(lambda: [0, 0])
    for i, measure in enumerate(("objects", "bytes")):
        page.js("location.hash = location.hash.replace(/&(what|measure)=\\w+/g, '') + arguments[0];"
                "dispatchEvent(new PopStateEvent('popstate'))", f"&what={what}&measure={measure}")
        for row in saved(page, "#flame"):
            sums[row["Kind"]][i] += int(row["Resources" if not i else "Bytes"])
    return {kind: row for kind, row in sums.items() if any(row)}


def test_leaks_call_sites_and_peak_are_those_of_a_thread(case):
    """Each view of call sites, by a word about single resources."""
    recordings(case)
    name = made(case, "alive.gt", 3000, "alive")
    ours = [f"thread {tid} " for tid in (1001, 1002)]

    def reported(analysis, count="count", size="bytes"):
        groups = case.report(name, analysis, "--by", "thread")["groups"]
        return by_kind([group for group in groups if any(one in group["place"]["text"] for one in ours)], count, size)

    with Browser(case) as page:
        opened(page, page_of(case, name))
        page.type("#filter", "thread:1001,1002")
        leaks = reported("leakage")
        assert by_kind(saved(page, "#leaks"), "Count", "Bytes") == leaks and len(leaks) > 1, leaks
        sites = reported("sites", "created", "total_bytes")
        assert by_kind(saved(page, "#sites"), "Created", "Total") == sites
        assert by_kind(saved(page, "#sites"), "Alive at end (resources)", "Alive at end (bytes)") == leaks
        assert flame(page, "leaked") == leaks and flame(page, "total") == sites
        peak = flame(page, "peak")
        assert {kind: row for kind, row in peak.items() if row[1]} == \
            {kind: row for kind, row in reported("watermark").items() if row[1]} and peak["buffer"][1] > 0
        assert "not applied" not in page.text("#leaks") + page.text("#sites") + page.text("#flame")
        # those of all threads add up
        page.type("#filter", "-thread:1001,1002")
        rest = by_kind(saved(page, "#leaks"), "Count", "Bytes")
        page.type("#filter", "")
        everything = by_kind(saved(page, "#leaks"), "Count", "Bytes")
        assert {kind: [a + b for a, b in zip(row, rest[kind])] for kind, row in leaks.items()} == everything
        assert page.complaints() == []


def test_leaks_are_filtered_by_size_and_lifetime(case):
    with Browser(case) as page:
        opened(page, page_of(case, "leaks.gt"))
        page.type("#filter", "size>2M")
        rows = page.texts("#leaks tr.row")
        assert len(rows) == 1 and rows[0].startswith("2.86 MiB") and "image" in rows[0], rows
        page.type("#filter", "lifetime<1s kind:event")
        rows = saved(page, "#leaks")
        # of 120 events, one each 10 ms from 0.9 s on; they live until 2.4 s
        assert sorted(int(row["Count"]) for row in rows) == [1, 69], rows
        assert page.texts("#leaks .controls .dim")[0] == "2 of 7"
        page.type("#filter", "size>1T")
        assert "Nothing that the filter lets through." in page.text("#flame")
        assert page.complaints() == []


def test_resources_of_several_fates_are_not_divided(case):
    """Of a call site that leaked in one process and perhaps in another, the page cannot tell which are of which fate."""
    with Browser(case) as page:
        opened(page, page_of(case, "outlived.gt"))
        page.type("#filter", "process:901")
        rows = page.texts("#leaks > .table tr.row")
        assert len(rows) == 1 and "leaked" in rows[0], rows
        opened(page, page_of(case, "family.gt"))
        rows = page.texts("#leaks tr.row")
        page.type("#filter", "process:403")
        assert page.texts("#leaks tr.row") == rows and len(rows) == 2, rows
        note = "The page does not have 1 call site by process: that part of the filter is not applied to it."
        assert note in page.text("#leaks") and note not in page.text("#sites"), page.text("#leaks")
        assert page.complaints() == []


def test_mistakes_and_measured_values_heed_a_filter_or_say_so(case):
    with Browser(case) as page:
        opened(page, page_of(case, "mistakes.gt"))
        everything = saved(page, "#mistakes")
        page.type("#filter", "clCreateBuffer")
        rows = saved(page, "#mistakes")
        assert rows and {row["Function"] for row in rows} == {"clCreateBuffer"} and len(rows) < len(everything)
        assert f"{len(rows)} of {len(everything)}, by the filter." in page.text("#mistakes")
        assert len(page.texts("#mistakes details")) == len(rows)
        page.type("#filter", "")
        assert saved(page, "#mistakes") == everything
        opened(page, page_of(case, "sampled.gt"))
        assert "filter" not in page.text("#samples")
        page.type("#filter", "kind:buffer")
        assert "The filter does not apply to what was measured." in page.text("#samples")
        assert page.complaints() == []


def test_a_comparison_is_filtered(case):
    case.need_page()
    recordings(case)
    assert case.gputrack("html", "before.gt", "after.gt", "-o", "pair.html").status == 0
    with Browser(case) as page:
        opened(page, case.path("pair.html"))
        page.type("#filter", "api:opencl kind:event")
        assert [row["Kind"] for row in saved(page, "#leaks")] == ["event"]
        assert page.texts("#peak tr.row") == []
        rows = saved(page, "#timeline")
        assert all(row[side] in ("0", "") for row in rows for side in ("old", "new")), rows
        page.type("#filter", "place:upload")
        rows = saved(page, "#timeline")
        assert {row["old"] for row in rows} <= {"0", ""} and "1048576" in {row["new"] for row in rows}, rows
        assert [row["Stack"] for row in saved(page, "#flame")] == ["main;upload"]
        page.type("#filter", "size<1")
        assert "does not have 5 call sites by size: that part of the filter is not applied to them" in page.text("#leaks")
        assert page.complaints() == []


def look_alikes(case, name):
    """Places whose names have commas and quotes; one is a part of another."""
    export = Export()
    for i, module in enumerate(('/app/a, "b"', '/app/a, "b"2', "/app/a")):
        export.call(10 * i, 10 * i + 5, i + 1, "cudaMalloc", BACKTRACE, stack=[("make", module), ("main", "/app/a")])
        export.alloc(10 * i + 1, 0x1000000 + 0x100000 * i, 4096 << i, correlation=i + 1)
    done = case.gputrack("import", "-q", export.save(case.path("t.sqlite")), "-o", name)
    assert done.status == 0, done.err
    return name


def test_one_place_is_seen_alone(case):
    recordings(case)
    with Browser(case) as page:
        opened(page, page_of(case, look_alikes(case, "alike.gt")))
        assert len(page.texts("#sites tr.row")) == 3
        row = "[...document.querySelectorAll('#sites tr.row')].find(r => r.innerText.startsWith('4.00 KiB'))"
        place = page.js(f"{row}.click(); return {row}.querySelector('.place').title")
        page.click("#sites tr.opened .only")
        assert len(page.texts("#sites tr.row")) == 1 and len(page.texts("#leaks tr.row")) == 1
        assert page.texts(".chip") == ['place="' + place.replace('"', "") + '"\n×'], page.texts(".chip")
        assert [row["Bytes"] for row in saved(page, "#flame")] == ["4096"]
        # another takes its place
        page.click(".chip button")
        page.type("#filter", 'kind:"device memory" place:"a, b"')
        assert len(page.texts("#sites tr.row")) == 2, page.texts("#sites tr.row")
        page.js("document.querySelector('#sites tr.row').click()")
        page.click("#sites tr.opened .only")
        assert len(page.texts("#sites tr.row")) == 1 and page.texts(".chip")[0].startswith("kind:")
        assert page.complaints() == []


def test_every_process_can_be_selected(case):
    """A page has sets of twelve processes; of the others, the filter answers."""
    recordings(case)
    name = processes(case, "crowd.gt", 32)
    pids = sorted(int(trace.stem) for trace in case.path(name).glob("*.trace"))
    with Browser(case) as page:
        opened(page, page_of(case, name))
        listed = page.js("return [...document.querySelectorAll('#process option')].map(o => Number(o.value))")
        assert sorted(listed) == [0, *pids], listed
        left_out = page.js("return [...document.querySelectorAll('#process optgroup option')].map(o => Number(o.value))")
        assert len(left_out) == 20, left_out
        for pid in left_out[:2]:
            page.js("const p = document.querySelector('#process'); p.value = arguments[0];"
                    "p.dispatchEvent(new Event('change'))", str(pid))
            assert page.texts(".chip") == [f"process:{pid}\n×"]
            created = sum(group["created"] for group in case.report(name, "sites", "--pid", str(pid))["groups"])
            assert sum(int(row["Created"]) for row in saved(page, "#sites")) == created > 0, pid
        assert page.complaints() == []


def two_devices(case, name):
    """Allocations on two devices, some freed."""
    export = Export()
    for device in (0, 1):
        export.gpu(device, f"NVIDIA T{device}", 1 << 34, cuda=device)
        for i in range(5 + device):
            time, block = 1000 * i + 100 * device, (0x1000000 * (1 + i), 4096 << i)
            export.call(time - 5, time + 5, 10 * device + i + 1, "cudaMalloc", BACKTRACE,
                        stack=[(f"make{i % 2}", "/app/a"), ("main", "/app/a")])
            export.alloc(time, *block, device=device, correlation=10 * device + i + 1)
            if i % 3 == 0:
                export.free(time + 50, *block, device=device)
    done = case.gputrack("import", "-q", export.save(case.path("two.sqlite")), "-o", name)
    assert done.status == 0, done.err
    return name


def test_ranges_are_filtered_by_phase_device_rank_and_place(case):
    recordings(case)
    asked = [("phases.gt", "phase:forward", "phase", "forward"), ("phases.gt", "phase=setup", "phase", "setup"),
             ("phases.gt", "phase:backward", "phase", "backward"), ("ranks.gt", "rank:2", "process", "pid 1003"),
             ("ranks.gt", "rank:1", "process", "pid 1002"), ("two.gt", "device:T1", "device", "T1"),
             ("two.gt", "device:T0", "device", "T0"), ("two.gt", "place:make1", "line", "make1"),
             ("two.gt", "-place:make1", "line", "make0")]
    two_devices(case, "two.gt")
    answers = set()
    with Browser(case) as page:
        for name, word, by, text in asked:
            groups = [group for group in case.report(name, "range", "--by", by)["groups"]
                      if text in (group["place"] or {}).get("text", "")]
            page.open(page_of(case, name).as_uri() + f"#range=0-9&filter={word}")
            page.wait("document.body.dataset.drawn === 'all'")
            for part, count, size in (("Left behind", "count", "bytes"), ("Allocated", "allocated", "allocated_bytes"),
                                      ("Freed", "freed", "freed_bytes")):
                shown = by_kind(saved(page, ".range"), f"{part} (resources)", f"{part} (bytes)")
                assert shown == by_kind(groups, count, size), (name, word, part, shown)
                answers.add((name, word, part, str(shown)))
            page.open("about:blank")
        assert page.complaints() == []
    # a filter that everything passes, or nothing, would tell little
    assert len({shown for _, _, _, shown in answers}) > 9, answers
