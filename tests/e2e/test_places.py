# SPDX-License-Identifier: MIT
"""test_places.py - the user's own line first: recorded stacks, and the headlines a person would write."""
import gzip
import importlib.util
import json
import pathlib
import re
import shutil

import harness
import pages
import test_top

PATH = pathlib.Path(__file__).resolve().parents[1] / "places" / "places.py"
spec = importlib.util.spec_from_file_location("places", PATH)
places = importlib.util.module_from_spec(spec)
spec.loader.exec_module(places)


def frames_of(group):
    return tuple((frame["function"], frame["file"], frame["line"], frame["module"], frame["offset"],
                  frame["inlined"]) for frame in group["stack"])


def test_the_corpus_is_read_as_it_was_recorded(case):
    stacks = 0
    for corpus in places.all_of_them():
        wanted = {tuple(tuple(frame) for frame in stack["frames"]) for stack in corpus.stacks}
        report = case.report(corpus.record(case), "leakage", "--all-frames")
        got = {frames_of(group) for group in report["groups"]}
        stacks += len(corpus.stacks)
        # the same words at two addresses may be one group
        assert got <= wanted and len(got) > 0, (corpus.name, got - wanted)
        assert sum(group["bytes"] for group in report["groups"]) == 2 ** len(corpus.stacks) - 1, corpus.name
        assert report["recording"]["processes"][0]["program"] == corpus.program
    assert stacks >= 40, stacks


def test_every_stack_of_the_corpus_has_a_headline(case):
    for corpus in places.all_of_them():
        used = {stack["headline"] for stack in corpus.stacks}
        assert used == set(range(len(corpus.headlines))), corpus.name
        said = [json.dumps(headline, sort_keys=True) for headline in corpus.headlines]
        assert len(said) == len(set(said)), f"{corpus.name}: two places have the same headline"
        text = json.dumps(corpus.__dict__)
        assert "/root" not in text and "/tmp/w" not in text, f"{corpus.name}: a path of somebody's machine"


# The place of a group, as the JSON of the analyses has it: None where it does not yet.

def place_of(group):
    return group.get("place")


def headline_of(group):
    """(place, via, callers) as words."""
    place = place_of(group)
    return place["at"], place["via"], place["callers"]


def wrong_headlines(corpus, groups):
    """What is not as the corpus wants it, in words."""
    wrong, seen = [], {}
    for group in groups:
        numbers = [i for i in range(len(corpus.stacks)) if group["bytes"] >> i & 1]
        headlines = {corpus.stacks[i]["headline"] for i in numbers}
        place, via, callers = headline_of(group)
        if len(headlines) != 1:
            wrong.append(f"one row for {len(headlines)} places: {place}")
            continue
        (number,) = headlines
        expected = corpus.headlines[number]
        if number in seen:
            wrong.append(f"two rows for one place: {place}")
        seen[number] = place
        if not places.matches(expected["place"], place):
            wrong.append(f"place: {place}, expected {expected['place']}")
        if not places.is_within(expected["via"], [places.plain_function(name) for name in via]):
            wrong.append(f"{place}: via {via}, expected {expected['via']}")
        if not places.is_within(expected["callers"], callers, places.matches) or \
                (callers and not expected["callers"]) or \
                (callers and not places.matches(expected["callers"][-1], callers[-1])):
            wrong.append(f"{place}: callers {callers}, expected {expected['callers']}")
    return [f"{corpus.name}: {line}" for line in wrong]


def test_every_headline_is_what_a_person_expects(case):
    corpus = places.named("callers_lines")
    groups = case.report(corpus.record(case), "leakage")["groups"]
    if not place_of(groups[0]) and not places.runs_pending():
        case.skip("to do: groups have no `place` yet")
    wrong = []
    for corpus in places.all_of_them():
        report = case.report(corpus.record(case), "leakage", *corpus.options)
        wrong += wrong_headlines(corpus, report["groups"])
    assert not wrong, "\n".join(wrong)


# The same headline in every view. Each takes the case and a recording of one growing place, and gives
# texts; the first of them that names any frame of the stack must name the headline's.

def text(*command):
    def view(case, name):
        done = case.gputrack(*[name if word == "NAME" else word for word in command])
        assert done.status in (0, 23), done.err
        return done.out.splitlines()
    return view


def objects(*command, pick):
    def view(case, name):
        return [json.dumps(found) for found in pick(json.loads("\n".join(text(*command)(case, name))))]
    return view


def where_column(case, name):
    lines = text("report", name, "-a", "sites", "-f", "tsv")(case, name)
    column = lines[0].split("\t").index("where")
    return [line.split("\t")[column] for line in lines]


PAGE_SITE_BYTES, PAGE_SITE_PLACE = 3, 16  # where a site has these, see viewer/js/data.js


def junit(case, name):
    return [line.replace('" line="', ":") for line in text("report", "NAME", "-f", "junit")(case, name)]


def page(case, name):
    """The first row of the call sites: that which holds the most."""
    data = pages.data_of(pages.page_of(case, name))
    most = max(data["sets"][0]["sites"], key=lambda site: site[PAGE_SITE_BYTES])
    place = data["places"][most[PAGE_SITE_PLACE]]
    return [" ".join(data["names"][number] for number in place)]


