# SPDX-License-Identifier: MIT
"""sanitized.py - the tool under the address, leak and undefined-behaviour sanitizers.

Run by tests/run.py on a separate build: any finding is on stderr and fails the test.
"""
import os
import random
import shutil
import subprocess

import nsys_export
import odd_exports
import torch_snapshot

COMMANDS = [
    *(f"report r.gt -f {form} --suppressions s.supp --baseline old.gt --fail-on-leak"
      for form in ("junit", "sarif", "github")),
    *(f"export r.gt -f {form} -o out" for form in (
        "tsv", "csv", "json", "pprof", "collapsed", "speedscope", "chrome", "prometheus", "torch-snapshot",
        "torch-segments")),
    "diff old.gt r.gt", "diff r.gt old.gt -f json -o out", "suppress r.gt -o out",
    "html r.gt -o out", "html t.csv -o out", "import x.sqlite -q -o out.gt", "import x.sqlite -o -",
    "import x.pickle -q -o out.gt",
    *(f"plot {what} -o out.{form}" for what in ("r.gt", "t.csv", "u.tsv", "m.csv", "u.tsv -s smi.log")
      for form in ("txt", "svg")),
    "plot r.gt -o out.png",
]
WITHOUT_INPUT = ["doctor", "doctor --system", "run -q -o out.gt true", "run -o out.gt false",
                 "run -o out.gt /nowhere", "monitor -p 1 -i 0.01 -d 0.05 -o out.csv",
                 "stress --api levelzero -d 0.1", "--help", "report --help", "report", "no-command"]
# what a library keeps for itself, of one size whatever is drawn
LIBRARIES = "leak:libfontconfig\n"
STRICT = {"LSAN_OPTIONS": "suppressions=lsan.supp:print_suppressions=0",
          "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def reports(case):
    """Reports of bad input only: the goldens cover good input."""
    return [f"report r.gt -a {analysis} -f {form}" for analysis in case.analyses()
            for form in ("text", "json", "tsv")]


def inputs(case):
    """One of each format the tool reads."""
    golden = case.source / "tests/golden/inputs"
    case.path("made").mkdir()
    subprocess.run([case.build / "tests/golden/make_recordings", case.path("made")], check=True)
    for name, made in (("r.gt", "after.gt"), ("old.gt", "before.gt"), ("many.gt", "many.gt")):
        shutil.move(case.path("made") / made, case.path(name))
    for name, file in (("t.csv", "tracker/leaky.csv"), ("u.tsv", "usage/nsight.tsv"),
                       ("m.csv", "monitor/runs.csv"), ("smi.log", "smi/plain.log")):
        shutil.copy(golden / file, case.path(name))
    case.path("s.supp").write_text("leak:^nothing$\nleak[opencl.event]:tick\n")
    case.path("lsan.supp").write_text(LIBRARIES)
    export = nsys_export.Export()
    for i in range(20):
        export.call(1000 * i, 1000 * i + 500, i + 1, "cudaMalloc", nsys_export.BACKTRACE,
                    stack=[("main", "/app")])
        export.alloc(1000 * i + 50, 0x1000 * (i + 1), 4096, correlation=i + 1)
    export.save(case.path("x.sqlite"))
    pool = torch_snapshot.Pool()
    pool.work(30)
    torch_snapshot.save(case, [pool])


def check(case, command):
    done = case.gputrack(*command.split(), env=STRICT, timeout=60)
    wrong = [line for line in done.err.splitlines() if "Sanitizer" in line or "runtime error" in line]
    assert not wrong and done.status in (0, 1, 2, 23, 24, 25), (command, done.status, done.err[:4000])
    for path in case.folder.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return done


def test_reading_good_input_leaks_no_memory(case):
    inputs(case)
    has_page = case.has_page()
    for command in COMMANDS:
        if has_page or not command.startswith("html"):
            done = check(case, command)
            assert done.status in (0, 23), (command, done.err)
    for command in WITHOUT_INPUT:
        check(case, command)


def test_reading_bad_input_leaks_no_memory(case):
    """Every command with every input truncated, changed, empty, or a folder."""
    inputs(case)
    generator = random.Random(3)
    shutil.copytree(case.folder, case.path("good"))
    names = [p.relative_to(case.path("good")) for p in sorted(case.path("good").rglob("*"))
             if p.is_file() and "made" not in p.parts and "many.gt" not in p.parts
             and p.name != "lsan.supp"]
    for how in ("cut", "changed", "empty", "folder"):
        for name in names:
            data = bytearray((case.path("good") / name).read_bytes())
            if how == "cut":
                del data[generator.randrange(len(data) // 2, len(data)):]
            for _ in range(max(3, len(data) // 200) if how == "changed" else 0):
                data[generator.randrange(len(data))] = generator.randrange(256)
            case.path(name).unlink()
            if how == "folder":
                case.path(name).mkdir()
            else:
                case.path(name).write_bytes(b"" if how == "empty" else data)
        for command in (reports(case) + COMMANDS)[::1 if os.environ.get("GPUTRACK_TEST_LONG") else 3]:
            check(case, command)
        for name in names:
            if how == "folder":
                case.path(name).rmdir()
                case.path(name).write_bytes(b"")


def test_reading_odd_exports_leaks_no_memory(case):
    """One in six of them; all in the long form."""
    case.path("lsan.supp").write_text(LIBRARIES)
    odd = list({**odd_exports.REFUSED, **odd_exports.READ}.items())
    for name, (words, maker) in odd if os.environ.get("GPUTRACK_TEST_LONG") else odd[::6]:
        path = case.path(f"{name}.sqlite")
        os.rename(maker(path) or path, path)
        check(case, f"import {name}.sqlite -q -o r.gt")
        if case.path("r.gt").is_dir():
            for analysis in ("summary", "idle", "unified"):
                check(case, f"report r.gt -a {analysis}")
            shutil.rmtree(case.path("r.gt"))
