# SPDX-License-Identifier: MIT
"""test_plot.py - gputrack plot, from files and real recordings to pictures."""
import datetime
import os
import pathlib
import re
import shutil
import struct
import xml.dom.minidom
import zlib

import harness
from pages import recordings

HEADER = ("CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,"
          "Delta_VmSize_KB,Delta_VmRSS_KB,Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,"
          "EventPools,CommandLists,Events,Fences,Images,Samplers,TotalMemory_Bytes")
TITLES = ["Memory Leak Detection Over Time", "System Memory Usage Over Time",
          "Memory Leaks by API Call", "Memory Deltas Per API Call", "L0 Resource Counts",
          "Command Lists and Events", "Total Memory Allocations", "Top 10 Most Frequent API Calls",
          "Top 10 API Calls by Memory Impact", "Top 10 API Calls by Avg Memory per Call",
          "Cumulative Memory Impact by Top 5 APIs", "Individual Leak Events Timeline"]


def inputs(case):
    return case.source / "tests" / "golden" / "inputs"


def need_pictures(case):
    """Skips where Cairo was not found when gputrack was built."""
    done = case.gputrack("plot", inputs(case) / "tracker" / "one_row.csv", "-o", "try.png")
    if "built without pictures" in done.err:
        assert done.status == 1 and not case.path("try.png").exists()
        case.skip("gputrack was built without Cairo")
    assert done.status == 0, done.err


def read_png(path):
    """(width, height, distinct pixels), after every chunk's checksum and the image data."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, image, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
            assert body[8:10] in (b"\x08\x02", b"\x08\x06")
            depth = 3 if body[9] == 2 else 4
        elif kind == b"IDAT":
            image += body
        at += 12 + length
    raw = zlib.decompress(image)
    assert len(raw) == size[1] * (1 + depth * size[0])
    return size[0], size[1], len(set(raw[i:i + depth] for i in range(1, len(raw) - depth, depth)))


class Words:
    """A picture's description: its panels, curves, and every text with its box."""

    def __init__(self, path):
        self.panels, self.texts, self.curves = [], [], []
        for line in path.read_text().splitlines():
            if line.startswith("picture "):
                self.width, self.height = (float(word) for word in line.split()[1:])
            elif line.startswith("panel "):
                self.panels.append(line[6:])
            elif line.startswith("curve "):
                name, numbers = line[6:].rsplit(": x ", 1)
                self.curves.append((name, [float(n) for n in re.findall(r"-?\d[\d.e+-]*", numbers)]))
            elif line.startswith("  text "):
                x, y, w, h, text = line[7:].split(" ", 4)
                self.texts.append((float(x), float(y), float(w), float(h), text))

    def check_texts(self):
        """Every text is inside the picture and overlaps no other."""
        for i, (x, y, w, h, text) in enumerate(self.texts):
            assert x >= 0 and y >= 0 and x + w <= self.width and y + h <= self.height, (text, x, y)
            for a, b, c, d, other in self.texts[:i]:
                assert x >= a + c or a >= x + w or y >= b + d or b >= y + h, (text, other)


@harness.also_on("intel", is_long=True)
def test_the_tracker_of_a_real_program_is_drawn_beside_its_csv(case):
    need_pictures(case)
    run = case.run(case.program("ze_app"), env=case.tracker(ZEL_SYSTEM_RESOURCE_TRACKER_CSV="t.csv"))
    assert run.status == 0, run.err
    table = case.path(f"t_pid{run.pid}.csv")
    done = case.gputrack("plot", table)
    assert done.status == 0, done.err
    rows = len(table.read_text().splitlines()) - 1
    assert f"Total API calls: {rows:,}\n" in done.out
    assert "=== MEMORY LEAK DETECTION ===\n" in done.out
    assert read_png(case.path(f"t_pid{run.pid}_plot.png"))[:2] == (1800, 1840)
    case.gputrack("plot", table, "-o", "t.txt")
    titles = [re.sub(r" \((alarm|good)\)$", "", panel) for panel in Words(case.path("t.txt")).panels]
    assert titles == TITLES


def test_a_real_recording_is_drawn_with_its_leaks_and_sites(case):
    need_pictures(case)
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("leaky"), env=case.pocl())
    assert run.status == 0, run.err
    done = case.gputrack("plot", "a.gt", "--dark")
    assert done.status == 0, done.err
    width, height, colors = read_png(case.path("a_plot.png"))
    assert (width, height) == (1600, 1280) and colors > 8
    case.gputrack("plot", "a.gt", "-o", "a.txt")
    words = Words(case.path("a.txt"))
    words.check_texts()
    leaks = case.report("a.gt", "leakage")["totals"]
    assert any(f"{leaks['count']} resources leaked" in text for *_, text in words.texts)
    assert any("make_scratch_buffer" in text for *_, text in words.texts)
    # the picture's highest point is the peak that the report tells
    peak = case.report("a.gt", "usage")["peak"]["device_bytes"]
    high = max(numbers[3] for name, numbers in words.curves if name == "buffer")
    assert abs(high * 2**20 - peak) < 1, (high, peak)


