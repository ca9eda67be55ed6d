# SPDX-License-Identifier: MIT
"""test_hostile.py - hostile names, through every command and every format.

One table of inputs, one of outputs with the rules of their format; every pair is tried.
"""
import csv
import gzip
import io
import json
import os
import re
import shutil
import unicodedata
import xml.etree.ElementTree

from nsys_export import Export
from test_plot import HEADER

NAMES = [
    b"\x1b]0;owned\x07\x1b[2J", b"line\nbreak\rback", b"tab\tab\x0bvertical\x0cfeed", b"\x08\x08\x7f",
    b"=cmd|' /C calc'!A0", b"+1+1", b"-2+3", b"@SUM(A1)", b"semi;colon;999", b'"quoted" \\ \'single\'',
    b"</script><script>window.owned=1</script>", b"--><svg/onload=window.owned=1>", b"]]><x/>",
    b"&amp;<b>bold</b>", b"::error::owned%0A::warning::", b"\xff\xfe\xc3", b"\xed\xa0\x80\xc0\xaf",
    b"\xc2\x9b31mcsi", b"\xe2\x80\xaetxt.exe", b"\xe2\x80\xa8separator", b"${window.owned=1}`x`",
    b"name} 1\n# HELP owned{", b"%s%n%x", b"x" * 4096, b"^anchor$*", b"# comment", b" ", b"a,b",
]


def treacherous(text):
    """Forbidden in any output: control and direction characters, line separators, bad UTF-8."""
    return [hex(ord(c)) for c in text
            if (unicodedata.category(c) == "Cc" and c not in "\n\t")
            or ord(c) in (0x2028, 0x2029, 0x200e, 0x200f) or 0x202a <= ord(c) <= 0x202e
            or 0x2066 <= ord(c) <= 0x2069]


def is_text(data):
    text = data.decode("utf-8")  # raises where it is none
    assert not treacherous(text), treacherous(text)[:5]
    return text


# The rules of each form.

def is_plain(data):
    assert "\t" not in is_text(data)


def is_tsv(data):
    rows = is_text(data).rstrip("\n").split("\n")
    assert len({row.count("\t") for row in rows}) == 1, [r for r in rows][:3]


def is_csv(data, typed=None):
    """`typed` is the column with the user's own text."""
    text = is_text(data.replace(b"\r\n", b"\n"))
    assert "\t" not in text
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert len({len(row) for row in rows}) == 1, rows[:3]
    for row in rows:
        for at, field in enumerate(row):
            assert at == typed or not re.match(r"[=+@]|-(?![0-9.]+$)", field), field


def is_json(data):
    json.loads(is_text(data))


def is_json_lines(data):
    text = is_text(data)
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


def is_xml(data):
    is_text(data)
    names = {e.tag.rsplit("}")[-1] for e in xml.etree.ElementTree.fromstring(data).iter()}
    assert not names & {"b", "x", "script", "foreignObject"}, names


def is_html(data):
    text = data.decode("utf-8")
    assert text.count("<script") == text.count("</script") == 2
    assert "<svg/onload" not in text and "<b>bold" not in text
    carried = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    assert not treacherous(carried), treacherous(carried)[:5]
    json.loads(carried)


def is_prometheus(data):
    for line in is_text(data).splitlines():
        assert re.match(r'# (HELP|TYPE) gputrack_\w+ .|gputrack_\w+({(\w+="([^"\\]|\\["\\n])*",?)*})? '
                        r'[-+0-9.eE]+$', line), line


def is_collapsed(data):
    for line in is_text(data).splitlines():
        assert re.match(r".+ \d+$", line), line
        # a name's own `;` would be two frames
        assert "semi;colon" not in line and "colon;999" not in line, line


def is_pprof(data):
    raw = gzip.decompress(data)
    assert b"\xff\xfe\xc3" not in raw  # its texts are UTF-8 by definition
    assert b"\x1b]0;" not in raw


def is_github(data):
    for line in is_text(data).splitlines():
        assert line.startswith("::"), line


def is_suppressions(data):
    for line in is_text(data).splitlines():
        assert not line or line.startswith(("#", "leak")), line


def is_picture(data):
    assert data[:4] == b"\x89PNG" or data[:5] == b"%PDF-"


def reports(case):
    for analysis in case.analyses():
        for form, rules in (("text", is_plain), ("json", is_json), ("tsv", is_tsv)):
            yield ["report", "IN", "-a", analysis, "--format", form], rules


