# SPDX-License-Identifier: MIT
"""report -a memory and the autopsy of an out-of-memory error, over the stand-in driver and NVML."""

MIB = 1 << 20


def gpu(case, **more):
    folders = f"{case.build}/tests/fake/cuda:{case.build}/tests/fake/gpu_memory"
    return case.cuda_preloaded(**{"LD_LIBRARY_PATH": folders, "FAKE_NVML_SHARE": str(case.path("share")),
                                  "FAKE_CUDA_COSTS": "1", **more})


def pool(case, mode, *more, **environment):
    library = case.build / "tests/fake/torch/libc10_cuda.so"
    return case.gputrack("run", "-o", "a.gt", case.program("torch_pool"), str(library), mode,
                         *map(str, more), env=gpu(case, **environment))


def parts(report):
    found = {}
    for group in report["groups"]:
        found[group["part"]] = found.get(group["part"], 0) + group["bytes"]
    return found


def test_parts_add_up_to_what_the_gpu_reports(case):
    pool(case, "plain", 200, 7)
    for at in "peak", "end":
        report = case.report("a.gt", "memory", "--at", at)
        device, = report["devices"]
        found = parts(report)
        assert device["reported"] and device["device"] == "GPU 0: Stand-in GPU", device
        assert sum(found.values()) == device["program_bytes"] == report["totals"]["bytes"], report
        assert found["contexts"] >= 300 * MIB and found["unknown"] == 0, found
        pools = report["pool"]
        assert found.get("cached", 0) + found.get("fragmented", 0) == pools["cached_bytes"], report
        assert found.get("fragmented", 0) == pools["fragmented_bytes"], report
        assert found["places"] == pools["live_bytes"], report


def test_without_the_gpus_own_figure_it_says_so(case):
    case.gputrack("run", "-o", "a.gt", case.program("cuda_lives"), "leak",
                  env=gpu(case, FAKE_NVML_INIT="9"))
    report = case.report("a.gt", "memory")
    assert [d["reported"] for d in report["devices"]] == [False], report
    assert "unknown" not in parts(report), report
    assert "what the device itself reports is not known" in " ".join(
        case.gputrack("report", "a.gt", "-a", "memory").out.split())


def test_any_moment(case):
    pool(case, "plain", 50, 7)
    first = case.report("a.gt", "memory", "--at", "0")
    assert first["groups"] == [] and first["time_ns"] == 0, first
    assert case.report("a.gt", "memory", "--at", "100 s")["groups"] == \
        case.report("a.gt", "memory", "--at", "end")["groups"]
    # without a shortage, the peak
    assert case.report("a.gt", "memory", "--at", "oom")["at"] == "peak"
    for wrong in "soon", "-1", "1x", "":
        done = case.gputrack("report", "a.gt", "-a", "memory", "--at", wrong)
        assert done.status == 2 and done.err.count("\n") <= 2, (wrong, done.err)
    done = case.gputrack("report", "a.gt", "--at", "peak")
    assert done.status == 2 and "-a memory" in done.err, done.err


def test_fragmentation_is_named_with_the_blocks_that_pin(case):
    run = pool(case, "fragmented", 20, FAKE_GPU_MIB="1132")
    shortage = case.report("a.gt", "summary")["out_of_memory"]
    autopsy = shortage["autopsy"]
    assert autopsy["fragmented"] and autopsy["missing_bytes"] == 0, autopsy
    assert autopsy["cached_bytes"] == autopsy["pin"]["pinned_bytes"] == 280 * MIB, autopsy
    assert autopsy["free_pieces"] == 20 and autopsy["largest_free_bytes"] == 14 * MIB, autopsy
    text = " ".join(run.err.split())
    assert "OUT OF MEMORY" in text and "200 MiB requested" in text, text
    assert "280 MiB cached by the pool in 20 pieces, the largest 14.0 MiB" in text, text
    assert "fragmentation: what was free would have sufficed in one piece" in text, text
    assert "pin 280 MiB of it" in text, text
    report = case.report("a.gt", "memory", "--library", "libc10_cuda.so")
    assert report["at"] == "oom" and parts(report)["fragmented"] == 280 * MIB, report
    pin, = report["pool"]["pins"]
    assert pin["count"] == 20 and pin["place"]["function"] == "keep_block", pin


def test_what_would_have_sufficed(case):
    run = pool(case, "fragmented", 2, FAKE_GPU_MIB="812")
    autopsy = case.report("a.gt", "summary")["out_of_memory"]["autopsy"]
    assert not autopsy["fragmented"], autopsy
    assert autopsy["missing_bytes"] == 200 * MIB - 28 * MIB - autopsy["free_bytes"] > 0, autopsy
    assert f"{autopsy['missing_bytes'] // MIB} MiB more would have sufficed" in run.err, run.err


def test_plot_draws_the_parts_over_time(case):
    pool(case, "fragmented", 20, FAKE_GPU_MIB="1132")
    done = case.gputrack("plot", "a.gt", "-o", "a.txt")
    line, = [line for line in done.out.splitlines() if "when memory ran out" in line]
    assert ": 40.0 MiB allocated by the program, 280 MiB fragmented, 400 MiB contexts" in line, line
    picture = case.path("a.txt").read_text()
    assert "panel Where the Device's Memory Went" in picture, picture
    assert "OUT OF MEMORY at" in picture and "200 MiB requested" in picture, picture
    assert "capacity 1.11 GiB" in picture, picture
