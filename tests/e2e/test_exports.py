# SPDX-License-Identifier: MIT
"""test_exports.py - recordings in the formats of other tools, read by those tools if installed."""
import csv
import gzip
import io
import json
import re
import shutil
import subprocess

import readers
from pages import recordings


def leaky(case):
    """The sample: one buffer of 1 MiB and 20 events leak."""
    done = case.gputrack("run", "-q", "-o", "a.gt", case.program("leaky"), env=case.pocl())
    assert done.status == 0, done.err


def export(case, form, *more):
    done = case.gputrack("export", "a.gt", "--format", form, "-o", f"out.{form}", *more)
    assert (done.status, done.out, done.err) == (0, "", ""), done.err
    return case.path(f"out.{form}")


# pprof: by a reader of our own, by protoc, by go.

def fields(data):
    """(field, value) of a protobuf message: numbers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            assert at + size <= len(data)
            yield key >> 3, data[at:at + size]
            at += size


def numbers(data):
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            out.append(value)
            value = shift = 0
    return out


def read_profile(path):
    """Samples as ({kind: …}, stack of functions innermost first, values), checked for consistency."""
    parts = {}
    for field, value in fields(gzip.decompress(path.read_bytes())):
        parts.setdefault(field, []).append(value)
    texts = [text.decode() for text in parts[6]]
    assert texts[0] == "" and len(texts) == len(set(texts))
    functions, mappings, locations = {}, {}, {}
    for data in parts[5]:
        one = dict(fields(data))
        functions[one[1]] = texts[one[2]]
    for data in parts[3]:
        one = dict(fields(data))
        assert one[2] < one[3]
        mappings[one[1]] = (one[2], one[3], texts[one[5]], texts[one.get(6, 0)])
    for data in parts[4]:
        one = list(fields(data))
        plain = dict(item for item in one if item[0] != 4)
        low, high = mappings[plain[2]][:2] if 2 in plain else (0, 1 << 64)
        assert low <= plain.get(3, 0) < high
        assert plain[1] not in locations
        locations[plain[1]] = [functions[dict(fields(line))[1]] for key, line in one if key == 4]
    types = [(texts[dict(fields(t))[1]], texts[dict(fields(t))[2]]) for t in parts[1]]
    assert types == [("alloc_objects", "count"), ("alloc_space", "bytes"),
                     ("inuse_objects", "count"), ("inuse_space", "bytes")]
    samples = []
    for data in parts[2]:
        one = list(fields(data))
        labels = [dict(fields(label)) for key, label in one if key == 3]
        plain = dict(item for item in one if item[0] != 3)
        samples.append(({texts[label[1]]: texts[label[2]] for label in labels},
                        [name for id in numbers(plain[1]) for name in locations[id]],
                        numbers(plain[2])))
    return samples, mappings


def test_pprof_has_every_site(case):
    leaky(case)
    samples, mappings = read_profile(export(case, "pprof"))
    wanted, found = {}, {}  # what was not released has a sample of its own, with its fate

    def add(sums, kind, stack, values):
        key = kind, tuple(stack)
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * 4), values)]

    for group in case.report("a.gt", "sites")["groups"]:
        add(wanted, group["kind"], [f["function"] for f in group["stack"]],
            [group["created"], group["total_bytes"], group["count"], group["bytes"]])
    for labels, stack, values in samples:
        add(found, labels["kind"], stack, values)
    assert found == wanted, (found, wanted)
    assert {labels.get("fate") for labels, _, values in samples if values[2]} == {"leaked"}
    assert sum(values[3] for _, _, values in samples) == 1 << 20
    assert sum(values[2] for _, _, values in samples) == 21
    files = [mapping[2] for mapping in mappings.values()]
    assert case.program("leaky") in files
    assert all(re.fullmatch("([0-9a-f]{2})*", mapping[3]) for mapping in mappings.values())


def test_pprof_distinguishes_unnamed_frames_of_two_modules(case):
    recordings(case)
    case.path("leaks.gt").rename(case.path("a.gt"))
    samples, _ = read_profile(export(case, "pprof"))
    names = {name for _, stack, _ in samples for name in stack}
    assert "demo+0x1300" in names and not any(name.startswith("0x") for name in names), names


def test_pprof_is_compressed(case):
    recordings(case)
    case.path("names.gt").rename(case.path("a.gt"))
    data = export(case, "pprof").read_bytes()
    assert len(data) < 0.6 * len(gzip.decompress(data)), len(data)
    assert data[4:8] == bytes(4)  # no time: equal recordings give equal files


def test_protoc_decodes_pprof(case):
    if not shutil.which("protoc"):
        case.skip("protoc is not installed")
    leaky(case)
    data = gzip.decompress(export(case, "pprof").read_bytes())
    done = subprocess.run(["protoc", "--decode=pprof.Profile", "-I", case.source / "tests" / "e2e",
                           "pprof.proto"], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    text = done.stdout.decode()
    assert done.returncode == 0 and not done.stderr, done.stderr
    # a field that the schema does not know would be shown by its number
    assert not re.search(r"^\s*[0-9]+[: ]", text, re.M), text
    groups = case.report("a.gt", "sites")["groups"]
    assert text.count("\nsample {") == len(groups) + sum(group["count"] > 0 for group in groups)
    assert 'string_table: "make_scratch_buffer"' in text


def test_go_tool_pprof_opens_it(case):
    if not shutil.which("go"):
        case.skip("go is not installed")
    leaky(case)
    path = export(case, "pprof")
    done = case.run("go", "tool", "pprof", "-top", path)
    assert done.status == 0 and re.search(r"1MB\s+100%.*make_scratch_buffer", done.out), done.out
    done = case.run("go", "tool", "pprof", "-top", "-sample_index=inuse_objects", path)
    assert done.status == 0 and re.search(r"10 .*start_addition", done.out), done.out


# The other forms of stacks.

def test_collapsed_stacks(case):
    leaky(case)
    for value, total in (("leaked", 1 << 20), ("objects", 21), ("allocated", 3 << 19)):
        lines = export(case, "collapsed", "--value", value).read_text().splitlines()
        for line in lines:
            assert re.fullmatch(r"([^;]+;)*\[OpenCL [a-z -]+\]( [^;]+)? [0-9]+", line), line
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == total, (value, lines)
    assert any(re.fullmatch(r"main;make_scratch_buffer;\[OpenCL buffer\] make_scratch_buffer \S*leaky\.c:\d+ 1048576",
                            line) for line in lines), lines


def test_speedscope(case):
    leaky(case)
    profile = json.loads(export(case, "speedscope", "--value", "objects").read_text())
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = profile["shared"]["frames"]
    assert len({json.dumps(frame, sort_keys=True) for frame in frames}) == len(frames)
    assert all(set(frame) <= {"name", "file", "line", "col"} and frame["name"] for frame in frames)
    names = [one["name"] for one in profile["profiles"]]
    assert names == ["leaked", "peak", "allocated", "objects", "alive"]
    assert profile["activeProfileIndex"] == 3
    for one in profile["profiles"]:
        assert one["type"] == "sampled" and one["unit"] in ("bytes", "none")
        assert len(one["samples"]) == len(one["weights"]) > 0
        assert one["endValue"] - one["startValue"] == sum(one["weights"])
        assert all(0 <= number < len(frames) for stack in one["samples"] for number in stack)
        for stack in one["samples"]:
            assert frames[stack[0]]["name"] == "main", "the outermost comes first"
    assert profile["profiles"][0]["endValue"] == 1 << 20


def refused(case, name, text):
    """The reader must reject mistakes."""
    case.path("wrong").write_text(text)
    try:
        readers.check(case, name, case.path("wrong"))
    except AssertionError:
        return True
    return False


def test_speedscope_matches_its_own_schema(case):
    leaky(case)
    for value in ("leaked", "peak", "allocated", "objects", "alive"):
        readers.check(case, "speedscope", export(case, "speedscope", "--value", value))
    assert refused(case, "speedscope", case.path("out.speedscope").read_text()
                   .replace('"sampled"', '"simple"'))


# Events.

def check_chrome(trace):
    """Every begin has its end, in order; counters never go below zero."""
    alive, ends = {}, 0
    for event in trace["traceEvents"]:
        assert event["ph"] in "MCbe" and isinstance(event["pid"], int), event
        if event["ph"] == "M":
            continue
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert all(value >= 0 for value in event["args"].values()), event
            continue
        key = event["pid"], event["cat"], event["id2"]["local"]
        if event["ph"] == "b":
            assert key not in alive, event
            alive[key] = event
        else:
            begun = alive.pop(key)
            assert begun["name"] == event["name"] and begun["ts"] <= event["ts"]
            ends += 1
    assert not alive
    return ends


def test_chrome_trace(case):
    leaky(case)
    trace = json.loads(export(case, "chrome").read_text())
    summary = case.report("a.gt", "summary")
    assert check_chrome(trace) == sum(kind["created"] for kind in summary["kinds"])
    leaked = [event for event in trace["traceEvents"] if event.get("args", {}).get("leaked")]
    assert len(leaked) == 21
    (process,) = summary["recording"]["processes"]
    assert {round(event["ts"] * 1000) for event in leaked} == {process["end_ns"]}
    memory = [event["args"]["bytes"] for event in trace["traceEvents"]
              if event["name"] == "device memory"]
    assert max(memory) == summary["peak"]["device_bytes"] and memory[-1] == 1 << 20
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert names == {"all processes", "leaky"}


def test_csv_and_json_have_the_same_events(case):
    leaky(case)
    text = export(case, "csv").read_bytes().decode()
    assert text.endswith("\r\n")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    events = case.events("a.gt")
    assert len(rows) == len(events)
    for row, event in zip(rows, events):
        assert None not in row and None not in row.values()
        for key in ("time_ns", "pid", "function", "effect", "api", "kind", "handle", "outcome"):
            assert row[key] == str(event[key]), key
        assert row["bytes"] == str(event.get("bytes", ""))
        assert row["where"] == event.get("where", "")
        functions = [frame.partition(" (")[0] for frame in row["stack"].split(" < ")] if row["stack"] else []
        assert functions == [frame["function"] for frame in event["stack"]]


def read_prometheus(text):
    """Samples by (name, labels); fails on anything but the exposition format."""
    types, samples, helps = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helps.add(line.split()[2])
            continue
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert name in helps and name not in types and kind in ("gauge", "counter")
            types[name] = kind
            continue
        match = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? ([0-9]+)',
                             line)
        assert match, line
        assert match[1] in types and (types[match[1]] == "counter") == match[1].endswith("_total")
        assert (match[1], match[2]) not in samples
        samples[match[1], match[2]] = int(match[3])
    return samples


def test_prometheus(case):
    leaky(case)
    samples = read_prometheus(export(case, "prometheus").read_text())
    assert samples["gputrack_leaked_bytes", 'api="opencl",kind="buffer"'] == 1 << 20
    assert samples["gputrack_leaked_resources", 'api="opencl",kind="event"'] == 20
    assert samples["gputrack_processes", None] == 1
    assert samples["gputrack_events_total", None] == len(case.events("a.gt"))


def test_the_prometheus_client_reads_the_export(case):
    leaky(case)
    path = export(case, "prometheus")
    told = {(name, ",".join(f'{key}="{value}"' for key, value in labels.items()) or None): value
            for name, labels, value in readers.check(case, "prometheus", path)}
    # the recording's own words, with all that has to be escaped, are read by it alone
    info = [key for key in told if key[0] == "gputrack_recording_info"]
    wanted = {key: value for key, value in read_prometheus(path.read_text()).items()
              if key[0] != "gputrack_recording_info"}
    assert len(info) == 1 and {k: v for k, v in told.items() if k not in info} == wanted
    assert refused(case, "prometheus", 'gputrack_events_total{api="x} 1\n')


def test_every_format_can_be_written_to_stdout_and_fails_cleanly(case):
    leaky(case)
    for form in ("tsv", "json", "csv", "pprof", "collapsed", "speedscope", "chrome", "prometheus"):
        path = export(case, form)
        with open(case.path("direct"), "wb") as out:
            assert subprocess.run([case.build / "gputrack", "export", "a.gt", "-f", form, "-o",
                                   "-"], cwd=case.folder, stdout=out).returncode == 0
        assert case.path("direct").read_bytes() == path.read_bytes(), form
        done = case.gputrack("export", "a.gt", "-f", form, "-o", "/dev/full")
        assert done.status == 1 and "No space left" in done.err, (form, done.err)
        done = case.gputrack("export", "a.gt", "-f", form, "-o", "no/such/folder")
        assert done.status == 1 and len(done.err.splitlines()) == 1, (form, done.err)
        done = case.gputrack("export", "missing.gt", "-f", form, "-o", "never")
        assert done.status == 1 and not case.path("never").exists()


def test_exports_of_the_golden_recordings_are_valid(case):
    """Odd names, empty reports, everything at once; the file may end with an exit status."""
    expected, count = case.source / "tests" / "golden" / "expected", 0
    for name, pattern, end in (("sarif", "ci/*-sarif.json", "}"), ("junit", "ci/*-junit.xml", ">"),
                               ("speedscope", "export/*-speedscope.json", "}"),
                               ("prometheus", "export/*.prom", "\n")):
        for path in sorted(expected.glob(pattern)):
            text = path.read_text()
            case.path(path.name).write_text(text[:text.rindex(end) + 1])
            readers.check(case, name, case.path(path.name))
            count += 1
    assert count >= 15, count


def test_a_full_disk_is_reported_and_no_file_is_left(case):
    """Every writer names the error of the disk, not an earlier one of the stream."""
    leaky(case)
    with case.small_disk("64k") as disk:
        (disk / "fill").write_bytes(bytes(60 * 1024))
        for command in (["html", "a.gt", "-o", disk / "p.html"], ["plot", "a.gt", "-o", disk / "p.png"],
                        ["plot", "a.gt", "-o", disk / "p.svg"], ["plot", "a.gt", "-o", disk / "p.pdf"],
                        ["export", "a.gt", "-f", "chrome", "-o", disk / "t.json"],
                        ["export", "a.gt", "-f", "json", "-o", disk / "e.json"]):
            done = case.gputrack(*command)
            if "was built without" in done.err:
                continue
            assert done.status == 1 and len(done.err.splitlines()) == 1, (command, done.err)
            assert "No space left on device; make room" in done.err, (command, done.err)
        assert [path.name for path in disk.iterdir()] == ["fill"]
