# SPDX-License-Identifier: MIT
"""test_html.py - the page of a recording: in a real browser, and as a file."""
import base64
import hashlib
import re

from browser import Browser
from nsys_export import BACKTRACE, Export
from pages import Lives, data_of, last_values, opened, page_of, recordings, varints
from test_plot import TITLES

TOGETHER = True  # one browser


# The file.

def test_the_page_data_agrees_with_the_reports(case):
    data = data_of(page_of(case, "leaks.gt"))
    leaks = case.report("leaks.gt", "leakage")
    everything = data["sets"][0]
    assert everything["leaked"] == leaks["totals"]["count"] == 130
    sites = everything["sites"]
    found = sorted((sites[leak["site"]][3], sites[leak["site"]][2]) for leak in everything["leaks"])
    assert found == sorted((g["bytes"], g["count"]) for g in leaks["groups"])
    peak = case.report("leaks.gt", "watermark")
    assert everything["peak"]["bytes"] == peak["peak"]["device_bytes"]
    assert sum(site[5] for site in sites if everything["kinds"][site[1]]["memory"] == "device") \
        == peak["peak"]["device_bytes"]
    # one process, which ended by itself; but events are missing
    gappy = data_of(page_of(case, "gappy.gt"))["sets"][0]
    assert gappy["fates"]["perhaps"]["count"] == 11 and not gappy["leaked"]
    assert sum(site[14] for site in gappy["sites"]) == 11 and not sum(site[12] for site in gappy["sites"])


def changes(values):
    """Without repetitions of the previous value."""
    return [value for i, value in enumerate(values) if not i or values[i - 1] != value]


def test_rows_over_time_match_usage(case):
    everything = data_of(page_of(case, "leaks.gt"))["sets"][0]
    usage = case.gputrack("report", "leaks.gt", "-a", "usage", "--format", "tsv").out.splitlines()
    column = usage[0].split("\t").index("total (B)")
    wanted = [int(line.split("\t")[column]) for line in usage[1:]]
    device = [row[2] for row in last_values(everything["rows"]["device"])]
    assert device[0] == 0 and len(wanted) > 5
    assert changes(device)[1:] == changes(wanted)
    objects = [row[2] for row in last_values(everything["rows"]["objects"])]
    assert objects[-1] == everything["leaked"]
    now, times = 0, []
    for step in varints(base64.b64decode(everything["rows"]["times"])):
        now += step
        times.append(now)
    created = [event["time_ns"] for event in case.events("leaks.gt")]
    assert times == sorted(set(created))


def test_many_events_keep_the_peak_and_stay_small(case):
    made = case.run(case.build / "bench" / "make_events", "big.gt", "200000", "balanced")
    assert made.status == 0, made.err
    recordings(case)
    path = page_of(case, "big.gt")
    everything = data_of(path)["sets"][0]
    assert path.stat().st_size < 5_000_000
    assert everything["rows"]["step_ns"] > 1
    rows = last_values(everything["rows"]["device"])
    assert len(rows) <= 16384
    assert max(high for _, high, _ in rows) == everything["peak"]["bytes"]
    assert rows[-1][2] == 0
    # every life has ended
    lives = Lives(everything)
    assert sum(count for _, _, ended, count, _ in lives.cells if ended is not None) == \
        everything["created"] == sum(count for _, _, _, count, _ in lives.cells)
    assert sum(size for *_, size in lives.cells) == everything["created_bytes"]


def test_each_process_has_its_own_data(case):
    sets = data_of(page_of(case, "family.gt"))["sets"]
    assert sorted(s["pid"] for s in sets) == [0] + list(range(400, 409))
    assert sum(s["events"] for s in sets[1:]) == sets[0]["events"]
    assert sum(s["leaked"] for s in sets[1:]) == sets[0]["leaked"]


def test_only_the_script_of_the_page_may_run(case):
    text = page_of(case, "leaks.gt").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert "default-src 'none'" in policy and "connect-src 'none'" in policy
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_page_never_turns_text_into_markup(case):
    for path in (case.source / "viewer" / "js").glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                     "new Function(", "DOMParser", "http:", "https:"):
            assert word not in text.replace("http://www.w3.org/2000/svg", ""), (path.name, word)