def test_texts_never_overlap_at_any_size(case):
    for table in sorted(inputs(case).glob("*/*.?sv")):
        for size in ("300x200", "640x480", "1000x2000", "3000x900"):
            done = case.gputrack("plot", table, "-o", "out.txt", "--size", size)
            if done.status == 0:
                words = Words(case.path("out.txt"))
                assert (words.width, words.height) == tuple(float(n) for n in size.split("x"))
                words.check_texts()
            else:
                assert len(done.err.splitlines()) == 1, done.err


def test_every_input_yields_a_picture_or_one_line(case):
    need_pictures(case)
    drawn = 0
    for table in sorted(inputs(case).glob("**/*")):
        if table.is_dir():
            continue
        done = case.gputrack("plot", table, "-o", "out.png", "--size", "640x480")
        if done.status == 0:
            drawn += 1
            assert read_png(case.path("out.png"))[:2] == (640, 480)
            case.path("out.png").unlink()
        else:
            assert done.status == 1 and not done.out
            assert len(done.err.splitlines()) == 1 and table.name in done.err, done.err
            assert not case.path("out.png").exists()
    assert drawn > 12


def test_svg_and_pdf_are_chosen_by_file_name(case):
    need_pictures(case)
    table = inputs(case) / "tracker" / "leaky.csv"
    for name in ("a.svg", "a.pdf"):
        assert case.gputrack("plot", table, "-o", name, "--size", "900x800").status == 0
    root = xml.dom.minidom.parse(str(case.path("a.svg"))).documentElement
    assert root.tagName == "svg" and root.getAttribute("viewBox") == "0 0 900 800"
    data = case.path("a.pdf").read_bytes()
    assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")
    done = case.gputrack("plot", table, "-o", "a.jpeg")
    assert done.status == 2 and not case.path("a.jpeg").exists()


def test_a_single_spike_in_a_million_rows_is_drawn(case):
    with open(case.path("big.csv"), "w") as out:
        out.write(HEADER + "\n")
        for i in range(1, 1000001):
            size = 9000000 if i == 333333 else 400000 + i % 50
            out.write(f"{i},{i // 50},zeMemAllocDevice,{size},{size},1,{size},2,0,{i % 50},0,"
                      f"1,1,1,1,1,1,1,1,1,1,{i}\n")
    done = case.gputrack("plot", "big.csv", "-o", "big.txt")
    assert done.status == 0, done.err
    assert "Total API calls: 1,000,000\n" in done.out
    assert f"Peak VmRSS: {9000000 / 1024:,.2f} MB\n" in done.out
    curves = dict(Words(case.path("big.txt")).curves)
    assert abs(curves["VmRSS"][3] - 9000000 / 1024) < 0.01
    assert abs(curves["VmRSS"][1] - 20) < 0.001
    points = [int(n) for n in re.findall(r"points (\d+)", case.path("big.txt").read_text())]
    assert max(points) < 10000


def test_counts_of_many_rows_are_bands(case):
    """100,000 rows would be a solid block; a thousand are lines."""
    for rows, dense in ((1000, 0), (100000, 7)):
        made = case.run("python3", case.source / "bench/make_tracker_csv.py", rows)
        case.path("t.csv").write_text(made.out)
        done = case.gputrack("plot", "t.csv", "-o", "t.txt")
        assert done.status == 0, done.err
        words = case.path("t.txt").read_text()
        assert words.count("band, with averages of") == dense, rows
        assert words.count("bands: lowest to highest; lines: averages") == (2 if dense else 0)
        for line in ("Peak threads: 4", "Peak command lists: 2", "Peak kernels: 4",
                     "Top 10 most frequent API calls:", "Top 10 API calls by memory impact:",
                     "Top 10 API calls by average memory per call:"):
            assert f"\n{line}\n" in done.out, done.out


