# SPDX-License-Identifier: MIT
"""test_lifetimes.py - what keeps a resource alive and what ends with it, on each driver at hand.

doc/lifetimes.md has the rules; each names its test here.
"""
import csv

import harness

PYTHON = "/usr/bin/python3"
FAILS_IN_SAMPLERS = ["clRetainContext"]


def run_case(case, env, program, name, *more):
    """What the driver answered, and the report: (lines, summary)."""
    recording = f"{name}{''.join(more)}.gt"
    done = case.gputrack("run", "-q", "-o", recording, case.program(program), "--case", name, *more,
                         env=env)
    if done.status == 77:
        case.skip(done.err.strip())
    assert done.status == 0, (name, done.out, done.err)
    return done.out.splitlines(), case.report(recording, "summary")


def alive(summary):
    return {kind["kind"]: kind["live"] for kind in summary["kinds"] if kind["live"]}


def assert_no_mistakes(summary):
    assert summary["redundant"] == [] == summary["failures"] == summary["interior"], summary
    assert summary["unknown_ends"] == 0 == summary["unsure_ends"] == summary["replaced"], summary


def check_kept(case, env, name, kind):
    """Released, retained through what keeps it, and released again; then without the last release."""
    lines, summary = run_case(case, env, "cl_lifetimes", name)
    assert lines == [f"{kind}: the same", "retain: 0", "release: 0"], lines
    assert alive(summary) == {}, alive(summary)
    assert_no_mistakes(summary)

    lines, summary = run_case(case, env, "cl_lifetimes", name, "--keep")
    assert lines == [f"{kind}: the same", "retain: 0"], lines
    assert alive(summary) == {kind: 1}, alive(summary)
    assert_no_mistakes(summary)
    leaks = case.report(f"{name}--keep.gt", "leakage")
    (group,) = leaks["groups"]
    (leak,) = group["objects"]
    assert leak["references"] == 1
    assert leak["function"].startswith("clCreate"), leak
    assert any(frame["function"] == "main" for frame in group["stack"]), group["stack"]
    assert leak["retained"] != group["stack"]
    assert any("cl_lifetimes.c" in (frame["file"] or "") for frame in leak["retained"]), leak
    text = case.gputrack("report", f"{name}--keep.gt", "-a", "leakage").out
    assert "held by 1 reference, last retained at" in " ".join(text.split()), text
    judged = case.gputrack("report", f"{name}--keep.gt", "--fail-on-leak")
    assert judged.status == 23, judged.err


KEPT = {
    "context-kept-by-queue": "context",
    "context-kept-by-buffer": "context",
    "context-kept-by-event": "context",
    "context-kept-by-program": "context",
    "context-kept-by-kernel": "context",
    "program-kept-by-kernel": "program",
    "queue-kept-by-event": "queue",
    "buffer-kept-by-sub-buffer": "buffer",
    "buffer-kept-by-image": "buffer",
}


def test_kept_on_pocl(case):
    for name, kind in KEPT.items():
        check_kept(case, case.pocl(), name, kind)


def test_kept_on_intel(case):
    for name, kind in KEPT.items():
        check_kept(case, case.intel(), name, kind)


def test_a_sampler_keeps_its_context_on_pocl(case):
    check_kept(case, case.pocl(), "context-kept-by-sampler", "context")


def test_a_sampler_does_not_keep_its_context_on_intel(case):
    """Against the specification: the retain fails, and gputrack believes the driver."""
    lines, summary = run_case(case, case.intel(), "cl_lifetimes", "context-kept-by-sampler", "--keep")
    assert lines == ["context: the same", "retain: -34"], lines
    assert alive(summary) == {}
    assert [call["function"] for call in summary["failures"]] == FAILS_IN_SAMPLERS


def test_a_command_buffer_and_its_queue_on_pocl(case):
    """PoCL 3.1 answers the query with no queue at all; the releases are balanced all the same."""
    _, summary = run_case(case, case.pocl(), "cl_lifetimes", "queue-kept-by-command-buffer")
    assert alive(summary) == {}
    assert_no_mistakes(summary)


def test_sub_devices_on_pocl(case):
    for more in ([], ["--keep"]):
        _, summary = run_case(case, case.pocl(), "cl_lifetimes", "device-kept-by-context", *more)
        assert alive(summary) == {}
        assert_no_mistakes(summary)


def check_image(case, env):
    """An image that is left keeps the memory of the buffer that it is made of."""
    _, summary = run_case(case, env, "cl_lifetimes", "image-of-a-buffer-left")
    assert alive(summary) == {"buffer": 1, "image": 1}
    assert summary["totals"]["bytes"] == 4096
    text = case.gputrack("report", "image-of-a-buffer-left.gt", "-a", "leakage").out
    assert "released, but kept alive by 1 sub-buffer or image" in text, text