def test_unusable_input_gets_one_line(case):
    recordings(case)
    case.path("notes.txt").write_text("nothing\n")
    case.path("no").mkdir()
    case.path("empty.csv").write_text("")
    case.need_page()
    case.path("head.csv").write_text("CallNumber,TimeMs,APICall,VmRSS_KB\n")
    for arguments, status in ((("nowhere.gt",), 1), (("notes.txt",), 1), (("empty.csv",), 1),
                              (("head.csv",), 1), ((), 2), (("leaks.gt", "head.csv"), 2),
                              (("leaks.gt", "family.gt", "head.csv"), 2), ((".", "--serve"), 2), (("no",), 1),
                              (("leaks.gt", "--baseline", "family.gt"), 2),
                              (("leaks.gt", "family.gt", "--serve"), 2), (("leaks.gt", "nowhere.gt"), 1),
                              (("leaks.gt", "--port", "80"), 2),
                              (("leaks.gt", "-o", "no/such/folder.html"), 1),
                              (("leaks.gt", "--serve", "--listen", "somewhere"), 1)):
        done = case.gputrack("html", *arguments)
        assert done.status == status, (arguments, done.err)
        assert done.err.startswith("gputrack: ") and done.err.count("\n") == 1, done.err
    assert not list(case.folder.glob("*.html*"))


def test_a_failed_page_leaves_no_partial_file(case):
    page_of(case, "leaks.gt")
    done = case.gputrack("html", "nothing.gt", "-o", "-")
    assert done.status == 1 and not done.out and len(done.err.splitlines()) == 1, done.err
    done = case.run("sh", "-c", f"{case.build}/gputrack html - <"
                    f"{case.source}/tests/golden/inputs/tracker/leaky.csv")
    assert done.status == 0 and case.path("gputrack.html").exists(), done.err


# In a browser.

def test_a_known_recording_shows_its_leaks(case):
    run = case.gputrack("run", "-o", "leaky.gt", case.program("leaky"), env=case.pocl())
    assert run.status == 0, run.err
    recordings(case)
    path = page_of(case, "leaky.gt")
    with Browser(case) as page:
        opened(page, path)
        assert "21 leaked" in page.text(".verdicts") and "1.00 MiB" in page.text(".verdicts")
        rows = page.texts("#leaks tr.row")
        assert len(rows) == 3, rows
        assert "1.00 MiB" in rows[0] and "buffer" in rows[0] and "leaky.c:91" in rows[0]
        assert sorted("clEnqueueTask" in row for row in rows) == [False, False, True]
        page.click("#leaks tr.row")
        opened_row = page.text("#leaks tr.opened")
        assert "make_scratch_buffer" in opened_row and "main" in opened_row
        assert "leaky.c:91" in opened_row and "handle 0x" in opened_row
        assert page.js("return document.querySelectorAll('#timeline canvas').length") == 2
        assert "make_scratch_buffer" in page.text(".moment")
        assert page.complaints() == []
        assert page.requests() == [path.as_uri()]


def test_zoom_pan_and_selected_times(case):
    path = page_of(case, "leaks.gt")
    span = "return [...document.querySelectorAll('.overview .pane')].map(n => " \
           "[parseFloat(n.style.left), parseFloat(n.style.width)])[0]"
    with Browser(case) as page:
        opened(page, path)
        assert "At the peak" in page.text(".moment h3") and "71.9 MiB" in page.text(".moment")
        assert page.js(span) == [0, 100]
        page.drag("#timeline .u-over", 0.4, 0.4)
        page.click("[aria-label='Zoom in']")
        left, width = page.js(span)
        assert abs(left - 20) < 2 and abs(width - 50) < 2, (left, width)
        page.click("[aria-label='Later']")
        assert page.js(span)[0] > left
        page.click("[aria-label='Show all']")
        assert page.js(span) == [0, 100]
        page.drag("#timeline .u-over", 0.9, 0.9)
        assert page.text(".moment h3").startswith("Alive at 2.1")
        moment = page.text(".moment")
        assert "7.86 MiB" in moment and "64.0 KiB of host memory" in moment, moment
        page.js("document.querySelector('#timeline .chart').focus()")
        before = page.text(".moment h3")
        page.key("\ue012")  # left: the change before
        assert page.text(".moment h3") != before
        page.key("+")
        assert page.js(span)[1] < 60
        page.key("0")
        assert page.js(span) == [0, 100]
        page.key("p")
        assert "At the peak" in page.text(".moment h3")
        page.js("[...document.querySelectorAll('#timeline button')]"
                ".find(b => b.textContent === 'Resources').click()")
        assert "event" in page.text("#timeline .legend")
        assert page.complaints() == []


