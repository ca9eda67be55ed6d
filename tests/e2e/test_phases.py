# SPDX-License-Identifier: MIT
"""test_phases.py - the NVTX ranges of running programs: phases of what they create."""
import json
import os

from pages import data_of, page_of

KIB = 1 << 10
FORMS = {"first": 1, "first > second": 2, "w\u00efde": 4, "read [io]": 8,
         "read [io] > LIB:reduce": 16, "LIB:reduce": 32, "worker": 64, "42": 128,
         "job > in job": 256, "in job": 1024, "LIB:task": 2048, "last": 4096}


def programs(case):
    """With NVTX's own header, if that is here, and with a stand-in for it."""
    found = [case.program("nvtx_ranges")]
    real = os.path.join(os.path.dirname(found[0]), "nvtx_real")
    return found + ([real] if os.path.exists(real) else [])


def record(case, program, *arguments, options=(), **env):
    done = case.gputrack("run", "-q", "-o", "p.gt", *options, program, *arguments,
                         env=case.pocl(**env))
    assert done.status == 0 and done.err == "", (done.status, done.err)
    return done


def leaked(case, *options):
    """KiB of buffers that leaked, by phase."""
    groups = case.report("p.gt", "leakage", "--by", "phase", *options)["groups"]
    return {g["place"]["text"]: g["bytes"] // KIB for g in groups if g["kind"] == "buffer"}


def remove(case):
    case.run("rm", "-rf", "p.gt")


def test_every_form_of_a_range_is_a_phase(case):
    for program in programs(case):
        done = record(case, program)
        assert leaked(case) == FORMS, (program, leaked(case))
        # what NVTX promises: the depth of a range, from 0
        assert done.out == "depths 110\n" or done.out == "depths 10\n", done.out
        remove(case)


def test_an_event_knows_where_it_was_created_and_released(case):
    record(case, programs(case)[0])
    rows = [line.split("\t") for line in case.gputrack("export", "p.gt").out.splitlines()]
    at = {name: i for i, name in enumerate(rows[0])}
    made = next(r for r in rows if r[at["bytes"]] == str(512 * KIB))
    freed = next(r for r in rows if r[at["handle"]] == made[at["handle"]]
                 and r[at["effect"]] == "release")
    assert made[at["phase"]] == "first > second" and freed[at["phase"]] == "first", (made, freed)
    text = case.gputrack("report", "p.gt").out
    assert ", in last\n" in text, text


def test_phases_are_places_without_stacks(case):
    record(case, programs(case)[0], options=["--no-stacks"])
    text = case.gputrack("report", "p.gt", "-a", "sites").out
    assert "phase read [io] > LIB:reduce\n" in text and "phase last\n" in text, text


def test_phases_can_be_left_out(case):
    record(case, programs(case)[0], options=["--no-phases"])
    assert list(leaked(case)) == ["(no phase)"]


def test_deep_ranges_count_as_the_deepest_that_is_told_apart(case):
    for program in programs(case):
        record(case, program, "deep")
        found = leaked(case)
        deepest = " > ".join(f"r{i}" for i in range(64))
        assert found == {deepest: 1, "r0": 2, "(no phase)": 4}, found
        remove(case)


def test_more_names_than_there_is_room_for_are_told_once(case):
    done = record(case, programs(case)[0], "many")
    assert done.out == "errno 1\n"
    text = case.gputrack("report", "p.gt").out
    assert text.count("more different NVTX ranges than can be told apart") == 1, text
    assert leaked(case) == {"(no phase)": 1}


def test_a_child_has_the_ranges_of_its_parent(case):
    record(case, programs(case)[0], "fork")
    assert leaked(case) == {"parent": 1, "parent > child": 2, "parent > still parent": 2}


def test_ranges_in_signal_handlers_leave_those_around_them(case):
    record(case, programs(case)[0], "signals")
    assert leaked(case) == {"outer": 4}, leaked(case)


def tool(case):
    return os.path.join(os.path.dirname(case.program("nvtx_ranges")), "nvtx_tool.so")


def test_another_tool_is_told_everything(case):
    for program in programs(case):
        bare = case.run(program, env=case.pocl(NVTX_INJECTION64_PATH=tool(case)))
        expected = case.path("tool.txt").read_text()
        assert bare.status == 0 and "push(first)" in expected and "wrong" not in expected, expected
        case.path("tool.txt").unlink()
        done = record(case, program, NVTX_INJECTION64_PATH=tool(case))
        assert case.path("tool.txt").read_text() == expected and done.out == bare.out, (
            case.path("tool.txt").read_text(), expected)
        assert leaked(case) == FORMS, leaked(case)
        remove(case)
        case.path("tool.txt").unlink()


def test_a_tool_that_refuses_or_is_missing_does_no_harm(case):
    program = programs(case)[-1]
    record(case, program, NVTX_INJECTION64_PATH=tool(case), NVTX_TOOL_REFUSES="1")
    assert leaked(case) == FORMS
    remove(case)
    record(case, program, NVTX_INJECTION64_PATH="/nowhere/libtool.so")
    assert leaked(case) == FORMS


SCRIPT = """
import ctypes, sys
nvtx, cuda = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libcuda.so.1")
context, block = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)

def allocate(kib):
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(kib << 10)) == 0

nvtx.push_range(b"epoch")
allocate(1)
for step in range(3):
    nvtx.push_range(b"step %d" % step)
    allocate(2)
    nvtx.pop_range()
nvtx.pop_range()
"""


def test_python_and_cuda(case):
    """A library with an instance of NVTX of its own, as Python's packages have it."""
    done = case.gputrack("run", "-q", "-o", "p.gt", "python3", "-c", SCRIPT, case.program("nvtx_python.so"),
                         env=case.cuda())
    assert done.status == 0 and done.err == "", done.err
    groups = case.report("p.gt", "leakage", "--by", "phase")["groups"]
    found = {g["place"]["text"]: g["bytes"] // KIB for g in groups if g["kind"] == "device memory"}
    assert found == {"epoch": 1, "epoch > step 0": 2, "epoch > step 1": 2, "epoch > step 2": 2}, found
    kept = case.report("p.gt", "sites", "--phase", "step 1")["groups"]
    assert [g["created"] for g in kept if g["kind"] == "device memory"] == [1], kept


LEVEL_ZERO = """
import ctypes, sys
nvtx, ze = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libze_loader.so.1")
handle, one = ctypes.c_void_p * 1, ctypes.c_uint32(1)
driver, device, context, block = handle(), handle(), ctypes.c_void_p(), ctypes.c_void_p()
plain = (ctypes.c_uint64 * 3)(0xd)
memory = (ctypes.c_uint64 * 3)(0x15)
assert ze.zeInit(0) == 0
assert ze.zeDriverGet(ctypes.byref(one), driver) == 0
assert ze.zeDeviceGet(ctypes.c_void_p(driver[0]), ctypes.byref(one), device) == 0
assert ze.zeContextCreate(ctypes.c_void_p(driver[0]), plain, ctypes.byref(context)) == 0
for name, kib in ((b"load", 1), (b"run", 2)):
    nvtx.push_range(name)
    assert ze.zeMemAllocDevice(context, memory, ctypes.c_size_t(kib << 10), ctypes.c_size_t(0),
                               ctypes.c_void_p(device[0]), ctypes.byref(block)) == 0
    nvtx.pop_range()
"""


def test_level_zero(case):
    done = case.gputrack("run", "-q", "-o", "p.gt", "python3", "-c", LEVEL_ZERO,
                         case.program("nvtx_python.so"), env=case.levelzero())
    assert done.status == 0 and done.err == "", done.err
    groups = case.report("p.gt", "leakage", "--by", "phase")["groups"]
    found = {g["place"]["text"]: g["bytes"] // KIB for g in groups if g["kind"] == "device memory"}
    assert found == {"load": 1, "run": 2}, found


def test_the_page_and_plots_group_by_phase(case):
    page = json.dumps(data_of(page_of(case, "phases.gt", "--by", "phase")))
    assert "train > forward" in page and "train > backward > NCCL:ncclAllReduce" in page
    only = json.dumps(data_of(page_of(case, "phases.gt", "--by", "phase", "--phase", "^setup$")))
    assert "setup" in only and "train > forward" not in only
    done = case.gputrack("plot", "phases.gt", "--by", "phase", "-o", "p.png")
    assert done.status == 0 and case.path("p.png").stat().st_size > 1000 or "built without" in done.err


def test_a_process_with_ranges_alone_has_no_trace(case):
    script = f"import ctypes; ctypes.CDLL({str(case.build / 'libgputrack_nvtx.so')!r})"
    done = case.gputrack("run", "-q", "-o", "n.gt", "python3", "-c", script)
    assert done.status == 0, done.err
    assert not list(case.path("n.gt").glob("[0-9]*.trace")), os.listdir(case.path("n.gt"))
