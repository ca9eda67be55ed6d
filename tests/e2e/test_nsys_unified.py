# SPDX-License-Identifier: MIT
"""test_nsys_unified.py - unified memory in Nsight exports: what moved, back and forth, or never."""
from nsys_export import BACKTRACE, Export, MANAGED, MANAGED_STATIC, global_id
from test_nsys import MIB, take, table

TO_DEVICE, TO_HOST, BETWEEN = 11, 12, 13
REQUESTED, FAULT, SPECULATION, EVICTION = 1, 2, 3, 4
GRID, HALO, SPARE, ELSEWHERE = 0x7f0000000000, 0x7f0001000000, 0x7f0002000000, 0x7e0000000000


class Unified(Export):
    def managed(self, number, address, size, function, pid=100, at=None):
        at = at or 1000 * number
        for kind in ({}, {"event_class": BACKTRACE, "stack": [
                ("cudaMallocManaged", "/lib/libcudart.so"), (function, f"./program{pid}")]}):
            self.call(at - 10, at + 10, number, "cudaMallocManaged_v6000", pid=pid, **kind)
        self.alloc(at, address, size, MANAGED, correlation=number, pid=pid)

    def move(self, start, address, size, kind, cause=FAULT, pid=100):
        self.insert("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=start, deviceId=0,
                    globalPid=global_id(pid), bytes=size, copyKind=kind, migrationCause=cause,
                    virtualAddress=address)


def grid():
    """Five times to the device and back; two halves that go there once; one that never does."""
    export = Unified()
    export.managed(1, GRID, 8 * MIB, "make_grid")
    export.managed(2, HALO, 4 * MIB, "make_halo")
    export.managed(3, SPARE, 2 * MIB, "make_spare")
    at = 10000
    for i in range(5):
        for kind in (TO_DEVICE, TO_HOST):
            for chunk in range(4):
                export.move(at, GRID + chunk * 2 * MIB, 2 * MIB, kind,
                            EVICTION if kind == TO_HOST else FAULT)
                at += 100
    export.move(at, HALO, 2 * MIB, TO_DEVICE, REQUESTED)
    export.move(at + 100, HALO + 2 * MIB, 2 * MIB, TO_DEVICE, SPECULATION)
    export.move(at + 200, ELSEWHERE, 65536, TO_HOST)
    export.move(at + 300, GRID, 4096, 1)  # a copy that the program asked for
    for i in range(7):
        export.insert("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=at + i, globalPid=global_id(100),
                      address=GRID + 4096 * i)
    export.insert("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=at, end=at + 5, globalPid=global_id(100),
                  deviceId=0, address=HALO + 100, numberOfPageFaults=33, faultAccessType=1)
    return export


def test_moves_are_told_by_place_and_by_block(case):
    out = take(case, grid(), "g")
    assert "51 migrations and page faults of unified memory" in out, out
    report = case.report("g.gt", "unified")
    assert report["known"] and report["totals"] == {"count": 3, "bytes": 14 * MIB}
    assert report["to_device_bytes"] == 44 * MIB and report["to_host_bytes"] == 40 * MIB + 65536
    assert report["causes"] == {"unknown": 0, "requested": 2 * MIB, "fault": 40 * MIB + 65536,
                                "speculation": 2 * MIB, "eviction": 40 * MIB, "access_counts": 0}
    assert report["never_moved"] == {"count": 1, "bytes": 2 * MIB}
    assert report["unknown_blocks_bytes"] == 65536
    grid_, halo, spare = report["groups"]
    assert "make_grid" in grid_["place"]["text"] and "make_spare" in spare["place"]["text"]
    assert grid_["returned_bytes"] == 32 * MIB and grid_["times"] == 5 and grid_["thrashing"]
    assert grid_["cpu_faults"] == 7 and halo["gpu_faults"] == 33, (grid_, halo)
    assert halo["times"] == 1 and not halo["thrashing"] and not halo["returned_bytes"]
    assert halo["objects"][0]["handle"] == hex(HALO) and not spare["objects"]
    text = case.gputrack("report", "g.gt", "-a", "unified").out
    for words in ("UNIFIED MEMORY  44.0 MiB to the device, 40.1 MiB to the host",
                  "THRASHING  1 block: 32.0 MiB came to the device again, up to 5 times in all",
                  "1 of 3 blocks never moved: 2.00 MiB of 14.0 MiB", "make_grid",
                  "7 page faults of the CPU, 33 of GPUs"):
        assert words in text, text
    head, rows = table(case.gputrack("report", "g.gt", "-a", "unified", "-f", "tsv").out)
    assert [(r["address"], r["times"], r["returned_bytes"]) for r in rows] == \
        [(hex(GRID), "5", str(32 * MIB)), (hex(HALO), "1", "0")], rows
    assert len(case.report("g.gt", "unified", "--top", "1")["groups"]) == 1
    whole = case.report("g.gt", "unified", "--by", "process")["groups"]
    assert [g["count"] for g in whole] == [3], whole