def test_tables_sort_and_filter(case):
    path = page_of(case, "leaks.gt")
    with Browser(case) as page:
        opened(page, path)
        counts = "return [...document.querySelectorAll('#leaks td.count')].map(n => " \
                 "Number(n.textContent.replace(',', '')))"
        page.js("[...document.querySelectorAll('#leaks th button')]"
                ".find(b => b.textContent === 'Count').click()")
        down = page.js(counts)
        assert down == sorted(down, reverse=True) and down[0] == 120
        page.js("[...document.querySelectorAll('#leaks th button')]"
                ".find(b => b.textContent === 'Count').click()")
        assert page.js(counts) == sorted(down)
        page.type("#leaks input", "image 0x2111")
        rows = page.texts("#leaks tr.row")
        assert len(rows) == 1 and "2.86 MiB" in rows[0]
        assert "1 of 7" in page.text("#leaks .controls")
        page.js("document.querySelector('#leaks tr.row').focus()")
        page.key("\ue007")  # enter
        assert "clCreateImage" in page.text("#leaks tr.opened")
        assert "held by" not in page.text("#leaks tr.opened")
        page.type("#leaks input", "context")
        page.click("#leaks tr.row")
        assert "held by 2 references" in page.text("#leaks tr.opened")


def test_hostile_names_are_inert(case):
    paths = [page_of(case, name) for name in ("markup.gt", "hostile.gt")]
    with Browser(case) as page:
        for path in paths:
            opened(page, path)
            page.js("document.querySelectorAll('tr.row').forEach(n => n.click());"
                    "document.querySelectorAll('details').forEach(n => { n.open = true; })")
            assert page.js("return window.owned ?? null") is None
            assert page.js("return document.querySelectorAll('img, b, iframe, object, "
                           "main script, main svg[onload]').length") == 0
            assert page.js("return document.scripts.length") == 2
            assert page.complaints() == []
            assert page.requests() == [path.as_uri()]
        opened(page, paths[0])
        page.js("document.querySelectorAll('tr.row').forEach(n => n.click())")
        assert "<script>window.owned=1</script>" in page.text("header .command")
        assert "</script><script>window.owned=1</script>" in page.text("#leaks")
        assert "<img src=x onerror=" in page.text("#samples")
        assert "\\u2028" in page.text("#leaks")  # what would break its line is shown by number
        assert page.js("return document.title").startswith("./bin/</title></script>")


def test_several_processes_can_be_distinguished(case):
    path = page_of(case, "family.gt")
    with Browser(case) as page:
        opened(page, path)
        assert "12 leaked" in page.text(".verdicts") and \
            "2 perhaps leaked" in page.text(".verdicts")
        assert page.js("return document.querySelectorAll('#process option').length") == 10
        page.js("const p = document.querySelector('#process');"
                "p.value = [...p.options].find(o => o.text.includes('403')).value;"
                "p.dispatchEvent(new Event('change'))")
        assert "1 leak" in page.text(".verdicts") and "192 KiB" in page.text(".verdicts")
        assert "pid 404 was killed" in page.text(".gaps")


def test_gaps_and_mistakes_are_shown(case):
    with Browser(case) as page:
        opened(page, page_of(case, "mistakes.gt"))
        assert "12 events were lost" in page.text(".gaps")
        assert "3 redundant releases" in page.text(".verdicts")
        page.js("document.querySelectorAll('details').forEach(n => { n.open = true; })")
        wrong = page.text("#mistakes")
        for words in ("CL_INVALID_MEM_OBJECT", "already released at", "8.00 GiB requested",
                      "clReleaseMemObject(memobj=0x1000)"):
            assert words in wrong, words
        opened(page, page_of(case, "damaged.gt"))
        assert "pid 600: the trace is damaged" in page.text(".gaps")
        opened(page, page_of(case, "untracked.gt"))
        assert "Nothing was tracked" in page.text("main")
        assert page.complaints() == []


def test_resources_in_use_or_unknown_are_not_called_leaked_or_released(case):
    with Browser(case) as page:
        opened(page, page_of(case, "attached.gt"))
        assert "1 alive" in page.text(".verdict.warn")
        leaks = page.text("#leaks")
        assert leaks.startswith("Alive") and "may be in use" in leaks, leaks
        assert "detached after" in page.text("header") and "eaked" not in page.text("main")
        opened(page, page_of(case, "outlived.gt"))
        assert "1 leaked" in page.text(".verdict.bad") and "1 alive" in page.text(".verdict.warn")
        assert "ALIVE 1 resource: pid 900" in page.text("#leaks p.fate")
        assert "The driver kept 6.25 MiB of process memory" in page.text("#residue")
        for pid, word in (900, "1 alive"), (901, "1 leaked"):
            opened(page, page_of(case, "outlived.gt", "--pid", pid))
            assert word in page.text(".verdict"), word
        for name in ("lossy.gt", "foreign.gt"):
            opened(page, page_of(case, name))
            assert "No leaks seen" in page.text(".verdict.warn")
            assert not page.js("return document.querySelector('.verdict.good, #leaks .good')")
            assert "but some events are missing" in page.text("#leaks")
        opened(page, page_of(case, "lossy.gt"))
        assert "1,009 events were lost" in page.text(".gaps")
        opened(page, page_of(case, "clean.gt"))
        assert "No leaks" in page.text(".verdict.good")


