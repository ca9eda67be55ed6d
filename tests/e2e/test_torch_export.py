# SPDX-License-Identifier: MIT
"""test_torch_export.py - recordings as memory snapshots of PyTorch: its own reader, and back again."""
import collections
import importlib.util
import os
import pickle
import pickletools
import subprocess

import test_pools
from pages import recordings
from torch_snapshot import Pool, save

SEGMENT = {"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
           "segment_type", "segment_pool_id", "is_expandable", "frames", "blocks"}
BLOCK = {"address", "size", "requested_size", "state", "frames"}
ENTRY = {"action", "addr", "size", "stream", "time_us", "frames"}
# What torch::jit::Pickler writes: every reader of snapshots knows these.
OPCODES = {"PROTO", "STOP", "MARK", "EMPTY_DICT", "EMPTY_LIST", "SETITEMS", "APPENDS", "BININT", "BININT1",
           "BININT2", "BINFLOAT", "LONG1", "BINUNICODE", "TUPLE2", "NEWTRUE", "NEWFALSE", "BINPUT",
           "LONG_BINPUT", "BINGET", "LONG_BINGET"}


def export(case, recording, form="torch-snapshot", name="out.pickle"):
    done = case.gputrack("export", recording, "--format", form, "-o", name)
    assert (done.status, done.out, done.err) == (0, "", ""), done.err
    return case.path(name).read_bytes()


def check_segments(segments):
    for segment in segments:
        assert set(segment) == SEGMENT, set(segment)
        at = segment["address"]
        for block in segment["blocks"]:
            assert BLOCK <= set(block) and block["address"] == at and block["size"] > 0, block
            assert 0 <= block["requested_size"] <= block["size"]
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]


def pool(seed=3, steps=150, **how):
    new = Pool(seed=seed, **how)
    new.work(steps)
    return new


def imported(case, pools, name="x"):
    done = case.gputrack("import", save(case, pools, f"{name}.pickle"), "-q", "-o", f"{name}.gt")
    assert done.status == 0, done.err


def state(case, recording):
    """Bytes of memory that are left, by place; the peak."""
    left = collections.Counter()
    for group in case.report(recording, "leakage", "--no-held")["groups"]:
        if "host" not in group["kind"] and group["bytes"]:
            left[group["place"]["text"] if group["stack"] else ""] += group["bytes"]
    return left, case.report(recording, "summary")["peak"]["device_bytes"]


