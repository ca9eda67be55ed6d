# SPDX-License-Identifier: MIT
"""Blocks of PyTorch's allocator, over the stand-in driver: each is seen, counted once and passed on."""
import os
import pathlib
import socket
import subprocess
import sys

GENERATIONS = (1, 2, 3)


def program(case, generation, mode, *more):
    library = case.build / f"tests/fake/torch/libc10_cuda{'' if generation == 3 else f'_{generation}'}.so"
    return [case.program("torch_pool"), str(library), mode, *map(str, more)]


def record(case, recording, command, *options):
    return case.gputrack("run", "-q", "-o", recording, *options, *command, env=case.cuda_preloaded())


def functions(events):
    return [event["function"] for event in events if event["function"].startswith("torch")]


def test_live_and_reserved_bytes_are_the_allocators_own(case):
    """At 1,000 moments of each mode and generation, with what is fragmented and the largest free piece."""
    for mode in ("plain", "expandable", "private"):
        for generation in GENERATIONS:
            command = program(case, generation, mode, 1000, generation)
            bare = case.run(*command, env=case.cuda_preloaded())
            traced = record(case, "a.gt", command)
            assert (traced.out, traced.err, traced.status) == (bare.out, bare.err, 0), (mode, generation, traced.err)
            said = case.run(case.program("pool_moments"), str(case.path("a.gt")))
            assert said.status == 0, said.err
            lines = traced.out.splitlines()
            assert said.out.splitlines() == lines[:-1] and len(lines) == 1001, (mode, generation)


def test_every_report_reaches_the_allocators_own_function(case):
    """Of each generation; the last line is what arrived there."""
    for generation in GENERATIONS:
        done = record(case, "a.gt", program(case, generation, "keep", 20))
        assert done.out == "40 blocks, 20 freed, 0 shortages\n", done.out
        events = case.events("a.gt")
        seen = functions(events)
        assert seen.count("torchBlock") == 40 and seen.count("torchBlockFreed") == 20, seen
        # a stack costs more than all the rest: blocks that end have none
        assert {e["function"] for e in events if e["function"].startswith("torch") and e["stack"]} == {"torchBlock"}


def test_kept_blocks_are_the_leak_and_segments_are_not(case):
    record(case, "a.gt", program(case, 3, "keep", 500))
    report = case.report("a.gt", "leakage")
    groups = report["groups"]
    assert [(g["kind"], g["count"]) for g in groups] == [("PyTorch block", 500)], groups
    assert "keep_block" in [frame["function"] for frame in groups[0]["stack"]]
    peak = case.report("a.gt", "watermark")
    assert sum(g["bytes"] for g in peak["groups"]) == peak["totals"]["bytes"]
    kinds = {g["kind"] for g in peak["groups"]}
    assert kinds == {"PyTorch block", "PyTorch cache segment"}, kinds
    sites = case.report("a.gt", "sites")
    assert "device memory" not in {g["kind"] for g in sites["groups"]}, sites["groups"]


def test_without_pools_segments_are_what_is_left(case):
    record(case, "a.gt", program(case, 3, "keep", 500), "--pools", "none")
    assert not functions(case.events("a.gt"))
    assert {g["kind"] for g in case.report("a.gt", "leakage")["groups"]} == {"device memory"}


def test_blocks_in_main_memory_are_recorded_where_asked_for(case):
    command = program(case, 2, "cpu", 10)
    assert record(case, "a.gt", command).out == "10 blocks, 9 freed, 0 shortages\n"
    assert not functions(case.events("a.gt"))
    assert record(case, "a.gt", command, "--pools", "cpu").out == "10 blocks, 9 freed, 0 shortages\n"
    seen = functions(case.events("a.gt"))
    assert seen.count("torchCpuBlock") == 10 and seen.count("torchCpuBlockFreed") == 9, seen
    assert case.report("a.gt", "leakage")["groups"][0]["kind"] == "PyTorch CPU block"


def test_memory_that_ran_out(case):
    done = record(case, "a.gt", program(case, 3, "shortage"))
    assert done.out == "1\n0 blocks, 0 freed, 1 shortages\n", done.out
    event = [e for e in case.events("a.gt") if e["function"] == "torchOutOfMemory"]
    assert len(event) == 1 and event[0]["outcome"] == "failed", event
    text = case.gputrack("report", "a.gt").out
    assert "OUT OF MEMORY" in text and "1.00 PiB requested by torchOutOfMemory" in text, text


BACKWARD = """
import ctypes, sys, threading
engine = ctypes.CDLL(sys.argv[1] + "/libtorch_cpu.so")
backward = ctypes.CDLL(sys.argv[1] + "/libtorch_python.so").fake_torch_backward
backward.argtypes = [ctypes.c_long, ctypes.c_int]
pool = ctypes.CDLL(sys.argv[1] + "/libc10_cuda.so")
pool.fake_torch_start(False)
pool.fake_torch_malloc(0, ctypes.c_uint64(512))
def step(size, device=0):
    print(backward(size, device))  # line 10
def start(size):
    thread = threading.Thread(target=step, args=[size])
    thread.start()
    return thread
step(1024)
step(2048, 1)
start(-1).join()
step(4096)
waits = start(0)
engine.fake_torch_gate(0)
step(8192)
engine.fake_torch_gate(1)
waits.join()
step(16384)
step(32768, -1)
"""