def test_resources_held_by_libraries_are_listed_apart(case):
    with Browser(case) as page:
        opened(page, page_of(case, "held.gt"))
        assert "No leaks" in page.text(".verdict.good")
        assert "the program left no resource behind" in page.text("#leaks .good")
        line = "held by libraries until exit: 37 resources, 124 MiB (cuBLAS, PyTorch)"
        assert line in page.text("#held summary")
        page.click("#held summary")
        reasons = page.texts("#held li")
        assert len(reasons) == 4 and any(r.startswith("cuBLAS: workspaces") for r in reasons)
        assert len(page.texts("#held tr.row")) == 4
        opened(page, page_of(case, "held_kept.gt"))
        assert "2 leaked" in page.text(".verdict.bad") and line in page.text("#held summary")
        assert len(page.texts("#leaks > .table tr.row")) == 2
        opened(page, page_of(case, "held.gt", "--no-held"))
        assert "37 leaked" in page.text(".verdict.bad")
        assert not page.js("return document.querySelector('#held')")
        assert page.complaints() == []


# The tracker's CSV.

CSV_HEADING = ("CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,"
               "Delta_VmSize_KB,Delta_VmRSS_KB,Delta_VmData_KB,Contexts,CommandQueues,Modules,"
               "Kernels,EventPools,CommandLists,Events,Fences,Images,Samplers,TotalMemory_Bytes\n")


def tracker_page(case, leak=192):
    calls = [("zeContextCreate", 192), ("zeEventPoolCreate", 64), ("zeMemAllocDevice", 4096),
             ("zeMemFree", -4096), ("zeEventPoolDestroy", leak), ("zeContextDestroy", -128)]
    rss, text = 100000, CSV_HEADING
    for i, (name, delta) in enumerate(calls):
        # 4 KB of the program's own before the second call: deltas are measured around each call
        rss += delta + (4 if i == 1 else 0)
        text += f"{i + 1},{i * 10}.5,{name},400000,{rss},160000,410000,2,0,{delta},0,1,0,0,0,1,0,0,0," \
                f"0,0,{4194304 if i == 2 else 0}\n"
    case.path("tracker_pid7.csv").write_text(text + "7,99")
    return page_of(case, "tracker_pid7.csv")


def test_the_peak_includes_call_sites_left_out_of_the_page(case):
    """A page has at most 4,000 call sites; its sums include the others."""
    if "built without" in case.gputrack("import", "/dev/null/none").err:
        case.skip("built without SQLite")
    export = Export()
    for i in range(4100):
        export.call(10 * i, 10 * i + 5, i + 1, "cudaMalloc", BACKTRACE,
                    stack=[(f"site{i}", "/app/program"), ("main", "/app/program")])
        export.alloc(10 * i + 1, 0x1000000 + i * (1 << 21), 1 << 20, correlation=i + 1)
    assert case.gputrack("import", export.save(case.path("m.sqlite")), "-o", "m.gt").status == 0
    with Browser(case) as page:
        opened(page, page_of(case, "m.gt"))
        text = page.text(".moment")
        assert "4.00 GiB of device memory" in text and "4,100 resources" in text, text
        assert "host memory" not in text and "3,988 more resources" in text, text
        assert "100 more resources, 100 MiB, from call sites that are not in the page" in text, text
        # and they can be listed
        page.click(".moment .more")
        assert page.js("return document.querySelectorAll('.moment details').length") == 212


def test_a_tracker_csv_becomes_twelve_charts(case):
    with Browser(case) as page:
        opened(page, tracker_page(case))
        panels = page.texts(".panel")
        assert len(panels) == 12
        assert page.texts(".panel h3") == TITLES
        assert "0.19 MB leaked in 1 event" in panels[0]
        assert "zeEventPoolDestroy" in panels[2] and "0.19 MB" in panels[2]
        assert "zeMemAllocDevice" in panels[8] and "+4.00 MB" in panels[8]
        assert "−4.00 MB" in panels[8]
        assert "Total: 0.19 MB" in panels[11]
        assert page.js("return document.querySelectorAll('.panel.alarm').length") == 3
        assert "1 row is damaged" in page.text(".gaps") and "line 8" in page.text(".gaps")
        assert page.js("return document.querySelectorAll('.panel canvas').length") == 8
        opened(page, tracker_page(case, leak=-64))
        assert page.js("return document.querySelectorAll('.panel.alarm').length") == 0
        assert "No leak events" in page.text(".panels")
        assert page.complaints() == []