def test_an_image_keeps_its_buffer_on_pocl(case):
    check_image(case, case.pocl())


def test_an_image_keeps_its_buffer_on_intel(case):
    check_image(case, case.intel())


def check_left(case, env, program, name, kind):
    """Memory outlives the context that it was allocated in: it is a leak."""
    lines, summary = run_case(case, env, program, name)
    assert lines[-1] == "memory: not freed", lines
    assert alive(summary) == {kind: 1}
    assert summary["totals"]["bytes"] == 64 << 20


def test_memory_outlives_its_context_on_pocl(case):
    check_left(case, case.pocl(), "cl_lifetimes", "svm-left-in-context", "SVM block")


def test_memory_outlives_its_context_on_intel(case):
    check_left(case, case.intel(), "cl_lifetimes", "svm-left-in-context", "SVM block")
    check_left(case, case.intel(), "cl_lifetimes", "usm-left-in-context", "host memory")


@harness.also_on("intel")
def test_memory_outlives_its_context_on_levelzero(case):
    check_left(case, case.levelzero(), "ze_lifetimes", "memory-left-in-context", "host memory")


# Freed by an address inside the block.

def check_inside(case, env, program, name, function, offset):
    lines, summary = run_case(case, env, program, name)
    assert lines[0] in ("free: 0", "free: 0x0"), lines
    assert "memory: not freed" not in lines, lines
    assert alive(summary) == {}, alive(summary)
    assert summary["unknown_ends"] == 0 and summary["redundant"] == [] == summary["failures"]
    (call,) = summary["interior"]
    assert (call["function"], call["offset"], call["count"]) == (function, offset, 1), call
    assert call["stack"] and call["created"] and call["stack"] != call["created"], call
    text = case.gputrack("report", f"{name}.gt").out
    assert "UNUSUAL FREES  1 block freed by an address inside the block" in text, text
    assert case.gputrack("report", f"{name}.gt", "--fail-on-leak").status == 0


def test_an_address_inside_frees_unified_memory_on_intel(case):
    env = case.intel()
    check_inside(case, env, "cl_lifetimes", "usm-freed-inside", "clMemFreeINTEL", 64)
    check_inside(case, env, "cl_lifetimes", "usm-freed-inside-blocking", "clMemBlockingFreeINTEL",
                 (64 << 20) - 1)


def test_an_address_inside_frees_memory_on_levelzero(case):
    """The specification does not say. Our driver refuses it, as CUDA's does."""
    for name in ("memory-freed-inside", "device-memory-freed-inside", "memory-freed-inside-by-policy"):
        lines, summary = run_case(case, case.levelzero(), "ze_lifetimes", name)
        assert lines[0] == "free: 0x78000004" and len(summary["failures"]) == 1, (name, lines)
        assert summary["interior"] == [] and sum(alive(summary).values()) == 1, name
    env = case.intel_levelzero()
    check_inside(case, env, "ze_lifetimes", "memory-freed-inside", "zeMemFree", 64)
    check_inside(case, env, "ze_lifetimes", "device-memory-freed-inside", "zeMemFree", 4095)
    check_inside(case, env, "ze_lifetimes", "memory-freed-inside-by-policy", "zeMemFreeExt", 64)


def test_an_address_behind_the_block_frees_nothing(case):
    for env, program, name in ((case.intel(), "cl_lifetimes", "usm-freed-outside"),
                               (case.intel_levelzero(), "ze_lifetimes", "memory-freed-outside"),
                               (case.levelzero(), "ze_lifetimes", "memory-freed-outside")):
        lines, summary = run_case(case, env, program, name)
        assert "memory: not freed" in lines, lines
        assert alive(summary) == {"host memory": 1}
        assert len(summary["failures"]) == 1 and summary["interior"] == []


def test_shared_virtual_memory_is_freed_by_its_own_address_only(case):
    """Intel's driver frees it by an address inside, PoCL does not, and clSVMFree does not say."""
    for env, answer in ((case.pocl(), "memory: not freed"), (case.intel(), "memory: freed")):
        lines, summary = run_case(case, env, "cl_lifetimes", "svm-freed-inside")
        assert lines == [answer], lines
        assert alive(summary) == {"SVM block": 1}
        assert summary["unknown_ends"] == 1 and summary["interior"] == []