def plot(case, name):
    done = case.gputrack("plot", name, "-o", "plot.txt")
    assert done.status == 0, done.err
    return case.path("plot.txt").read_text(encoding="utf-8").splitlines()


def fields_of(message):
    """Numbers and values of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 0x7f) << shift
            shift += 7
            at += 1
            if message[at - 1] < 0x80:
                return value

    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            at += value
            value = message[at - value:at]
        yield key >> 3, value


def pprof(case, name):
    """The labels `place` of all samples."""
    done = case.gputrack("export", name, "-f", "pprof", "-o", "places.pb.gz")
    assert done.status == 0, done.err
    profile = list(fields_of(gzip.decompress(case.path("places.pb.gz").read_bytes())))
    strings = [value.decode() for number, value in profile if number == 6]
    labels = [dict(fields_of(label)) for number, sample in profile if number == 2
              for inner, label in fields_of(sample) if inner == 3]
    return [strings[label[2]] for label in labels if strings[label[1]] == "place"]


def tips(case, name):
    """Collapsed stacks are whole: what names them is the last frame."""
    return [line.rpartition(";")[2] for line in text("export", "NAME", "-f", "collapsed")(case, name)]


def speedscope_tips(case, name):
    frames = json.loads("\n".join(text("export", "NAME", "-f", "speedscope")(case, name)))["shared"]["frames"]
    return [frame["name"] for frame in frames if frame["name"].startswith("[")]


def births(case, name):
    events = json.loads("\n".join(text("export", "NAME", "-f", "chrome")(case, name)))["traceEvents"]
    return [event["args"]["by"] for event in events if event["ph"] == "b"]


def event_places(form, separator):
    def view(case, name):
        lines = text("export", "NAME", "-f", form)(case, name)
        assert lines[0].split(separator)[-4:] == ["where", "phase", "start_ns", "duration_ns"]
        return [line.split(separator)[-4] for line in lines]
    return view


def difference(case, name):
    empty = places.named("callers_lines").record(case, "before.gt", only=0, repeat=1)
    return text("diff", empty, "NAME")(case, name)


VIEWS = {
    "summary": text("report", "NAME"),
    "leakage": text("report", "NAME", "-a", "leakage"),
    "sites": text("report", "NAME", "-a", "sites"),
    "watermark": text("report", "NAME", "-a", "watermark"),
    "growth": text("report", "NAME", "-a", "growth"),
    "json": objects("report", "NAME", "-a", "leakage", "-f", "json",
                    pick=lambda report: [group["place"] for group in report["groups"]]),
    "tsv": where_column,
    "junit": junit,
    "sarif": objects("report", "NAME", "-f", "sarif",
                     pick=lambda report: [result["message"]["text"]
                                          for result in report["runs"][0]["results"]]),
    "github": text("report", "NAME", "-f", "github"),
    "diff": difference,
    "page": page,
    "plot": plot,
    "pprof": pprof,
    "collapsed": tips,
    "speedscope": speedscope_tips,
    "chrome": births,
    "events as TSV": event_places("tsv", "\t"),
    "events as CSV": event_places("csv", ","),
    "events as JSON": objects("export", "NAME", "-f", "json",
                              pick=lambda export: [event["where"] for event in export["events"]]),
}

def in_view(view, lines, stack, function="Model.step", where="loop.py:18"):
    """Complains unless the first line that names a frame of the stack names the user's line first."""
    names = {name: rf"(?<![\w/-]){re.escape(name)}(?![\w/-])" for name in stack if name}
    names["_cl.cpython"] = "_cl.cpython"
    for line in lines:
        found = sorted((re.search(pattern, line).start(), name) for name, pattern in names.items()
                       if re.search(pattern, line))
        if not found:
            continue
        assert found[0][1] == function, f"{view}: {line[:300]}"
        assert where in line, f"{view} lacks {where}: {line[:300]}"
        return
    raise AssertionError(f"{view} names no frame of the stack")


def wrong_views(case, name, views, *expected):
    wrong = []
    for view, lines_of in views.items():
        try:
            in_view(view, lines_of(case, name), *expected)
        except (AssertionError, KeyError, IndexError, TypeError) as reason:
            wrong.append(f"{view}: {reason!r}")
    return wrong


def test_every_view_has_the_same_headline(case):
    corpus = places.named("py_arrays")
    name = corpus.record(case, only=1, repeat=400, size=4096)
    wrong = wrong_views(case, name, VIEWS, [frame[0] for frame in corpus.stacks[1]["frames"]])
    assert not wrong, "\n".join(wrong)


class WithOptions:
    """The case, with the same options for every command that reads a recording."""

    def __init__(self, case, *options):
        self.case, self.options = case, options

    def __getattr__(self, name):
        return getattr(self.case, name)

    def gputrack(self, *words, **how):
        return self.case.gputrack(*words, *self.options, **how)


