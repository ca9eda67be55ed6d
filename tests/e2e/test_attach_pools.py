# SPDX-License-Identifier: MIT
"""gputrack attach: blocks of PyTorch's allocator, by probes on libc10."""
import json
import subprocess

from test_attach import Attached, need_root, read_line
from test_pools import functions, program

ALONE = True


def start(case, steps):
    process = subprocess.Popen(program(case, 3, "wait", steps), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                               cwd=case.folder, env=case.cuda_preloaded())
    return process, read_line(process.stdout)


def test_blocks_are_followed_from_the_moment_of_attaching(case):
    """With the allocator's own totals, in which blocks from before are."""
    need_root(case)
    process, _ = start(case, 100)
    attached = Attached(case, "-p", process.pid)
    process.stdin.write(b"more\n")
    allocated, reserved = map(int, read_line(process.stdout).split())
    process.stdin.close()
    process.wait(30)
    attached.stop(None)
    seen = functions(attached.events())
    assert seen.count("torchBlock") == 200 and seen.count("torchBlockFreed") == 100, seen
    trace = json.loads(case.gputrack("export", "a.gt", "--format", "chrome").out)
    counters = [e for e in trace["traceEvents"] if e.get("ph") == "C" and "PyTorch" in e["name"]]
    said = {e["name"]: list(e["args"].values())[-1] for e in counters}
    assert sorted(said.values()) == sorted((allocated, reserved)), (said, allocated, reserved)
    groups = case.report("a.gt", "leakage")["groups"]
    assert {(g["kind"], g["count"]) for g in groups} >= {("PyTorch block", 100)}, groups


def test_blocks_can_be_left_out(case):
    need_root(case)
    for options in (("--pools", "none"), ("--api", "cuda")):
        case.gputrack("attach", "-q", "-o", "a.gt", *options, "-c", *program(case, 3, "wait", 5), env=case.cuda_preloaded())
        assert not functions(case.events("a.gt")), options