def test_a_snapshot_has_every_key_of_pytorchs(case):
    model = pool()
    imported(case, [model])
    whole = pickle.loads(export(case, "x.gt"))
    assert {"segments", "device_traces", "allocator_settings", "external_annotations"} <= set(whole)
    check_segments(whole["segments"])
    used = [b for s in whole["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
    assert {(b["address"], b["requested_size"]) for b in used} == \
        {(a, size) for a, (size, _, _) in model.live.items()}
    for entry in whole["device_traces"][0]:
        assert set(entry) == ENTRY, entry
    allocs = [e for e in whole["device_traces"][0] if e["action"] == "alloc"]
    mine = [e for e in model.trace if e["action"] == "alloc"]
    assert [(e["addr"], e["size"], e["time_us"]) for e in allocs] == \
        [(e["addr"], e["size"], e["time_us"]) for e in mine]
    assert [[(f["name"], f["filename"], f["line"]) for f in e["frames"]] for e in allocs] == \
        [[(f["name"], f["filename"], f["line"]) for f in e["frames"]] for e in mine]


def test_the_pickle_is_plain_and_reproducible(case):
    imported(case, [pool(), pool(seed=4, device=1)])
    data = export(case, "x.gt")
    assert {op.name for op, _, _ in pickletools.genops(data)} <= OPCODES
    assert export(case, "x.gt", name="again.pickle") == data
    assert data.count(b"X\x06\x00\x00\x00action") == 1  # texts, frames and stacks are written once
    assert data.count(b"step3") == 1
    assert [len(t) > 0 for t in pickle.loads(data)["device_traces"]] == [True, True]


def test_a_snapshot_comes_back_as_it_was(case):
    for how in ({}, {"expandable": True}, {"entries": 100}):
        imported(case, [pool(steps=300, **how)])
        before = state(case, "x.gt")
        export(case, "x.gt")
        done = case.gputrack("import", "out.pickle", "-q", "-o", "y.gt")
        assert done.status == 0, done.err
        assert state(case, "y.gt") == before


def test_recordings_of_every_api_come_back(case):
    recordings(case)
    for name in ("work", "names", "many", "held", "after", "gappy", "ranks"):
        recording = f"{name}.gt"
        whole = pickle.loads(export(case, recording))
        check_segments(whole["segments"])
        done = case.gputrack("import", "out.pickle", "-q", "-o", "y.gt")
        assert done.status == 0, done.err
        assert state(case, "y.gt") == state(case, recording), name


def test_a_recorded_pool_comes_back(case):
    """Segments of the driver with the pool's blocks in them; parts of expandable ones are joined."""
    for mode in ("plain", "expandable", "private"):
        done = test_pools.record(case, "a.gt", test_pools.program(case, 3, mode, 40, 3))
        assert done.status == 0, done.err
        kinds = {k["kind"]: k for k in case.report("a.gt", "summary")["kinds"]}
        whole = pickle.loads(export(case, "a.gt"))
        check_segments(whole["segments"])
        blocks = [b for s in whole["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
        block = kinds["PyTorch block"]
        assert len(blocks) == block["live"] > 0
        assert sum(b["requested_size"] for b in blocks) == block["live_bytes"]
        assert sum(s["total_size"] for s in whole["segments"]) == \
            sum(k["live_bytes"] for k in kinds.values()), mode
        done = case.gputrack("import", "out.pickle", "-q", "-o", "y.gt")
        assert done.status == 0, done.err
        assert state(case, "y.gt") == state(case, "a.gt"), mode


def test_running_out_of_memory_is_an_entry(case):
    model = pool(steps=20)
    model.oom(3 << 30)
    imported(case, [model])
    last = pickle.loads(export(case, "x.gt"))["device_traces"][0][-1]
    assert last["action"] == "oom" and last["size"] == 3 << 30 and "device_free" in last, last
    assert last["frames"]


def test_a_terminal_gets_no_pickle_and_wrong_options_are_refused(case):
    imported(case, [pool(steps=5)])
    for words in (["--by", "line"], ["--value", "peak"], ["--killed-is-leak"]):
        done = case.gputrack("export", "x.gt", "--format", "torch-snapshot", "-o", "o.pickle", *words)
        assert done.status == 2 and not case.path("o.pickle").exists(), done.err


# PyTorch's own reader.

def memory_viz(case):
    """Of an installed PyTorch; the file alone needs nothing else of it."""
    for path in (os.environ.get("GPUTRACK_MEMORY_VIZ", ""),
                 "/usr/lib/python3/dist-packages/torch/cuda/_memory_viz.py"):
        if path and os.path.exists(path):
            return path
    case.skip("no PyTorch here (python3-torch)")


def load(path):
    spec = importlib.util.spec_from_file_location("memory_viz", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pytorchs_own_reader_reads_it(case):
    path = memory_viz(case)
    viz = load(path)
    model = pool(steps=200)
    imported(case, [model])
    is_old = not hasattr(viz, "trace")
    data = export(case, "x.gt", "torch-segments" if is_old else "torch-snapshot")
    whole = pickle.loads(data)
    done = subprocess.run(["python3", path, "stats", case.path("out.pickle")], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    if is_old:
        stats = viz.stats(whole)
        assert stats["segments"] == len(whole)
        assert stats["total_size"].value == sum(s["total_size"] for s in whole)
    else:
        assert f"{len(model.trace)} entries" in viz.trace(whole) or "entries" in viz.trace(whole)
    lines = viz.memory(whole, format_flamegraph=lambda text: text).splitlines()
    by_line = collections.Counter()
    for line in lines:
        place, size = line.rsplit(" ", 1)
        if "active_allocated;" in place and "<gaps>" not in place:
            by_line[next(f for f in reversed(place.split(";")) if f.startswith("model.py"))] += int(size)
    expected = collections.Counter()
    for size, _, stack in model.live.values():
        own = next(f for f in stack if f["filename"].endswith("model.py"))
        expected[f"model.py:{own['line']}:{own['name']}"] += size
    assert by_line == expected


def test_the_segments_alone_are_a_list(case):
    model = pool()
    imported(case, [model])
    whole = pickle.loads(export(case, "x.gt", "torch-segments"))
    assert isinstance(whole, list) and whole
    for segment in whole:
        for block in segment["blocks"]:
            assert ("history" in block) == (block["state"] == "active_allocated")
    done = case.gputrack("import", "out.pickle", "-q", "-o", "y.gt")
    assert done.status == 0, done.err
    assert state(case, "y.gt")[0] == state(case, "x.gt")[0]