# What is run on a recording besides the analyses: the command, and the rules of what it writes.
OUTPUTS = [
    (["report", "IN", "-a", "leakage", "--format", "junit"], is_xml),
    (["report", "IN", "-a", "leakage", "--format", "sarif"], is_json),
    (["report", "IN", "-a", "leakage", "--format", "github"], is_github),
    (["report", "IN", "-a", "sites", "--color", "always"], None),
    (["diff", "IN", "IN"], is_plain),
    (["diff", "leaks.gt", "IN"], is_plain),
    (["diff", "leaks.gt", "IN", "--format", "json"], is_json),
    (["suppress", "IN"], is_suppressions),
    (["export", "IN", "--format", "tsv"], is_tsv),
    (["export", "IN", "--format", "csv"], is_csv),
    (["export", "IN", "--format", "json"], is_json_lines),
    (["export", "IN", "--format", "pprof"], is_pprof),
    (["export", "IN", "--format", "collapsed"], is_collapsed),
    (["export", "IN", "--format", "speedscope"], is_json),
    (["export", "IN", "--format", "chrome"], is_json),
    (["export", "IN", "--format", "prometheus"], is_prometheus),
    (["plot", "IN", "-o", "OUT.svg"], is_xml),
    (["plot", "IN", "-o", "OUT.png"], is_picture),
    (["plot", "IN", "-o", "OUT.pdf"], is_picture),
    (["html", "IN", "-o", "OUT.html"], is_html),
]


def raw(case, *command, env=None):
    """The exit status, and both streams as bytes."""
    process = case.start(case.build / "gputrack", *command, env=env)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def check(case, what, command, rules):
    out = next((word for word in command if word.startswith("OUT")), None)
    status, data, err = raw(case, *command)
    assert not treacherous(err.decode("utf-8")), (what, command, err)
    if status == 1 and b"built without" in err:
        return
    assert status in ((0, 1, 23, 24, 25) if command[0] == "diff" else (0,)), (what, command, err)
    if out:
        assert not treacherous(data.decode("utf-8")), (what, command, data)
        data = case.path(out).read_bytes()
        case.path(out).unlink()
    if rules is None:  # colours, and nothing else of a terminal's
        data = re.sub(rb"\x1b\[[0-9;]*m", b"", data)
        rules = is_plain
    try:
        rules(data)
    except (AssertionError, UnicodeDecodeError, ValueError, csv.Error,
            xml.etree.ElementTree.ParseError) as problem:
        raise AssertionError(f"{what}: {' '.join(command)}: {problem!r}") from problem


def try_all(case, recording):
    for command, rules in [*reports(case), *OUTPUTS]:
        check(case, recording, [recording if word == "IN" else word for word in command], rules)


def golden(case, *names):
    made = case.run(case.build / "tests" / "golden" / "make_recordings", ".")
    assert made.status == 0, made.err


def test_names_in_traces(case):
    golden(case)
    for name in ("hostile.gt", "markup.gt", "many.gt", "family.gt"):
        try_all(case, name)


def test_names_in_an_nsight_export(case):
    golden(case)
    export = Export()
    for i, name in enumerate(NAMES):
        text = name.decode("utf-8", "surrogateescape")
        if any("\ud800" <= c <= "\udfff" for c in text):
            text = name.decode("latin-1")
        export.call(1000 + i * 100, 1050 + i * 100, i + 1, text,
                    stack=[(text, "/app/" + text), ("main", text)])
        export.alloc(1020 + i * 100, 0x1000 * (i + 1), 4096, name=text, correlation=i + 1)
        export.processes[100] = text
    export.save(case.path("x.sqlite"))
    # the same with bytes that are no UTF-8, which SQLite does not look at
    import sqlite3
    db = sqlite3.connect(case.path("x.sqlite"))
    for i, name in enumerate(NAMES):
        db.execute("UPDATE StringIds SET value = CAST(? AS TEXT) WHERE id = ?", (name, i + 1))
    db.execute("UPDATE PROCESSES SET name = CAST(? AS TEXT)", (b"\x1b[2J\xff\n\t=1+1",))
    db.execute("UPDATE META_DATA_EXPORT SET value = CAST(? AS TEXT)", (b"\x1b[2J\xff\n",))
    db.commit()
    db.close()
    status, out, err = raw(case, "import", "x.sqlite", "-o", "x.gt")
    if b"built without" in err:
        case.skip("built without SQLite")
    assert status == 0, err
    assert not treacherous(out.decode("utf-8") + err.decode("utf-8")), (out, err)
    try_all(case, "x.gt")


