# SPDX-License-Identifier: MIT
"""test_attach_devices.py - which GPU and which context, seen from outside as from inside."""
import harness
from test_attach import Attached, need_root, read_line

ALONE = True


def cuda(case, **more):
    folders = f"{case.build}/tests/fake/cuda:{case.build}/tests/fake/gpu_memory"
    return case.cuda(**{"LD_LIBRARY_PATH": folders, "FAKE_CUDA_DEVICES": "2", **more})


def owned(events):
    """What was created, where, and in which context, by its number of creation."""
    contexts, out = [], []
    for e in events:
        if e["effect"] != "create":
            continue
        if e["kind"].endswith("context"):
            contexts.append(e["handle"])
        owner = e.get("owner")
        out.append((e["function"], e["bytes"], e.get("place"),
                    contexts.index(owner) if owner in contexts else owner))
    return out


def test_devices_and_owners_match_those_of_the_door(case):
    """Two primary contexts and an own one, of two GPUs, made current in every way, in two threads."""
    need_root(case)
    program, env = case.program("cuda_contexts"), cuda(case)
    assert case.gputrack("run", "-q", "-o", "door.gt", program, env=env).status == 0
    assert case.gputrack("attach", "-q", "-o", "kernel.gt", "-c", program, env=env).status == 0
    door, kernel = owned(case.events("door.gt")), owned(case.events("kernel.gt"))
    assert door == kernel, [p for p in zip(door, kernel) if p[0] != p[1]]
    assert len({(place, owner) for _, _, place, owner in kernel if owner is not None}) == 3, kernel


def test_a_process_attached_late(case):
    """What its threads make current later is known; the device only if the machine has no other."""
    need_root(case)
    for gpus in "1", "2":
        env = cuda(case, FAKE_NVML_GPUS=gpus)
        program = case.start(case.program("cuda_contexts"), "wait", env=env)
        assert read_line(program.stdout) == "ready\n"
        attached = Attached(case, "-p", program.pid, name=f"{gpus}.gt", env=env)
        program.communicate(b"\n", timeout=30)
        assert attached.stop(None) == 0, attached.err
        blocks = {e["bytes"] >> 20: (e.get("owner"), e.get("place")) for e in attached.events()
                  if e["effect"] == "create" and e["function"] == "cuMemAlloc_v2"}
        assert blocks[5][0] is None, "made current before"
        assert blocks[2][0] and blocks[2][0] != blocks[1][0] == blocks[3][0], blocks
        assert blocks[4][0] == blocks[6][0] == blocks[7][0], "its own context"
        known = {size for size, (_, place) in blocks.items() if place}
        # the stand-in driver has two devices all the time
        assert known == (set(blocks) if gpus == "1" else {4, 6, 7}), blocks
        assert blocks[6][1] == "GPU 1: Stand-in GPU", blocks


def on_devices(case, name):
    """What was created, and on which device; contexts and host memory are on none."""
    return [(e["function"], e["bytes"], e.get("place") or None) for e in case.events(name) if e["effect"] == "create"]


@harness.also_on("intel")
def test_levelzero_devices_match_those_of_the_door(case):
    """All of the driver's, and their tiles."""
    need_root(case)
    program, env = case.program("ze_devices"), case.levelzero()
    assert case.gputrack("run", "-q", "-o", "door.gt", program, env=env).status == 0
    assert case.gputrack("attach", "-q", "-o", "kernel.gt", "-c", program, env=env).status == 0
    door, kernel = on_devices(case, "door.gt"), on_devices(case, "kernel.gt")
    assert door == kernel, [p for p in zip(door, kernel) if p[0] != p[1]]
    assert all(bool(place) == (f not in ("zeContextCreate", "zeMemAllocHost") and size != 64)
               for f, size, place in door), door
    if case.driver == "intel":
        return
    assert {(size // 4096, place) for f, size, place in door if f == "zeMemAllocDevice"} == {
        (1, "GPU 0: gputrack test device 0"), (2, "GPU 1: gputrack test device 1"),
        (20, "GPU 1.0: gputrack test device 1"), (21, "GPU 1.1: gputrack test device 1")}, door


def test_levelzero_devices_that_a_program_did_not_ask_for(case):
    """Without its questions they have numbers only; of one that asked before, nothing is known."""
    need_root(case)
    env = case.levelzero()
    case.gputrack("attach", "-q", "-o", "silent.gt", "-c", case.program("ze_devices"), "silent", env=env)
    assert {place for _, _, place in on_devices(case, "silent.gt")} - {None} == {
        f"Level Zero device {number}" for number in ("0", "1", "1.0", "1.1")}
    program = case.start(case.program("ze_devices"), "wait", env=env)
    assert read_line(program.stdout) == "ready\n"
    attached = Attached(case, "-p", program.pid)
    program.communicate(b"\n", timeout=30)
    assert attached.stop(None) == 0, attached.err
    assert {place for _, _, place in on_devices(case, "a.gt")} == {None}
