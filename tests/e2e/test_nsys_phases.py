# SPDX-License-Identifier: MIT
"""test_nsys_phases.py - NVTX ranges of an Nsight export become phases."""
from nsys_export import (BACKTRACE, Export, MEMORY, NVTX_CATEGORY, NVTX_DOMAIN, NVTX_MARK,
                         START_END)
from test_nsys import MAIN, MIB, take, tsv

MALLOC = "cudaMalloc_v3020"


def allocate(export, number, at, size=MIB, tid=7, **more):
    export.call(at, at + 100, number, MALLOC, tid=tid, **more)
    export.alloc(at + 50, number * 64 * MIB, size, correlation=number)


def training(export):
    """setup 1 MiB; train > forward 2 + 3, > backward 4; outside 5 MiB."""
    export.nvtx(500, 1500, "setup")
    export.nvtx(1900, 50000, "train")
    export.nvtx(2000, 9000, "forward")
    export.nvtx(9000, 20000, "backward")
    for i, at in enumerate((1000, 3000, 4000, 10000, 60000)):
        allocate(export, i + 1, at, (i + 1) * MIB)
    return export


def phases(case, name, *more):
    """Bytes leaked by phase."""
    groups = case.report(name, "leakage", "--by", "phase", *more)["groups"]
    return {g["place"]["text"]: g["bytes"] // MIB for g in groups}


def test_allocations_are_grouped_by_phase(case):
    take(case, training(Export()), "t")
    assert phases(case, "t.gt") == {"setup": 1, "train > forward": 5, "train > backward": 4,
                                    "(no phase)": 5}
    text = case.gputrack("report", "t.gt", "--by", "phase").out
    assert "5.00 MiB  2 blocks of device memory  train > forward" in text, text


def test_a_phase_is_the_place_where_the_stack_is_missing(case):
    take(case, training(Export()), "t")
    text = case.gputrack("report", "t.gt").out
    assert "phase train > forward via cudaMalloc" in text, text
    places = {g["place"]["text"] for g in case.report("t.gt", "leakage")["groups"]}
    assert places == {"phase setup via cudaMalloc", "phase train > forward via cudaMalloc",
                      "phase train > backward via cudaMalloc", "cudaMalloc CUDA runtime"}, places
    # what the seed's tables say of them stays
    _, rows = tsv(case, "t.gt", "leakage")
    assert {r["trace_type"] for r in rows} == {"1"} and {r["stack"] for r in rows} == {"STACK_NOT_FOUND"}


def test_a_stack_stays_the_place_and_the_leak_names_its_phase(case):
    export = Export()
    export.nvtx(0, 9000, "train")
    allocate(export, 1, 1000)
    export.call(1000, 1100, 1, "cudaMalloc", BACKTRACE, tid=7,
                stack=[("cudaMalloc", "/lib/libcudart.so")] + MAIN)
    take(case, export, "s")
    text = case.gputrack("report", "s.gt").out
    assert "1 block of device memory by cudaMalloc (CUDA), in train\n" in text, text
    assert "phase train via" not in text and "allocate" in text
    found, = case.report("s.gt", "leakage")["groups"]
    assert found["objects"][0]["phase"] == "train" and found["class"] == "valid"


def test_a_filter_reads_one_phase(case):
    take(case, training(Export()), "t")
    assert phases(case, "t.gt", "--phase", "train") == {"train > forward": 5, "train > backward": 4}
    assert phases(case, "t.gt", "--phase", "^forward") == {}
    assert phases(case, "t.gt", "--phase", "^(no phase)$", "--phase", "setup") == {
        "setup": 1, "(no phase)": 5}
    rows = case.gputrack("export", "t.gt", "--phase", "> forward", "--format", "tsv").out
    assert [r.split("\t")[15] for r in rows.splitlines()] == ["phase"] + ["train > forward"] * 2


def test_ranges_of_the_process_lie_around_those_of_its_threads(case):
    export = training(Export())
    export.nvtx(0, 5000, "job", START_END, tid=99)
    export.nvtx(3500, None, "never ended", START_END, tid=99)
    take(case, export, "p")
    assert phases(case, "p.gt") == {
        "job > setup": 1, "job > train > forward": 2, "job > never ended > train > forward": 3,
        "never ended > train > backward": 4, "never ended": 5}


def test_domains_categories_and_texts_by_number(case):
    export = Export()
    export.nvtx(90000, None, "NCCL", NVTX_DOMAIN, domain=4)  # its name may come late
    export.nvtx(90000, None, "io", NVTX_CATEGORY, domain=4, category=2)
    export.nvtx(1000, 2000, None, domain=4, category=2, textId=export.string("reduce"))
    export.nvtx(1100, 1900, None, uint64Value=42)
    export.nvtx(1100, 1900, "a mark", NVTX_MARK)
    export.nvtx(3000, 4000, None, jsonText='{"step": 7}')
    allocate(export, 1, 1200)
    allocate(export, 2, 3100)
    take(case, export, "d")
    assert phases(case, "d.gt") == {"NCCL:reduce [io] > 42": 1, '{"step": 7}': 1}


def test_ranges_of_other_threads_and_processes_do_not_count(case):
    export = Export()
    export.nvtx(0, 9000, "other thread", tid=8)
    export.nvtx(0, 9000, "other process", pid=200)
    export.nvtx(0, 9000, "job of another", START_END, pid=200)
    allocate(export, 1, 1000)
    take(case, export, "o")
    assert phases(case, "o.gt") == {"(no phase)": 1}


def test_rows_in_any_order_and_ranges_that_cross(case):
    export = Export()
    export.nvtx(5000, 6000, "late")
    export.nvtx(0, 3000, "a", domain=0)
    export.nvtx(1000, 5500, "b", domain=1)  # another domain: its end is not that of "a"
    allocate(export, 1, 2000, 1 * MIB)
    allocate(export, 2, 4000, 2 * MIB)
    allocate(export, 3, 5100, 3 * MIB)
    take(case, export, "c")
    assert phases(case, "c.gt") == {"a > b": 1, "b": 2, "b > late": 3}


def test_a_failed_call_has_its_phase(case):
    export = training(Export())
    export.call(12000, 12100, 50, MALLOC, tid=7, result=2)
    take(case, export, "f")
    failed, = case.report("f.gt", "summary", "--phase", "backward")["failures"]
    assert failed["count"] == 1 and [f["function"] for f in failed["stack"]] == [
        "cudaMalloc", "backward", "train"], failed
    assert not case.report("f.gt", "summary", "--phase", "forward").get("failures")


def test_diff_aligns_recordings_by_phase(case):
    take(case, training(Export()), "old")
    export = training(Export())
    for number in range(1, 6):  # now with stacks
        call = export.calls[number - 1]
        export.call(call[0], call[1], number, "cudaMalloc", BACKTRACE, tid=7,
                    stack=[("cudaMalloc", "/lib/libcudart.so")] + MAIN)
    export.nvtx(70000, 80000, "eval")
    allocate(export, 9, 71000, 7 * MIB)
    take(case, export, "new")
    text = case.gputrack("diff", "old.gt", "new.gt", "--by", "phase").out
    assert "eval" in text and "train > forward" not in text, text
    assert "train > forward" in case.gputrack("diff", "old.gt", "new.gt").out


def test_exports_have_ranges_as_frames(case):
    take(case, training(Export()), "t")
    folded = case.gputrack("export", "t.gt", "--format", "collapsed").out
    assert "train;forward;cudaMalloc;" in folded, folded
    chrome = case.gputrack("export", "t.gt", "--format", "chrome").out
    assert '"phase": "train > forward"' in chrome or '"phase":"train > forward"' in chrome


def test_calls_are_counted_by_phase_without_memory_events(case):
    export = Export(columns=None)
    export.nvtx(0, 5000, "train")
    for i in range(3):
        export.call(100 * i, 100 * i + 50, i + 1, MALLOC, tid=7)
    export.call(6000, 6050, 9, "cudaFree_v3020", tid=7)
    take(case, export, "n")
    text = case.gputrack("report", "n.gt").out
    assert "by phase\n    train  3 x cudaMalloc: 3 more created than released\n" in text, text
    assert "    (no phase)  1 x cudaFree\n" in text, text
    counted = case.report("n.gt", "summary")["calls_by_phase"]
    assert [(c["phase"], c["function"], c["calls"]) for c in counted] == [
        ("train", "cudaMalloc", 3), ("(no phase)", "cudaFree", 1)]


def test_an_old_table_without_most_columns_will_do(case):
    columns = ["start", "end", "eventType", "text", "globalTid"]
    export = Export(columns=MEMORY)
    export.nvtx(0, 9000, "train", columns=columns)
    allocate(export, 1, 1000)
    take(case, export, "q")
    assert phases(case, "q.gt") == {"train": 1}
