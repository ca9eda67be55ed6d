# SPDX-License-Identifier: MIT
"""test_snapshot.py - PyTorch's memory snapshots: imported, refused where they are hostile.

What is expected is computed by the model in torch_snapshot.py, which shares nothing with gputrack.
"""
import collections
import gzip
import io
import os
import pickle
import random
import resource
import struct
import zipfile

import torch_snapshot
from torch_snapshot import MAIN, MIB, Pool, jit_pickle, save, snapshot


def take(case, path, name="x"):
    """Imports it; gives what was printed."""
    done = case.gputrack("import", path, "-o", f"{name}.gt")
    assert (done.status, done.err) == (0, ""), done.err
    return done.out


def refuse(case, data, limit=None):
    """One line on stderr, and nothing left behind. `limit`: of memory."""
    path = case.path("hostile.pickle")
    path.write_bytes(data)
    bound = (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) if limit else None
    done = case.gputrack("import", path, "-o", "refused.gt", preexec=bound, timeout=20)
    assert done.status == 1 and done.out == "", (done.status, done.out, done.err)
    assert len(done.err.splitlines()) == 1 and done.err.startswith("gputrack: "), done.err
    assert not case.path("refused.gt").exists()
    return done.err


def alive_by_line(pools):
    """Blocks and bytes in use, by the line that is the user's own."""
    lines = collections.Counter(), collections.Counter()
    for pool in pools:
        for size, _, stack in pool.live.values():
            own = next((f for f in stack if f["filename"].startswith("/home/")), None)
            line = own and (own["filename"], own["line"])
            lines[0][line] += 1
            lines[1][line] += size
    return lines


def blocks_by_line(case, name):
    """The same as gputrack has it."""
    lines = collections.Counter(), collections.Counter()
    for group in case.report(f"{name}.gt", "leakage")["groups"]:
        place = group["place"] if group["stack"] else None
        line = place and place["file"] and (place["file"], place["line"])
        lines[0][line] += group["count"]
        lines[1][line] += group["bytes"]
    return lines


def check(case, pools, name="x", peak=True):
    summary = case.report(f"{name}.gt", "summary")
    assert summary["fates"]["alive"]["count"] == sum(len(pool.live) for pool in pools), summary["fates"]
    assert summary["fates"]["alive"]["bytes"] == sum(pool.bytes for pool in pools)
    assert summary["unknown_ends"] == summary["replaced"] == summary["out_of_order"] == 0, summary
    assert summary["redundant"] == [] and summary["lost"] == 0
    assert blocks_by_line(case, name) == alive_by_line(pools)
    held = sum(kind["live_bytes"] for kind in summary["kinds"])
    assert held == sum(pool.reserved for pool in pools), "segments, not blocks beside them"
    if peak:
        assert summary["peak"]["device_bytes"] == pools[0].peak
    return summary


# What every generation writes.

def test_every_generation_and_writer_gives_the_same_blocks(case):
    for generation in torch_snapshot.GENERATIONS:
        pool = Pool(seed=7)
        pool.work(200)
        whole = snapshot([pool], generation)
        writers = {"jit": jit_pickle(whole), **{p: pickle.dumps(whole, p) for p in (2, 3, 4, 5)}}
        assert pickle.loads(writers["jit"]) == whole
        for data in writers.values() if generation == "2.9" else [writers["jit"], writers[4]]:
            case.path("x.pickle").write_bytes(data)
            said = take(case, "x.pickle")
            check(case, [pool], peak=generation != "1.13")
            if generation == "1.13":
                assert "no history: only the state at the end is known" in said
            else:
                assert f"{pool.made} allocations and {pool.ended} frees on 1 GPU" in said, said
            assert ("the history has no times" in said) == (generation == "2.0"), said