def rows_of_top(case, pid, *options):
    """The call sites on the screen, without the figures before them."""
    terminal = test_top.start_top(case, pid, *(f'"{word}"' for word in options))
    try:
        terminal.wait(rf"^ +{pid}  gputrack")
        terminal.resize(200, 40)
        terminal.keys("2")
        screen = terminal.wait(r"  buffer +\w+ ")
        return re.findall(r"  buffer +(\w.*)", screen)
    finally:
        terminal.close()


@harness.alone
def test_the_live_screen_has_the_headline_of_every_other_view(case):
    """One program, recorded, and shown by top while it runs: attaching sees no lines of Python."""
    options = ("--library", "^opencl_")
    recorded = case.start(case.build / "gputrack", "run", "-q", "-o", "live.gt", "--",
                          *test_top.stress_command(case), "--duration", "2.5", env=case.pocl())
    try:
        with test_top.Stressed(case) as stressed:
            rows = rows_of_top(case, stressed.pid, *options)
    finally:
        recorded.communicate()
    assert recorded.returncode == 0
    group = case.report("live.gt", "leakage", *options)["groups"][0]
    headline = group["place"]["text"]
    function, where = group["place"]["at"].split(" ")
    assert function == "allocate" and where.endswith(f"worker.c:{group['place']['line']}"), headline
    views = dict(VIEWS, top=lambda *_: rows)
    wrong = wrong_views(WithOptions(case, *options), "live.gt", views,
                        [frame["function"] for frame in group["stack"]], function, where.rpartition("/")[2])
    assert not wrong, "\n".join(wrong)
    assert rows[0].startswith(headline), (rows, headline)


# The order of a site's numbers on the page, and of its stacks', as viewer/js/data.js has them.
SITE = ["stack", "kind", "live", "live_bytes", "peak", "peak_bytes", "created", "total_bytes", "most_bytes", "first",
        "last", "held", "leaked", "leaked_bytes", "unreleased", "unreleased_bytes", "place", "stacks", "parts"]
PART = ["stack", "leaked", "leaked_bytes", "unreleased", "unreleased_bytes", "peak", "peak_bytes", "created",
        "total_bytes"]


def rows_of(case, name, *options):
    data = pages.data_of(pages.page_of(case, name, *options))
    rows = [dict(zip(SITE, site)) for site in data["sets"][0]["sites"]]
    for row in rows:
        row["words"] = "".join(data["names"][number] for number in data["places"][row["place"]])
        row["parts"] = [dict(zip(PART, row["parts"][i:i + len(PART)]))
                        for i in range(0, len(row["parts"]), len(PART))]
    return data, rows


def test_rows_of_the_page_are_places(case):
    corpus = places.named("templates_O2")
    name = corpus.record(case)
    data, rows = rows_of(case, name)
    groups = case.report(name, "leakage")["groups"]
    assert sorted(row["leaked_bytes"] for row in rows) == sorted(group["bytes"] for group in groups)
    assert len(rows) == len(corpus.headlines) < len(corpus.stacks)
    merged = [row for row in rows if row["parts"]]
    assert merged, "the stacks of a place are there for the flame graph"
    for row in merged:
        for key in PART[1:]:
            assert sum(part[key] for part in row["parts"]) == row[key], key
        assert len({part["stack"] for part in row["parts"]}) == len(row["parts"]) <= row["stacks"]
    assert data["sets"][0]["lives"]["origins"] >= len(rows), "each has a history"
    leaks = data["sets"][0]["leaks"]
    assert [leak["bytes"] for leak in leaks] == [rows[leak["site"]]["leaked_bytes"] for leak in leaks]
    assert sum(leak["count"] for leak in leaks) == len(corpus.stacks)
    assert data["sets"][0]["fates"]["leaked"]["sites"] == len(rows)
    by_stack = rows_of(case, name, "--by", "stack")[1]
    assert len(by_stack) == len(corpus.stacks), "--by stack keeps every address apart"
    by_file = rows_of(case, name, "--by", "file")[1]
    assert len(by_file) < len(rows) and not any(":" in row["words"] for row in by_file), by_file


# Two lines in 200 instances of a template. Without the jump in place of a last call, which leaves no frame behind.

def test_two_lines_in_200_instances_are_two_call_sites(case):
    compiler = shutil.which("c++") or case.skip("there is no compiler")
    programs = case.source / "tests" / "places" / "programs"
    for level in ("-O0", "-O2"):
        made = case.run(compiler, "-g", level, "-fno-optimize-sibling-calls", "-DINSTANCES=200",
                        programs / "templates.cpp", "-o", "app", "-lOpenCL")
        assert made.status == 0, made.err
        assert case.gputrack("run", "-q", "-o", f"app{level}.gt", "./app", env=case.pocl()).status == 0
        recording = f"app{level}.gt"
        stacks = case.report(recording, "leakage", "--by", "stack")["groups"]
        assert sum(group["kind"] == "buffer" for group in stacks) == 400, level
        groups = [group for group in case.report(recording, "leakage", "--root", programs)["groups"]
                  if group["kind"] == "buffer"]
        assert [(group["count"], group["place"]["at"]) for group in groups] == [
            (200, "store::Tile::reserve templates.cpp:16"), (200, "store::Tile::reserve templates.cpp:17")], level