def test_blocks_of_backward_have_the_line_that_called_it(case):
    """Those that autograd's threads make, where it is certain: not while two threads call it."""
    folder = case.build / "tests/fake/torch"
    if not (folder / "libtorch_python.so").exists():
        case.skip("built without a C++ compiler")
    script = pathlib.Path(case.path("train.py"))
    script.write_text(BACKWARD)
    command = [sys.executable, str(script), str(folder)]
    bare = case.run(*command, env=case.cuda_preloaded())
    traced = record(case, "a.gt", command)
    assert (traced.out, traced.err) == (bare.out, bare.err) and traced.out.split() == ["3", "3", "-1", "3", "3", "2", "3", "2"]
    stacks = {e["bytes"]: [f["function"] or "" for f in e["stack"]] for e in case.events("a.gt") if e["function"] == "torchBlock"}
    border = "backward on another thread"
    for size in (1024, 2048, 4096, 16384):
        at = stacks[size].index(border)
        assert "Engine::thread_init" in stacks[size][at - 1] and stacks[size][at + 1:] == ["step", "<module>"], stacks[size]
    assert stacks[8192][-1] != "<module>" and border not in stacks[8192], stacks[8192]
    assert stacks[32768][-2:] == ["step", "<module>"] and border not in stacks[32768], stacks[32768]
    assert not [name for name in sum(stacks.values(), []) if "gt_around" in name]
    group = [g for g in case.report("a.gt", "leakage")["groups"] if g["bytes"] == 16384][0]
    assert group["place"]["text"].startswith("step train.py:10 via backward on another thread › … ›"), group["place"]
    assert (group["place"]["line"], group["place"]["callers"]) == (10, ["<module> train.py:24"]), group["place"]


LOOK = """
import ctypes, os
try:
    print(ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
except AttributeError:
    print("none")
print("libgputrack_preload" in open("/proc/self/maps").read(), "libgputrack_pool" in open("/proc/self/maps").read())
"""


def test_a_program_without_such_an_allocator_does_not_notice(case):
    """It finds none of the functions by dlsym, and has the door's library no sooner than a block."""
    done = record(case, "a.gt", [sys.executable, "-c", LOOK])
    assert done.out == "none\nTrue False\n", done.out
    done = record(case, "a.gt", [sys.executable, "-c", LOOK], "--pools", "cpu")
    assert done.out == "none\nTrue False\n", done.out


KEEP = """
import torch
kept = []
def step(i):
    x = torch.randn(64, 64)
    kept.append((x @ x).clone())
for i in range(30):
    step(i)
import os
os._exit(0)
"""


def test_tensors_of_debians_pytorch(case):
    """On the CPU: kept tensors are named at their line."""
    python = "/usr/bin/python3"
    find = "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"
    if not os.path.exists(python) or subprocess.run([python, "-c", find]).returncode:
        case.skip("PyTorch is not installed")
    script = pathlib.Path(case.path("keep.py"))
    script.write_text(KEEP)
    done = case.gputrack("run", "-q", "--pools", "cpu", "-o", "a.gt", python, str(script))
    assert done.status == 0, done.err
    biggest = case.report("a.gt", "leakage")["groups"][0]
    assert (biggest["kind"], biggest["count"], biggest["bytes"]) == ("PyTorch CPU block", 30, 30 * 64 * 64 * 4), biggest
    assert ("keep.py", 6) in {(os.path.basename(f["file"] or ""), f["line"]) for f in biggest["stack"]}, biggest["stack"]


JOB = """
import os, sys, torch
import torch.distributed as dist
dist.init_process_group("gloo")
kept = []
def step():
    y = torch.randn(64, 64)
    dist.all_reduce(y)
    if dist.get_rank() == 1:
        kept.append(y.clone())
for i in range(20):
    step()
dist.barrier()
os._exit(0)
"""
RANKS = """
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$1 WORLD_SIZE=3
for RANK in 0 1 2; do export RANK; /usr/bin/python3 job.py & done
wait
"""


def test_the_rank_that_keeps_tensors_is_named(case):
    """A real job; a golden has the words for a made one."""
    if not os.environ.get("GPUTRACK_TEST_LONG"):
        case.skip("imports PyTorch three times; GPUTRACK_TEST_LONG=1 runs it")
    case.path("job.py").write_text(JOB)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = case.gputrack("run", "-o", "a.gt", "--pools", "cpu", "sh", "-c", RANKS, "ranks", str(port))
    assert done.status == 0, done.err
    rank = case.report("a.gt", "summary")["rank"]
    # one tensor more may still be in gloo's hands
    assert (rank["rank"], rank["others"]) == ("1", 2) and rank["bytes"] >= 20 * 64 * 64 * 4, rank
    assert "of it in rank 1, " in done.err and rank["others_most_bytes"] <= 64 * 64 * 4, (done.err, rank)


def test_a_range_that_ends_before_the_first_block_knows_its_segment(case):
    record(case, "a.gt", program(case, 3, "keep", 20))
    first = next(event for event in case.events("a.gt") if event["function"].startswith("cuMemAlloc"))
    groups = case.report("a.gt", "range", "--to", f"{first['time_ns'] / 1e9:.9f}")["groups"]
    assert [(g["kind"], g["allocated_bytes"]) for g in groups if g["allocated_bytes"]] == \
        [("PyTorch cache segment", first["bytes"])], groups
