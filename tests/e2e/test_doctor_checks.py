# SPDX-License-Identifier: MIT
"""test_doctor_checks.py - gputrack doctor: one line per finding, a remedy for every failure."""
import json
import os
import pathlib
import re
import shutil
import stat

import harness
from test_attach import need_root
from test_boundaries import NOBODY, need_users

LINE = re.compile(r"^  (✓|✗|–) \S")


def findings(case, *more, env=None):
    """The JSON form as {section: {what: finding}}, the exit status, and the APIs."""
    done = case.gputrack("doctor", "--json", *more, env=env)
    assert done.err == "", done.err
    found = json.loads(done.out)
    assert found["schema"] == 1
    sections = {s["section"]: {f["what"]: f for f in s["findings"]} for s in found["sections"]}
    return sections, done.status, found["tracked"]


def test_text_and_json_agree(case):
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
    found = [line for line in done.out.splitlines() if re.match(r"  (ok|no|- ) \S", line)]
    assert all(line[19] == " " and line[20] != " " for line in found) and len(found) > 10, done.out
    assert "\033" not in case.gputrack("doctor").out
    assert "\033[" in case.gputrack("doctor", "--color", "always").out


def test_missing_parts_have_a_remedy(case):
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


def test_a_level_zero_driver_is_found(case):
    sections, status, tracked = findings(case, env=case.levelzero())
    assert status == 0 and "Level Zero" in tracked, sections["Level Zero"]
    assert sections["Level Zero"]["drivers"]["finding"] == "good"


def test_a_crashing_driver_kills_only_a_child_process(case):
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


def test_a_program_is_checked(case):
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
    if os.geteuid() == 0:
        os.chown(case.path("bare"), 12345, 12345)
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
    for options in ((), ("-q",)):
        run = case.gputrack("run", *options, "-o", "a.gt", "./static", env=case.pocl())
        assert run.err.startswith("gputrack: ./static is a static program, so no library can be loaded into it"), run.err
        assert "attach` as root" in run.err.splitlines()[0] and run.status == 0, run
    # a dynamic one, a script and the loader itself are not
    case.run("cc", "-o", case.path("dynamic"), source)
    loader = next(pathlib.Path("/").glob("lib*/ld-linux-*.so.*"), None)
    case.path("script").write_text("#!/bin/sh\n./dynamic\n")
    case.path("script").chmod(0o755)
    for command in (["./dynamic"], ["./script"], ["sh", "-c", "./static"], [str(loader), "./dynamic"] if loader else ["./dynamic"]):
        run = case.gputrack("run", "-q", "-o", "a.gt", *command, env=case.pocl())
        assert not run.err and run.status == 0, (command, run)


def test_an_unwritable_folder_is_reported(case):
    if not os.geteuid():
        # root may write anywhere but where nothing can be written
        where = pathlib.Path("/proc")
    else:
        where = case.path("closed")
        where.mkdir(mode=0o500)
    done = case.run("sh", "-c", f"cd {where} && exec {case.build}/gputrack doctor")
    assert "  ✗ this folder" in done.out and "-o FOLDER/NAME.gt" in done.out, done.out


# What attaching needs. As root it is tried; as anybody else it says what is missing.

NEEDS = ("kernel", "privileges", "lockdown", "kernel types")


def attach_section(case, *command, env=None):
    done = case.run(*command, case.build / "gputrack", "doctor", "--json", env=env)
    sections = {s["section"]: s for s in json.loads(done.out)["sections"]}
    if "attach" not in sections:
        case.skip("built without attach")
    return {f["what"]: f for f in sections["attach"]["findings"]}, sections["attach"]["works"]


def small_cuda(case):
    """The folder of a libcuda.so.1 with three functions, two of them tracked."""
    folder, source = case.path("lib"), case.path("cuda.c")
    folder.mkdir()
    source.write_text("int cuMemAlloc_v2(void) { return 0; }\nint cuMemFree_v2(void) { return 0; }\n"
                      "int cuNothingOfOurs(void) { return 0; }\n")
    made = case.run("cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source)
    assert made.status == 0, made.err
    return folder


@harness.alone
def test_attach_is_tried_as_root(case):
    need_root(case)
    found, works = attach_section(case)
    # to a library of its own: perf's probes on the real ones take the kernel long to take away,
    # and meanwhile they are in the stacks of everybody's calls
    env = {"LD_LIBRARY_PATH": str(small_cuda(case))}
    attach = ["attach", "-q", "--api", "cuda", "-o"]
    tried = case.gputrack(*attach, "a.gt", "-c", "true", env=env)
    # the doctor and attach are of one mind
    assert works == (tried.status == 0), (found, tried.err)
    assert [found[need]["finding"] for need in NEEDS] == ["good"] * len(NEEDS), found
    assert re.search(r"supports (session, )?(multi, )?perf; \w+ is used", found["probes"]["text"]), found
    for way in ("session", "multi", "perf"):
        done = case.gputrack(*attach, f"{way}.gt", "--probes", way, "-c", "true", env=env)
        assert (done.status == 0) == (way in found["probes"]["text"].split(";")[0]), (way, done.err)
    assert found["processes"]["finding"] == "good"
    assert "new libraries" in found


def test_attach_without_privileges_has_its_remedy(case):
    need_users(case)
    if not case.is_public():
        case.skip("other users cannot reach the build folder")
    found, works = attach_section(case, "setpriv", "--reuid", NOBODY, "--regid", NOBODY,
                                  "--clear-groups", "--inh-caps=-all")
    assert not works
    assert found["privileges"]["finding"] == "bad" and "root" in found["privileges"]["remedy"], found
    assert "CAP_BPF" in found["privileges"]["text"]
    assert "not tested" in found["probes"]["text"] and found["probes"]["finding"] == "note"
    assert found["processes"]["remedy"]
    assert found["kernel"]["finding"] == found["kernel types"]["finding"] == "good"
    # attach itself says the same words
    done = case.run("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
                    "--inh-caps=-all", "sh", "-c", f"cd /; exec {case.build}/gputrack attach --all")
    assert done.err == (f"gputrack: {found['privileges']['text']}: "
                        f"{found['privileges']['remedy']}\n"), done.err


def test_root_without_capabilities_does_not_count_as_root(case):
    need_users(case)
    found, works = attach_section(case, "setpriv", "--bounding-set=-all", "--inh-caps=-all")
    assert not works and found["privileges"]["finding"] == "bad", found
    assert found["BPF"]["finding"] != "good" or "all users" in found["BPF"]["text"], found


def test_libraries_to_probe_are_named(case):
    folder = small_cuda(case)
    found, _ = attach_section(case, "env", f"LD_LIBRARY_PATH={folder}")
    assert found["CUDA"]["finding"] == "good", found["CUDA"]
    assert f"{folder}/libcuda.so.1, 2 functions" in found["CUDA"]["text"], found["CUDA"]
    found, _ = attach_section(case)
    if not found["CUDA"]["text"].startswith("/"):
        assert found["CUDA"]["finding"] == "note" and found["CUDA"]["remedy"]