def test_the_tracker_counts_a_block_freed_by_an_address_inside_it(case):
    done = case.gputrack("run", "-q", "-o", "t.gt", "--csv", "t.csv", case.program("ze_lifetimes"),
                         "--case", "memory-freed-inside", env=case.intel_levelzero())
    assert done.status == 0, done.err
    (path,) = case.folder.glob("t*.csv")
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert max(int(row["TotalMemory_Bytes"]) for row in rows) == 64 << 20
    assert int(rows[-1]["TotalMemory_Bytes"]) == 0


def test_the_tracker_counts_a_retained_context(case):
    for more, left in (([], 0), (["--keep"], 1)):
        done = case.gputrack("run", "-q", "-o", f"t{left}.gt", "--csv", f"t{left}.csv",
                             case.program("cl_lifetimes"), "--case", "context-kept-by-queue", *more,
                             env=case.pocl())
        assert done.status == 0, done.err
        (path,) = case.folder.glob(f"t{left}*.csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert int(rows[-1]["Contexts"]) == left, rows[-1]


# Level Zero's other objects: each is destroyed by its own call, whatever else has been destroyed.

@harness.also_on("intel")
def test_destroying_a_context_ends_nothing_else_on_levelzero(case):
    lines, summary = run_case(case, case.levelzero(), "ze_lifetimes", "objects-left-in-context")
    assert lines == ["context: 0x0"], lines
    assert alive(summary) == {"queue": 1, "command list": 1, "event pool": 1, "event": 1, "module": 1}
    assert_no_mistakes(summary)


@harness.also_on("intel")
def test_a_kernel_outlives_its_module_on_levelzero(case):
    lines, summary = run_case(case, case.levelzero(), "ze_lifetimes", "kernel-left-in-module")
    assert lines == ["module: 0x0", "context: 0x0"], lines
    assert alive(summary) == {"kernel": 1}


@harness.also_on("intel")
def test_objects_may_be_destroyed_in_any_order_on_levelzero(case):
    for name in ("event-after-pool", "fence-after-queue", "view-after-image", "list-after-queue"):
        lines, summary = run_case(case, case.levelzero(), "ze_lifetimes", name)
        assert all(line.endswith(": 0x0") for line in lines), (name, lines)
        assert alive(summary) == {}, name
        assert_no_mistakes(summary)


@harness.also_on("intel")
def test_an_ipc_handle_ends_with_its_memory_on_levelzero(case):
    """Intel's driver without hardware fills the handle with zeros, and it is recorded all the same."""
    _, summary = run_case(case, case.levelzero(), "ze_lifetimes", "ipc-handle-left")
    assert alive(summary) == {}
    assert_no_mistakes(summary)
    (event,) = [e for e in case.events("ipc-handle-left.gt") if e["kind"] == "IPC handle"]
    assert (event["effect"], event["outcome"]) == ("create", "done"), event


# CUDA: the same script as on a GPU, over the stand-ins for the driver and CUPTI.

def test_cuda_over_the_stand_ins(case):
    program = case.program("cuda_lifetimes")
    fakes = case.build / "tests/fake/cuda"
    done = case.run("sh", case.source / "tests/gpu/lifetimes.sh", case.build,
                    env={"LIFETIMES": program, "LIBS": str(fakes),
                         "GPUTRACK_CUPTI": str(fakes / "libcupti.so")})
    assert done.status == 0, done.out + done.err
    assert len([line for line in done.out.splitlines() if line.startswith("ok ")]) >= 14, done.out


# Ordinary Python: every question for a context, program or queue is a retain and a release.

PYOPENCL = """
import pyopencl as cl
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
program = cl.Program(context, "kernel void one(global int *p) { p[0] = 1; }").build()
kernel = program.one
event = kernel(queue, (1,), None, buffer)
event.wait()
del context, program
for _ in range(5):
    queue.context, buffer.context, kernel.program, kernel.context, event.context, event.command_queue
del queue
for _ in range(5):
    event.command_queue.context, event.context
"""


def check_python(case, env):
    if case.run(PYTHON, "-c", "import pyopencl").status:
        case.skip("pyopencl is not installed")
    done = case.gputrack("run", "-q", "--fail-on-leak", "-o", "py.gt", PYTHON, "-c", PYOPENCL, env=env)
    assert done.status == 0, (done.out, done.err)
    summary = case.report("py.gt", "summary")
    assert alive(summary) == {}
    assert_no_mistakes(summary)


def test_pyopencl_makes_no_mistakes_on_pocl(case):
    check_python(case, case.pocl())


def test_pyopencl_makes_no_mistakes_on_intel(case):
    check_python(case, case.intel())