def test_the_configured_csv_name_leads_to_the_tracker_file(case):
    rows = (inputs(case) / "tracker" / "clean.csv").read_text()
    case.path("out_pid15534.csv").write_text(rows)
    for other in ("out_pid.csv", "out_pid12.txt", "out_pid12x.csv", "other_pid12.csv"):
        case.path(other).write_text(rows)
    for command in ("plot", "html"):
        done = case.gputrack(command, case.path("out.csv"))
        if "built without" in done.err:
            continue
        assert done.status == 1 and len(done.err.splitlines()) == 1, done.err
        assert "out_pid15534.csv" in done.err and "more" not in done.err, done.err
    os.utime(case.path("out_pid15534.csv"), (1, 1))
    case.path("out_pid9-2.csv").write_text(rows)
    done = case.gputrack("plot", "out.csv")
    assert "wrote out_pid9-2.csv and 1 more" in done.err, done.err
    assert "pid" not in case.gputrack("plot", "none.csv").err


def test_standard_input_and_output(case):
    need_pictures(case)
    text = (inputs(case) / "usage" / "nsight.tsv").read_bytes()
    done = case.run("sh", "-c", f"'{case.build / 'gputrack'}' plot - -o - >out.png", stdin=text)
    assert done.status == 0 and "peak 4.25 GiB" in done.err, done.err
    assert read_png(case.path("out.png"))[:2] == (1400, 700)
    done = case.gputrack("plot", "-", stdin=text)
    assert done.status == 0 and "saved to: plot.png" in done.out, done.err
    assert case.path("plot.png").exists()


def test_a_trace_is_drawn_and_pictures_have_distinct_names(case):
    recordings(case)
    (trace,) = case.path("leaks.gt").glob("*.trace")
    done = case.gputrack("plot", trace, "-o", "one.txt")
    assert done.status == 0 and case.path("one.txt").exists(), done.err
    shutil.copy(case.source / "tests/golden/inputs/tracker/leaky.csv", case.path("leaks.csv"))
    done = case.gputrack("plot", "leaks.gt", "leaks.csv")
    assert done.status == 2 and "would both be written to leaks_plot.png" in done.err, done.err
    done = case.gputrack("plot", "leaks.csv", "-o", "nowhere/x.png")
    assert done.status == 1 and "writes recordings" not in done.err, done.err


def test_an_existing_file_survives_a_failed_picture(case):
    case.path("a.png").write_text("before")
    done = case.gputrack("plot", inputs(case) / "prose.txt", "-o", "a.png")
    assert done.status == 1 and case.path("a.png").read_text() == "before"
    done = case.gputrack("plot", inputs(case) / "tracker" / "leaky.csv", "-o", "nowhere/a.png")
    assert done.status == 1 and len(done.err.splitlines()) == 1, done.err
    assert sorted(path.name for path in case.folder.iterdir()) == ["a.png"]


def test_without_cairo_there_are_words_and_one_line(case):
    need_pictures(case)
    case.path("try.png").unlink()
    table, env = inputs(case) / "tracker" / "leaky.csv", {"LD_LIBRARY_PATH": str(case.folder)}
    case.path("libcairo.so.2").touch()
    done = case.gputrack("plot", table, "-o", "a.png", env=env)
    assert done.status == 1 and not done.out and len(done.err.splitlines()) == 1, done.err
    assert "cannot load libcairo.so.2" in done.err and "install libcairo2" in done.err, done.err
    assert not case.path("a.png").exists()
    assert case.gputrack("plot", table, "-o", "a.txt", env=env).status == 0


def test_names_cannot_reach_the_terminal(case):
    done = case.gputrack("plot", inputs(case) / "tracker" / "few_columns.csv", "-o", "a.txt")
    assert done.status == 0 and "\x1b" not in done.out
    assert "\x1b" not in case.path("a.txt").read_text()


def test_the_clocks_are_aligned_where_both_are_known(case):
    """The start of a recording is known, so a log with wall-clock times is aligned to it."""
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("leaky"), env=case.pocl())
    assert run.status == 0, run.err
    started = case.report("a.gt", "summary")["recording"]["started"]  # whole seconds, UTC here
    first = datetime.datetime.fromisoformat(started)
    # long enough that a program which took its time to begin is within it
    times = [f"{first + datetime.timedelta(seconds=s):%Y/%m/%d %H:%M:%S}" for s in (0, 60)]
    case.path("smi.log").write_text(f"{times[0]}.000, 100\n{times[1]}.000, 200\n")
    done = case.gputrack("plot", "a.gt", "-s", "smi.log", "-o", "a.txt")
    assert done.status == 0, done.err
    shift = re.search(r"clocks aligned: the nvidia-smi log begins ([\d.]+) s before", done.out)
    assert shift and float(shift[1]) < 60, done.out
    done = case.gputrack("plot", "a.gt", "-s", "smi.log", "-o", "a.txt", env={"TZ": "XXX-3"})
    assert "the clocks do not overlap" in done.out, done.out