def test_names_of_a_program_and_its_arguments(case):
    golden(case)
    for i, name in enumerate(NAMES):
        if b"/" in name:
            name = name.replace(b"/", b"!")
        folder = os.fsencode(case.folder) + b"/" + str(i).encode() + name[:200]
        os.mkdir(folder)
        program = folder + b"/" + name[:200]
        if os.path.basename(program) in (b" ",):
            program = folder + b"/ ."
        shutil.copy(case.program("ze_steps"), program)
        process = case.start(case.build / "gputrack", "run", "-o", "p.gt",
                             os.fsdecode(program), "--log", "own", os.fsdecode(NAMES[i]), "x",
                             env=case.levelzero())
        _, err = process.communicate(timeout=60)
        assert process.returncode == 7, (name, err)
        assert not treacherous(err.decode("utf-8")), (name, err)
        if i % 5 == 0:
            try_all(case, "p.gt")
        # the default name of a recording is made of the program's
        if i % 5 == 1:
            process = case.start(case.build / "gputrack", "run", os.fsdecode(program),
                                 env=case.levelzero())
            _, err = process.communicate(timeout=60)
            assert process.returncode == 7, (name, err)
            assert not treacherous(err.decode("utf-8")), (name, err)


def write_tables(case):
    """Tables of other tools with such names."""
    with open(case.path("tracker.csv"), "wb") as out:
        out.write(HEADER.encode() + b"\n")
        for i, name in enumerate(NAMES):
            call = b'"' + name.replace(b'"', b'""') + b'"' if b"," in name or b'"' in name else name
            out.write(b"%d,%d,%s,1000,%d,1000,1000,1,4,4,4,1,1,1,1,1,1,1,1,1,1,1024\n"
                      % (i + 1, i, call.replace(b"\n", b" ").replace(b"\r", b" "), 500 + i))
    with open(case.path("monitor.csv"), "wb") as out:
        out.write(b"timestamp,description,pid,name,cpu_percent,memory_mb,memory_percent,"
                  b"disk_read_kb,disk_write_kb\n")
        for i, name in enumerate(NAMES):
            field = b'"' + name.replace(b'"', b'""').replace(b"\n", b" ").replace(b"\r", b" ") + b'"'
            for at in range(2):
                out.write(b"2026-03-01 17:01:%02d.038128,%s,%d,%s,0.4,21.9,0.1,50.9,0.0\n"
                          % (at, field, i + 1, field))


def test_names_in_tables_of_other_tools(case):
    write_tables(case)
    for name in ("tracker.csv", "monitor.csv"):
        for command, rules in ((["plot", name, "-o", "OUT.svg"], is_xml),
                               (["plot", name, "-o", "OUT.txt"], is_plain),
                               (["plot", name, "-o", "OUT.png"], is_picture)):
            check(case, name, command, rules)
    check(case, "tracker.csv", ["html", "tracker.csv", "-o", "OUT.html"], is_html)


def test_descriptions_and_arguments_on_the_command_line(case):
    """Arguments typed by a user or pasted by a script are repeated in messages."""
    golden(case)
    for name in NAMES:
        text = os.fsdecode(name)
        if len(name) < 1000:
            status, data, err = raw(case, "monitor", "-d", "0.02", "-i", "0.01", "--description",
                                    text, "--", "sleep", "0.1")
            assert status == 0, (name, err)
            is_csv(data, typed=1)
        for command in (["report", "./" + text], ["export", "leaks.gt", "--format", text],
                        ["report", "leaks.gt", "-a", text], [text], ["report", "--" + text],
                        ["run", "./" + text], ["import", "./" + text], ["plot", "./" + text],
                        ["attach", "-p", text], ["run", "--max-size", text, "true"],
                        ["diff", "./" + text, "leaks.gt"], ["report", "leaks.gt", text],
                        ["monitor", "--pids", text], ["html", "./" + text],
                        ["run", "--fail-on-leak=" + text, "true"],
                        ["report", "leaks.gt", "--suppressions", "./" + text],
                        ["stress", "--throughput", text], ["doctor", text]):
            status, out, err = raw(case, *command)
            if b"\n" not in err and not err:
                continue
            lines = err.decode("utf-8")
            assert not treacherous(lines), (command, err)
            assert status in (1, 2, 127) or command[0] == "doctor", (command, status, err)
            assert len(lines.splitlines()) == 1 or command == [text], (command, err)


def test_texts_in_suppressions_and_settings(case):
    golden(case)
    for name in NAMES:
        case.path("s.supp").write_bytes(b"leak:" + name + b"\nleak[" + name + b"]:x\n" + name)
        case.path("rc").write_bytes(b"report.format = " + name + b"\n" + name + b" = 1\n")
        for command, env in ((["report", "leaks.gt", "--suppressions", "s.supp"], None),
                             (["report", "leaks.gt"], {"GPUTRACK_CONFIG": str(case.path("rc"))}),
                             (["report", "leaks.gt"], {"GPUTRACK_OPTIONS": os.fsdecode(name)})):
            _, out, err = raw(case, *command, env=env)
            assert not treacherous((out + err).decode("utf-8")), (command, name, out, err)
