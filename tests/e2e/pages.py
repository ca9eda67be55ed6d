# SPDX-License-Identifier: MIT
"""pages.py - makes the page of a recording, opens it in a browser, and reads its data."""
import base64
import itertools
import json
import re
import zlib


def recordings(case):
    """The golden tests' recordings, in the case's folder."""
    made = case.run(case.build / "tests" / "golden" / "make_recordings", ".")
    assert made.status == 0, made.err


def page_of(case, name, *options):
    """The page of one of them; skipped where the page was left out of the build."""
    if not (case.folder / "leaks.gt").exists():
        recordings(case)
    case.need_page()
    done = case.gputrack("html", name, *options)
    assert done.status == 0, done.err
    path = case.path(name.rsplit(".", 1)[0] + ".html")
    assert path.exists(), done.err
    return path


def opened(browser, path):
    browser.open(path)
    browser.wait("document.body.dataset.drawn === 'all'")
    return browser


def data_of(path):
    """The data in the page, parsed as JSON."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert len(found) == 1, "names have ended the data's element"
    return json.loads(found[0])


def varints(data):
    value, shift = 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value, shift = 0, 0


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def last_values(channel):
    """(lowest, highest, last) of each row of a channel."""
    words, now, out = list(varints(base64.b64decode(channel))), 0, []
    for i in range(0, len(words), 3):
        now += unzigzag(words[i])
        out.append((now - words[i + 1], now + words[i + 2], now))
    return out


class Lives:
    """The matrix of lives of a set, as src/page/lives_json.c writes it.

    cells: (origin, born, ended or None, count, bytes), in steps; times: when each step ends, in ns.
    """
    COLUMNS = ("site", "stack", "process", "place", "tid", "phase", "size", "cells")

    def __init__(self, of_set):
        raw = of_set["lives"]
        words = varints(zlib.decompress(base64.b64decode(raw["packed"])))
        table = [[next(words) for _ in range(raw["origins"])] for _ in self.COLUMNS]
        born, life, count, more = ([next(words) for _ in range(raw["cells"])] for _ in range(4))
        assert next(words, None) is None
        self.origins = [dict(zip(self.COLUMNS, row)) for row in zip(*table)]
        self.cells, site, at = [], 0, 0
        for origin in self.origins:
            site += origin["site"]
            origin["site"], step = site, 0
            for i in range(at, at + origin["cells"]):
                step += born[i]
                size = unzigzag(more[i]) + (count[i] * origin["size"] if raw["detail"] == "size" else 0)
                self.cells.append((origin, step, step + life[i] - 1 if life[i] else None, count[i], size))
            at += origin["cells"]
        now, rows = 0, []
        for step in varints(base64.b64decode(of_set["kind_rows"]["times"])):
            now += step
            rows.append(now)
        width = 1 << raw["shift"]
        self.times = [rows[min(i + width, len(rows)) - 1] for i in range(0, len(rows), width)]


class Blocks:
    """Single blocks and segments of a set, as src/page/blocks_json.c writes them; times in ns, None: never.

    blocks, segments: dicts; a segment's "used" has (time, bytes in blocks), the first 0 at its birth.
    """
    COLUMNS = ("site", "kind", "stack", "place", "process", "device", "tid", "phase", "size", "handle",
               "born", "life", "freed_stack", "freed_place", "flags")
    SEGMENT = ("site", "kind", "stack", "process", "device", "address", "size", "born", "life", "points")

    def __init__(self, of_set):
        self.raw = raw = of_set["blocks"]
        words = varints(zlib.decompress(base64.b64decode(raw["packed"])))
        self.blocks = self._rows(words, self.COLUMNS, raw["count"])
        self.segments = self._rows(words, self.SEGMENT, raw["segments"])
        times = [[next(words) for _ in range(s["points"])] for s in self.segments]
        for segment, steps in zip(self.segments, times):
            now, used, segment["used"] = segment["born"], 0, [(segment["born"], 0)]
            for step in steps:
                now, used = now + step, used + unzigzag(next(words))
                segment["used"].append((now, used))
        assert next(words, None) is None
        self.is_complete = raw["count"] == raw["total"] and raw["segments"] == raw["segment_total"]

    @staticmethod
    def _rows(words, names, count):
        table = [[next(words) for _ in range(count)] for _ in names]
        rows, now = [dict(zip(names, row)) for row in zip(*table)], 0
        for row in rows:
            now += row["born"]
            row["born"] = now
            row["ended"] = now + row["life"] - 1 if row["life"] else None
        return rows

    def parts_at(self, time):
        """[bytes of blocks, fragmented, cached] at a moment."""
        alive = [block["size"] for block in self.blocks if lives_at(block, time)]
        parts = [sum(alive), 0, 0]
        for segment in self.segments:
            if lives_at(segment, time):
                used = [used for since, used in segment["used"] if since <= time][-1]
                parts[1 if used else 2] += segment["size"] - used
        return parts


def lives_at(block, time):
    return block["born"] <= time and (block["ended"] is None or block["ended"] > time)


def row_times(rows):
    """When each row of a set's "rows" or "kind_rows" ends, in ns."""
    return list(itertools.accumulate(varints(base64.b64decode(rows["times"]))))
