"""test_doctor_checks.py - gputrack doctor: every finding a line, every failure with its remedy."""
import json
import os
import pathlib
import re
import shutil
import stat

LINE = re.compile(r"^  (✓|✗|–) \S")


def findings(case, *more, env=None):
    """The JSON form as {section: {what: finding}}, the exit status, and the APIs."""
    done = case.gputrack("doctor", "--json", *more, env=env)
    assert done.err == "", done.err
    found = json.loads(done.out)
    assert found["schema"] == 1
    sections = {s["section"]: {f["what"]: f for f in s["findings"]} for s in found["sections"]}
    return sections, done.status, found["tracked"]


def test_text_and_json_tell_the_same(case):
    env = case.pocl()
    sections, status, tracked = findings(case, env=env)
    done = case.gputrack("doctor", env=dict(env, COLUMNS="300"))
    assert done.status == status == 0 and "OpenCL" in tracked, tracked
    lines = done.out.splitlines()
    assert sum(bool(LINE.match(line)) for line in lines) == sum(map(len, sections.values()))
    for name, section in sections.items():
        assert name in lines, name
        for what, finding in section.items():
            mark = {"good": "✓", "bad": "✗", "note": "–"}[finding["finding"]]
            assert any(line.startswith(f"  {mark} {what} ") for line in lines), finding


def test_lines_fit_and_plain_terminals_get_plain_words(case):
    for columns in (80, 200):
        done = case.gputrack("doctor", env={"COLUMNS": str(columns)})
        # a single word may be longer than the line; there is none here that is
        assert max(map(len, done.out.splitlines())) <= columns, done.out
    done = case.gputrack("doctor", env={"LC_ALL": "C"})
    assert done.out.isascii() and re.search(r"^  ok \S", done.out, re.M), done.out
    assert "\033" not in case.gputrack("doctor").out
    assert "\033[" in case.gputrack("doctor", "--color", "always").out


def test_what_is_missing_has_a_remedy(case):
    case.pocl()
    case.path("none").mkdir()
    sections, status, tracked = findings(case, env={
        "OCL_ICD_VENDORS": str(case.path("none")) + "/", "ZE_ENABLE_ALT_DRIVERS": "/nowhere.so"})
    assert status == 1 and tracked == [], tracked
    opencl = sections["OpenCL"]
    assert opencl["loader"]["finding"] == "good"
    assert opencl["platform"]["finding"] == opencl["self-test"]["finding"] == "bad"
    for section in sections.values():
        for finding in section.values():
            assert finding["finding"] != "bad" or finding["remedy"], finding
    done = case.gputrack("doctor", env={"OCL_ICD_VENDORS": str(case.path("none")) + "/"})
    assert "  ✗ " in done.out and "→" in done.out, done.out


def test_level_zero_driver_counts(case):
    sections, status, tracked = findings(case, env=case.levelzero())
    assert status == 0 and "Level Zero" in tracked, sections["Level Zero"]
    assert sections["Level Zero"]["drivers"]["finding"] == "good"


def test_a_driver_that_crashes_takes_only_a_child_along(case):
    case.pocl()
    source = case.path("crash.c")
    source.write_text("#include <stdlib.h>\n"
                      "__attribute__((constructor)) static void c(void) { abort(); }\n")
    case.run("cc", "-shared", "-fPIC", "-o", case.path("libcrash.so"), source)
    case.path("v").mkdir()
    case.path("v/crash.icd").write_text(str(case.path("libcrash.so")) + "\n")
    sections, status, _ = findings(case, env={"OCL_ICD_VENDORS": str(case.path("v")) + "/"})
    crashed = sections["OpenCL"]["driver"]
    assert crashed["finding"] == "bad" and "crashed" in crashed["text"], crashed
    assert "symbols" in sections and crashed["remedy"]


def test_a_program_is_judged(case):
    leaky = case.program("leaky")
    sections, status, _ = findings(case, "--program", leaky, env=case.pocl())
    assert status == 0
    program = sections["program"]
    assert program["debug info"]["finding"] == "good"
    assert "libOpenCL.so" in program["GPU libraries"]["text"]
    shutil.copy(leaky, case.path("bare"))
    case.run("strip", case.path("bare"))
    sections, status, _ = findings(case, "--program", "./bare", env=case.pocl())
    assert status == 0 and sections["program"]["debug info"]["finding"] != "good"
    assert "-g" in sections["program"]["debug info"]["remedy"]
    # more rights than its caller has: the loader would ignore us
    os.chmod(case.path("bare"), 0o755 | stat.S_ISUID)
    sections, status, _ = findings(case, "--program", "./bare", env=case.pocl())
    assert status == 1 and sections["program"]["rights"]["finding"] == "bad"
    sections, status, _ = findings(case, "--program", "no-such-program", env=case.pocl())
    assert status == 1 and sections["program"]["file"]["finding"] == "bad"
    script = case.path("script")
    script.write_text("#!/bin/sh\n")
    sections, status, _ = findings(case, "--program", script, env=case.pocl())
    assert status == 0 and sections["program"]["kind"]["finding"] == "note"


def test_a_static_program_cannot_be_tracked(case):
    source = case.path("a.c")
    source.write_text("int main(void) { return 0; }\n")
    if case.run("cc", "-static", "-o", case.path("static"), source).status:
        case.skip("no static libc here")
    sections, status, _ = findings(case, "--program", "./static", env=case.pocl())
    assert status == 1 and sections["program"]["linking"]["finding"] == "bad"


def test_a_folder_that_takes_nothing_is_told(case):
    if not os.geteuid():
        # root may write anywhere but where nothing can be written
        where = pathlib.Path("/proc")
    else:
        where = case.path("closed")
        where.mkdir(mode=0o500)
    done = case.run("sh", "-c", f"cd {where} && exec {case.build}/gputrack doctor")
    assert "  ✗ this folder" in done.out and "-o FOLDER/NAME.gt" in done.out, done.out