def test_the_history_is_in_order_of_time(case):
    pool = Pool(seed=2)
    pool.work(100)
    take(case, save(case, [pool]))
    entries = [e for e in pool.trace if e["action"] in ("alloc", "free_requested")]
    events = [e for e in case.events("x.gt") if e["api"] == "pytorch"]
    assert [(int(e["handle"], 16), e["effect"]) for e in events] == \
        [(e["addr"], "create" if e["action"] == "alloc" else "destroy") for e in entries]
    first = entries[0]["time_us"]
    assert [(e["time_ns"] - events[0]["time_ns"]) // 1000 for e in events] == \
        [e["time_us"] - first for e in entries]
    assert case.report("x.gt", "summary")["recording"]["started"].startswith("2023-11-14T22:13:20")


def test_blocks_older_than_the_history_come_from_the_segments(case):
    pool = Pool(seed=5, entries=120)
    pool.work(400)
    said = take(case, save(case, [pool]))
    kept = pool.trace[-120:]
    allocated = {e["addr"] for e in kept if e["action"] == "alloc"}
    older = [a for a in pool.live if a not in allocated]
    assert older, "the model must have such blocks"
    check(case, [pool], peak=False)
    assert "allocated before the history begins" in said, said


def test_expandable_segments_grow_and_shrink(case):
    """Blocks may lie across parts that were mapped one by one; an unmap may end several, or a piece."""
    for seed in range(4):
        pool = Pool(seed=seed, expandable=True)
        pool.work(200)
        take(case, save(case, [pool]))
        check(case, [pool])
    pool = Pool(seed=1, expandable=True)
    block = pool.alloc(30 * MIB)
    part = pool.segments[0]
    pool.free(block)
    pool.entry("segment_unmap", part["address"] + 4 * MIB, 8 * MIB, [MAIN])  # a hole
    pool.segments = [{**part, "size": 4 * MIB},
                     {**part, "address": part["address"] + 12 * MIB, "size": part["size"] - 12 * MIB}]
    pool.reserved -= 8 * MIB
    take(case, save(case, [pool]))
    check(case, [pool])


def test_each_device_has_its_own_blocks(case):
    pools = [Pool(seed=i, device=i) for i in range(3)]
    for pool in pools:
        pool.work(60)
    pools[1].trace.clear()  # a device whose history is empty
    take(case, save(case, pools))
    check(case, pools, peak=False)
    groups = case.report("x.gt", "leakage", "--by", "device")["groups"]
    counts = collections.Counter()
    for group in groups:
        counts[group["place"]["text"]] += group["count"]
    assert counts == {f"GPU {pool.device}": len(pool.live) for pool in pools}, counts


def test_running_out_of_memory_is_the_headline(case):
    pool = Pool(seed=4)
    pool.work(50)
    pool.oom(3 << 30)
    out = take(case, save(case, [pool]))
    assert "out of memory: 1 time" in out
    text = case.gputrack("report", "x.gt").out
    assert "OUT OF MEMORY" in text and "3.00 GiB requested" in text, text
    assert case.report("x.gt", "summary")["out_of_memory"]["requested_bytes"] == 3 << 30


def test_a_block_whose_free_waits_for_a_stream_is_not_in_use(case):
    pool = Pool(seed=1)
    keep, waits = pool.alloc(1000), pool.alloc(2000)
    pool.free(waits, complete=False)
    take(case, save(case, [pool]))
    check(case, [pool])
    assert case.report("x.gt", "summary")["totals"] == {"count": 1, "bytes": 1000}
    assert keep


def test_shared_frames_may_be_referred_to_before_their_segment_is_complete(case):
    """The first block of a segment has the segment's own stack, which is then a reference."""
    pool = Pool(seed=1, stack_count=1)
    pool.alloc(4096)
    data = pickle.dumps(snapshot([pool]), 4)
    assert data.count(b"step0") == 1
    case.path("x.pickle").write_bytes(data)
    take(case, "x.pickle")
    check(case, [pool])


def test_a_gzipped_snapshot_is_read(case):
    pool = Pool(seed=1)
    pool.work(50)
    case.path("x.pickle.gz").write_bytes(gzip.compress(pickle.dumps(snapshot([pool]))))
    done = case.gputrack("import", "x.pickle.gz")
    assert done.status == 0 and done.out.startswith("imported into x.gt\n"), done.err
    check(case, [pool])
    whole = case.path("x.pickle.gz").read_bytes()
    assert "the file ends here" in refuse(case, whole[:len(whole) // 2])


def test_an_import_is_reproducible(case):
    pool = Pool(seed=8)
    pool.work(80)
    path = save(case, [pool])
    traces = []
    for name in ("x", "y"):
        take(case, path, name)
        traces.append(case.path(f"{name}.gt/1.trace").read_bytes())
    assert traces[0] == traces[1]


# What is refused.

EMPTY = b"\x80\x04}."


def test_other_files_are_refused_with_advice(case):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("snapshot.pickle", EMPTY)
    for data, words in ((archive.getvalue(), "zip archive"), (b"", "empty"), (b"{}", "JSON"),
                        (b"\xfd7zXZ\0\0", "unxz"), (b"\x28\xb5\x2f\xfd\0", "unzstd"), (b"BZh9", "bunzip2"),
                        (b"(dp0\n.", "no pickle"), (b"\x80\x06}.", "protocol 6"),
                        (EMPTY, "neither segments nor device_traces"),
                        (b"\x80\x04]\x94.", "no memory recorded"),
                        (pickle.dumps({"segments": [], "device_traces": [[]]}), "no memory recorded")):
        assert words in refuse(case, data), words


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def test_nothing_is_executed(case):
    for protocol in range(2, 6):
        said = refuse(case, pickle.dumps({"segments": [Evil()]}, protocol))
        assert ("STACK_GLOBAL" if protocol >= 4 else "GLOBAL") in said, said
    assert not case.path("executed").exists()


def test_every_opcode_that_builds_objects_is_refused_by_name_and_place(case):
    for opcode, name in ((b"c", "GLOBAL"), (b"i", "INST"), (b"o", "OBJ"), (b"R", "REDUCE"),
                         (b"b", "BUILD"), (b"\x81", "NEWOBJ"), (b"\x92", "NEWOBJ_EX"),
                         (b"\x93", "STACK_GLOBAL"), (b"\x82", "EXT1"), (b"\x83", "EXT2"),
                         (b"\x84", "EXT4"), (b"P", "PERSID"), (b"Q", "BINPERSID"),
                         (b"\x97", "NEXT_BUFFER"), (b"\x98", "READONLY_BUFFER"), (b"\x8f", "EMPTY_SET"),
                         (b"2", "DUP"), (b"0", "POP")):
        said = refuse(case, b"\x80\x04}(K\x01" + opcode + b"os\nsystem\n.")
        assert f"byte 6: opcode {name} is refused" in said, said
    assert "byte 2: 0xff is no opcode" in refuse(case, b"\x80\x04\xff.")


def bomb(levels):
    """Ten references to the list before, level by level."""
    data = b"\x80\x02]q\x00"
    for i in range(levels):
        data += b"](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes([i + 1])
    return data + b"."


def test_hostile_structures_end_in_one_line(case):
    limit = 300 * MIB
    looped = []
    looped.append(looped)
    circle = {"segments": []}
    circle["segments"].append(circle)
    frames = []
    frames.append({"name": "f", "filename": "f.py", "line": 1, "frames": frames})
    for data in (
            pickle.dumps(looped), pickle.dumps(circle), pickle.dumps({"device_traces": frames}),
            pickle.dumps(circle, 2), bomb(200),
            b"\x80\x04" + b"(" * 100000, b"\x80\x04" + b"]" * 100000, b"\x80\x04" + b"}N" * 100000,
            b"\x80\x04" + b"N" * 3000000, b"\x80\x04]" + b"]" * 4000 + b"a" * 4000 + b".",
            b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"x",         # a text of 4 EiB
            b"\x80\x04\x8e" + struct.pack("<Q", (1 << 64) - 1) + b"x",   # bytes
            b"\x80\x04X\xff\xff\xff\xff", b"\x80\x04\x8b\xff\xff\xff\x7f", b"\x80\x04\x8b\xff\xff\xff\xff",
            b"\x80\x04\x95" + b"\xff" * 8,                               # a frame
            b"\x80\x04Nr\xff\xff\xff\xff.", b"\x80\x04" + b"Nr\xff\xff\xff\x7f" * 100,  # memo numbers
            b"\x80\x04j\xff\xff\xff\x7f.", b"\x80\x04h\x00.", b"\x80\x04]q\x00h\x00a.",
            b"\x80\x04e.", b"\x80\x04u.", b"\x80\x04a.", b"\x80\x04s.", b"\x80\x04\x94.", b"\x80\x04q\x00.",
            b"\x80\x04t.", b"\x80\x04\x87.", b"\x80\x04.", b"\x80\x04NN.", b"\x80\x04(.", b"\x80\x04](N.",
            b"\x80\x04}(Nu.", b"\x80\x04N(NNu.", b"\x80\x04N(Ne.", b"\x80\x04}(NNs."):
        refuse(case, data, limit)


def test_a_structure_that_contains_itself_is_called_so(case):
    looped = [1]
    looped.append(looped)
    circle = {"device_traces": [], "x": 1}
    circle["segments"] = [1, circle]
    for whole in (looped, circle):
        assert "a structure contains itself" in refuse(case, pickle.dumps(whole))


def test_parts_in_the_wrong_place_are_refused(case):
    entry = {"action": "alloc", "addr": 4096, "size": 1}
    block = {"state": "active_allocated", "size": 512, "address": 4096}
    segment = {"address": 4096, "total_size": 512, "blocks": [block]}
    for whole in (entry, {"segments": entry}, {"segments": [entry]}, {"segments": [block]},
                  {"segments": block}, {"device_traces": [segment]}, {"device_traces": [entry]},
                  {"device_traces": [[entry, 1]]}, {"device_traces": [[entry, block]]}, {"segments": 1},
                  {"device_traces": [[entry]], "other": [[dict(entry)]]}, {"x": [[entry]]},
                  {"segments": [segment, dict(segment, blocks=segment["blocks"])]},
                  {"device_traces": [[entry, entry]]}, [segment, 1],
                  {"segments": [segment, segment]}, {"segments": {"device_traces": []}}):
        refuse(case, pickle.dumps(whole))


def test_a_snapshot_cut_anywhere_is_refused(case):
    pool = Pool(seed=1, stack_count=2)
    pool.work(12)
    for data in (pickle.dumps(snapshot([pool]), 4), jit_pickle(snapshot([pool]))):
        for size in range(2, len(data) - 1, 97):
            assert "the file ends here" in refuse(case, data[:size]), size


def test_random_damage_is_refused_or_read(case):
    generator = random.Random(11)
    pool = Pool(seed=1, stack_count=3)
    pool.work(20)
    seeds = [pickle.dumps(snapshot([pool], g), p) for g in torch_snapshot.GENERATIONS for p in (2, 4)]
    read = 0
    for i in range(2000 if os.environ.get("GPUTRACK_TEST_LONG") else 64):
        data = bytearray(seeds[i % len(seeds)])
        for _ in range(generator.randint(1, 4)):
            data[generator.randrange(2, len(data))] = generator.randrange(256)
        case.path("d.pickle").write_bytes(data)
        done = case.gputrack("import", "d.pickle", "-o", "d.gt", timeout=20)
        assert done.status in (0, 1), (i, done.status, done.err)
        assert done.status == 0 or len(done.err.splitlines()) == 1, done.err
        assert case.path("d.gt").exists() == (read + (done.status == 0) > 0)
        read += done.status == 0
    assert 0 < read, "some changes do no harm"


def test_a_refused_import_leaves_the_recording_that_was_there(case):
    pool = Pool(seed=1)
    pool.work(20)
    take(case, save(case, [pool]))
    before = case.path("x.gt/1.trace").read_bytes()
    case.path("bad.pickle").write_bytes(b"\x80\x04](")
    assert case.gputrack("import", "bad.pickle", "-o", "x.gt").status == 1
    assert case.path("x.gt/1.trace").read_bytes() == before
    assert not case.path("x.gt.old").exists()


def test_absurd_figures_do_no_harm(case):
    """Times, sizes and addresses at their limits; an unknown action; an entry without anything."""
    big = (1 << 63) - 1
    trace = [{"action": "alloc", "addr": big - 1, "size": big, "time_us": big},
             {"action": "alloc", "addr": 4096, "size": -5, "time_us": 5},
             {"action": "alloc", "addr": 1 << 70, "size": 1 << 100, "time_us": -1},
             {"action": "segment_map", "addr": 4096, "size": big},
             {"action": "segment_unmap", "addr": 8192, "size": big - 8192},
             {"action": "segment_unmap", "addr": 1, "size": big - 1},
             {"action": "free_completed", "addr": 12, "size": 3}, {"action": "odd"}, {"action": 5},
             {"action": "alloc", "addr": None, "size": None, "frames": [MAIN] * 1000}]
    segments = [{"address": big, "total_size": big, "device": big, "blocks": [
        {"state": "active_allocated", "size": big}, {"state": "active_allocated", "size": big}]}]
    case.path("x.pickle").write_bytes(pickle.dumps({"segments": segments, "device_traces": [trace]}))
    said = take(case, "x.pickle")
    assert "2 entries were of an unknown kind and skipped" in said, said
    assert case.gputrack("report", "x.gt").status == 0


def test_the_segments_say_what_is_alive_at_the_end(case):
    """A history that misses a free is put right."""
    pool = Pool(seed=1)
    pool.alloc(3000)
    gone = pool.alloc(5000)
    pool.free(gone)
    pool.trace = [e for e in pool.trace if e["action"][:4] != "free"]
    take(case, save(case, [pool]))
    check(case, [pool])