def test_small_blocks_that_share_a_page_share_its_moves(case):
    export = Unified()
    for i in range(4):
        export.managed(i + 1, GRID + 512 * i, 512, f"make_{i}")
    export.move(9000, GRID, 4096, TO_DEVICE)
    export.move(9100, GRID, 4096, TO_HOST)
    take(case, export)
    report = case.report("x.gt", "unified")
    assert report["unknown_blocks_bytes"] == 0 and not report["thrashing"]
    assert sorted(g["to_device_bytes"] for g in report["groups"]) == [512, 512, 512, 4096 - 3 * 512]


def test_a_new_block_at_an_old_address_starts_anew(case):
    export = Unified()
    for i in range(5):
        at = 10000 * (i + 1)
        export.managed(i + 1, GRID, 2 * MIB, "make_grid", at=at)
        export.move(at + 100, GRID, 2 * MIB, TO_DEVICE)
        export.free(at + 5000, GRID, 2 * MIB, MANAGED)
    export.managed(9, HALO, MIB, "make_halo", at=70000)
    export.free(80000, HALO, MIB, MANAGED)
    take(case, export)
    report = case.report("x.gt", "unified")
    moved, still = report["groups"]
    assert moved["count"] == 5 and moved["times"] == 1 and not moved["returned_bytes"], moved
    assert still["never_moved"] == {"count": 1, "bytes": MIB} and not still["objects"], still


def test_processes_have_their_own_memory_at_one_address(case):
    export = Unified()
    export.managed(1, GRID, MIB, "a", pid=100)
    export.managed(1, GRID, MIB, "b", pid=200)
    export.move(9000, GRID, MIB, TO_DEVICE, pid=200)
    export.alloc(9500, HALO, 64, MANAGED_STATIC, name="table", pid=200)
    export.move(9600, HALO, 4096, BETWEEN, pid=200)
    take(case, export)
    moved = {o["pid"]: o for g in case.report("x.gt", "unified")["groups"] for o in g["objects"]}
    assert list(moved) == [200], moved
    named, = [o for g in case.report("x.gt", "unified")["groups"] for o in g["objects"] if o["name"]]
    assert named["name"] == "table" and named["between_devices_bytes"] == 4096, named


def test_migrations_alone_can_be_imported_and_none_are_invented(case):
    export = Export(columns=None)
    Unified.move(export, 1000, GRID, MIB, TO_DEVICE)
    take(case, export, "m")
    report = case.report("m.gt", "unified")
    assert report["to_device_bytes"] == MIB == report["unknown_blocks_bytes"], report
    export = Unified()
    export.managed(1, GRID, MIB, "make_grid")
    take(case, export, "n")
    text = " ".join(case.gputrack("report", "n.gt", "-a", "unified").out.split())
    assert "1 block of managed memory (1.00 MiB), but no migration was recorded" in text, text
    assert not case.report("n.gt", "unified")["known"]
    plain = Export()
    plain.alloc(1000, 0x1000, MIB)
    take(case, plain, "p")
    assert "No unified memory was recorded" in case.gputrack("report", "p.gt", "-a", "unified").out


def test_rows_that_are_no_moves_are_skipped(case):
    export = Unified()
    export.managed(1, GRID, 2 * MIB, "make_grid")
    export.move(5000, GRID, -5, TO_DEVICE)
    export.move("late", GRID, 4096, TO_DEVICE)
    export.move(6000, GRID, 4096, TO_DEVICE, cause=99)
    export.move(6100, None, 4096, TO_DEVICE, cause=None)
    export.move(6200, 2**63 - 100, 2**62, TO_DEVICE)
    export.move(-7, GRID, 4096, 14)
    export.move(-9, GRID, 4096, TO_HOST)
    out = take(case, export)
    assert "2 rows were invalid and skipped" in out, out
    report = case.report("x.gt", "unified")
    assert report["groups"][0]["to_device_bytes"] == 4096, report
    assert report["causes"]["unknown"] == 8192 and report["causes"]["fault"] == 4096 + 2**62
