# SPDX-License-Identifier: MIT
"""CUDA with stand-ins for the driver and CUPTI (tests/fake/cuda/README.md).

Each test is of the direct door, and the last lines of this file make one of CUPTI's way out of it.
"""
import ctypes
import json
import random
import re
import shutil
import struct


def cuda(case, **more):
    """The environment of a program on the stand-in; the user's settings choose the way to track it."""
    settings = case.path("settings")
    settings.write_text(f"run.cuda-door = {getattr(case, 'cuda_door', 'auto')}\n")
    return case.cuda(**{"GPUTRACK_CONFIG": str(settings), **more})


def through_cupti(test):
    def through(case):
        case.cuda_door = "cupti"
        test(case)
    through.__name__ = test.__name__
    return through


def live(case, recording, *words, **environment):
    run = case.gputrack("run", "-o", recording, case.program("cuda_lives"), *words,
                        env=cuda(case, **environment))
    return run, case.report(recording, "leakage")


def rows_of(case):
    text = (case.source / "src/api/cuda.def").read_text()
    return set(re.findall(r"^FN\((\w+),", text, re.M))


def kinds(report):
    found = {}
    for group in report["groups"]:
        count, size = found.get(group["kind"], (0, 0))
        found[group["kind"]] = (count + group["count"], size + group["bytes"])
    return found


def test_every_function_in_the_table_is_recorded_as_called(case):
    run = case.gputrack("run", "-o", "a.gt", case.program("cuda_objects"), env=cuda(case))
    assert run.status == 0, run.err
    told = [line.split() for line in run.out.splitlines()]
    assert {words[0] for words in told} == rows_of(case)
    events = case.events("a.gt")
    assert len(events) == len(told)
    for words, event in zip(told, events):
        assert event["function"] == words[0]
        assert event["handle"] == words[1], words
        if len(words) == 3:
            assert event["bytes"] == int(words[2]), (words, event)


def test_nothing_leaks_when_everything_is_released(case):
    case.gputrack("run", "-o", "a.gt", case.program("cuda_objects"), env=cuda(case))
    report = case.report("a.gt", "leakage")
    assert report["totals"] == {"count": 0, "bytes": 0}
    summary = case.report("a.gt", "summary")
    assert not summary.get("redundant") and not summary.get("failures")


def test_the_program_prints_the_same_with_and_without_gputrack(case):
    environment = cuda(case)
    for words in (["leak"], ["context", "primary", "kept"], ["threads"], ["fork"], ["fails"]):
        bare = case.run(case.program("cuda_lives"), *words, env=environment)
        traced = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), *words,
                               env=environment)
        assert (bare.status, bare.out) == (traced.status, traced.out)


def test_leaks_have_exact_sizes_and_lines(case):
    run, report = live(case, "a.gt", "leak")
    assert kinds(report) == {"device memory": (2, (1 << 20) + 3000), "event": (1, 0),
                             "host memory": (1, 512), "stream": (1, 0), "context": (1, 0)}
    assert report["totals"] == {"count": 6, "bytes": (1 << 20) + 3000 + 512}
    summary = case.report("a.gt", "summary")
    assert summary["device_bytes"] == (1 << 20) + 3000
    assert summary["host_bytes"] == 512
    for group in report["groups"]:
        top = group["stack"][0]
        assert top["file"].endswith("cuda_lives.c") and top["line"], group
    assert "LEAKED  6 resources" in run.err


@through_cupti
def test_all_frames_shows_the_frames_of_cuda(case):
    live(case, "a.gt", "leak")
    report = case.report("a.gt", "leakage", "--all-frames")
    modules = {frame["module"].rsplit("/", 1)[-1] for group in report["groups"]
               for frame in group["stack"] if frame["module"]}
    assert "libcupti.so" in modules and "libcuda.so.1" in modules


def test_a_context_frees_what_it_owns(case):
    run, report = live(case, "a.gt", "context")
    assert report["totals"] == {"count": 0, "bytes": 0}
    assert report["freed_with_context"] == {"count": 3, "device_bytes": 10000, "host_bytes": 500}
    assert "3 resources freed with their context" in run.err, run.err


def test_one_call_unmaps_adjacent_mappings(case):
    run, report = live(case, "a.gt", "stripes")
    assert run.status == 0, run.err
    assert report["totals"] == {"count": 0, "bytes": 0}, report["groups"]
    usage = case.report("a.gt", "usage")
    assert usage["peak"]["device_bytes"] == 4 * 65536
    assert usage["points"][-1]["device_bytes"] == 0
    summary = case.report("a.gt", "summary")
    assert not summary["size_mismatches"] and not summary["redundant"]


NSIGHT_KINDS = {"CUDA_MEMOPR_MEMORY_KIND_" + word for word in (
    "PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN")}


def nsight_rows(case, recording):
    """The rows of the three files, by time."""
    run = case.gputrack("export", recording, "--format", "tsv", "-o", "rows")
    assert run.status == 0, run.err
    rows = []
    for word in ("valid", "driver", "invalid"):
        lines = (case.folder / f"rows_{word}.tsv").read_text().splitlines()
        names = lines[0].split("\t")
        rows += [dict(zip(names, line.split("\t"))) for line in lines[1:]]
    return sorted(rows, key=lambda row: int(row["start_time"]))


def test_every_row_of_a_free_has_its_allocation(case):
    for recording, program, words in (("objects.gt", "cuda_objects", ()),
                                      ("context.gt", "cuda_lives", ("context",)),
                                      ("stripes.gt", "cuda_lives", ("stripes",)),
                                      ("primary.gt", "cuda_lives", ("primary",))):
        case.gputrack("run", "-o", recording, case.program(program), *words, env=cuda(case))
        held = {}
        for row in nsight_rows(case, recording):
            assert row["memkind"] in NSIGHT_KINDS, row
            if row["mem_op_type"].endswith("_ALLOCATION"):
                held[row["address"]] = (row["bytes"], row["memkind"])
            else:
                assert held.pop(row["address"], None) == (row["bytes"], row["memkind"]), row
        assert not held, "what a context takes along is freed with it"


def test_every_lifetime_in_a_chrome_trace_has_one_end(case):
    for recording, program, words in (("objects.gt", "cuda_objects", ()),
                                      ("context.gt", "cuda_lives", ("context",)),
                                      ("leak.gt", "cuda_lives", ("leak",))):
        case.gputrack("run", "-o", recording, case.program(program), *words, env=cuda(case))
        run = case.gputrack("export", recording, "--format", "chrome")
        alive, leaked = set(), 0
        for event in json.loads(run.out)["traceEvents"]:
            key = (event["pid"], event.get("cat"), event.get("id2", {}).get("local"))
            if event["ph"] == "b":
                assert key not in alive, event
                alive.add(key)
            elif event["ph"] == "e":
                alive.remove(key)
                leaked += event.get("args", {}).get("leaked", False)
        assert not alive
        assert leaked == case.report(recording, "leakage")["totals"]["count"]


def test_a_primary_context_is_counted_and_reset(case):
    _, report = live(case, "a.gt", "primary")
    assert report["totals"] == {"count": 0, "bytes": 0}
    assert report["freed_with_context"] == {"count": 3, "device_bytes": 10000, "host_bytes": 500}


def test_a_retained_primary_context_is_not_a_leak(case):
    run, report = live(case, "a.gt", "kept")
    assert report["totals"]["count"] == 0
    assert [(group["kind"], group["count"]) for group in report["lasting"]] == [
        ("primary context", 1)]
    failing = case.gputrack("run", "--fail-on-leak", "-q", "-o", "b.gt", case.program("cuda_lives"),
                            "kept", env=cuda(case))
    assert failing.status == 0


def test_memory_may_be_freed_by_another_thread(case):
    _, report = live(case, "a.gt", "threads")
    assert report["totals"]["count"] == 0
    assert report["freed_with_context"]["count"] == 0
    events = case.events("a.gt")
    assert sum(event["function"] == "cuMemAlloc_v2" for event in events) == 800
    assert sum(event["function"] == "cuMemFree_v2" for event in events) == 800


def test_a_child_has_a_trace_of_its_own(case):
    run, report = live(case, "a.gt", "fork")
    assert "child ended with 0" in run.out
    assert len(report["recording"]["processes"]) == 2
    sizes = sorted(group["bytes"] for group in report["groups"] if group["bytes"])
    assert sizes == [99, 4096]


def test_failed_calls_change_nothing(case):
    run, report = live(case, "a.gt", "fails", FAKE_CUDA_FAIL="cuMemAlloc_v2:1,cuStreamCreate:0:999")
    assert run.out.splitlines()[:4] == ["context 1", "memory 2", "memory 0", "stream 999"]
    assert report["totals"]["count"] == 0
    failed = [event for event in case.events("a.gt") if event["outcome"] == "failed"]
    assert [event["function"] for event in failed] == [
        "cuCtxCreate_v2", "cuMemAlloc_v2", "cuStreamCreate", "cuMemFree_v2"]


def test_memory_is_separated_by_device(case):
    live(case, "a.gt", "devices", FAKE_CUDA_DEVICES="3")
    places = {event["bytes"]: event.get("place") for event in case.events("a.gt")
              if event["function"] == "cuMemAlloc_v2"}
    assert places == {1000: "GPU 0: Stand-in GPU", 2000: "GPU 1: Stand-in GPU",
                      3000: "GPU 2: Stand-in GPU"}, places


def one_line(run, text):
    said = [line for line in run.err.splitlines() if line.startswith("gputrack: ")]
    assert len(said) == 1 and text in said[0], run.err


@through_cupti
def test_a_second_cupti_subscriber_is_reported_in_one_line_that_suggests_attach(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, FAKE_CUPTI_SUBSCRIBE="39"))
    assert run.status == 0 and run.out == "leak done\n"
    one_line(run, "gputrack attach -p ")


@through_cupti
def test_a_cupti_for_several_is_shared(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, FAKE_CUPTI_SUBSCRIBE="39", FAKE_CUPTI_SEVERAL="1"))
    assert run.status == 0 and not run.err, run.err
    assert case.report("a.gt", "leakage")["totals"]["count"] == 6


@through_cupti
def test_other_cupti_errors_are_reported_in_one_line(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, FAKE_CUPTI_SUBSCRIBE="15",
                                 GPUTRACK_CUPTI=str(case.build / "tests/fake/cuda/libcupti.so")))
    assert run.status == 0 and run.out == "leak done\n"
    one_line(run, "(15)")


@through_cupti
def test_a_missing_cupti_is_reported_in_one_line(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, GPUTRACK_CUPTI="/nowhere/libcupti.so"))
    assert run.status == 0 and run.out == "leak done\n"
    one_line(run, "no libcupti was found")


@through_cupti
def test_an_incomplete_cupti_counts_as_missing(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, GPUTRACK_CUPTI=case.program("libcupti_half.so")))
    assert run.status == 0 and run.out == "leak done\n"
    one_line(run, "no libcupti was found")


@through_cupti
def test_a_cupti_without_callbacks_is_reported_in_one_line(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, FAKE_CUPTI_ENABLE="1"))
    assert run.status == 0 and run.out == "leak done\n"
    one_line(run, "reports no function")


def test_a_missing_gpu_is_left_to_the_program(case):
    run = case.gputrack("run", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, FAKE_CUDA_DEVICES="0"))
    assert run.status == 5 and run.out == "no GPU: 100\n"
    assert "NOTHING WAS TRACKED" in run.err


@through_cupti
def test_an_existing_injection_is_kept(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=cuda(case, CUDA_INJECTION64_PATH="/nowhere/other.so"))
    assert run.status == 0 and run.out == "leak done\n"
    one_line(run, "CUDA_INJECTION64_PATH")


def test_the_door_works_without_gputrack_run(case):
    run = case.run(case.program("cuda_lives"), "leak", env=cuda(
        case, CUDA_INJECTION64_PATH=str(case.build / "libgputrack_cuda.so"),
        GPUTRACK_RECORDING=str(case.path("b.gt"))))
    assert run.status == 0
    assert case.report("b.gt", "leakage")["totals"]["count"] == 6


def test_the_tracker_log_counts_memory_ended_with_its_context(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", "--log", "a.log", case.program("cuda_lives"),
                        "context", "kept", env=cuda(case))
    assert run.status == 0
    text = "".join(path.read_text() for path in case.folder.glob("a*.log"))
    assert "cuCtxDestroy_v2" in text
    assert "STILL ALIVE" not in text, text


def test_the_tracker_log_counts_mappings_ended_by_one_call(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", "--log", "a.log", case.program("cuda_lives"),
                        "stripes", env=cuda(case, GPUTRACK_LOG_LEVEL="debug"))
    assert run.status == 0
    text = "".join(path.read_text() for path in case.folder.glob("a*.log"))
    counts = re.findall(r"(cuMem(?:Map|Unmap)): \w+ Count=(\d+)", text)
    assert [int(count) for _, count in counts] == [1, 2, 3, 4, 0], counts
    assert "STILL ALIVE" not in text, text


def nvml(case, **more):
    environment = cuda(case)
    environment["LD_LIBRARY_PATH"] += ":" + str(case.build / "tests/fake/gpu_memory")
    return dict(environment, FAKE_NVML_SHARE=str(case.path("share")), **more)


def test_device_memory_reported_by_the_gpu_is_shown_beside_traced_memory(case):
    run = case.gputrack("run", "-o", "a.gt", case.program("cuda_lives"), "seen", env=nvml(case))
    assert run.status == 0 and run.out == "seen done\n", run.err
    assert case.path("a.gt/system.trace").exists()
    report = case.report("a.gt", "summary")
    mib = 1 << 20
    first, second = report["devices"]
    assert first["device"] == "GPU 0: Stand-in GPU"
    assert first["peak_bytes"] == 612 * mib
    assert first["program_peak_bytes"] == 300 * mib
    assert second["peak_bytes"] == 412 * mib and second["program_peak_bytes"] is None
    assert report["peak"]["device_bytes"] == 200 * mib
    assert report["untraced_bytes"] == 100 * mib
    assert len(report["recording"]["processes"]) == 1
    assert "612 MiB" in run.err and "100 MiB  of it was not traced" in run.err, run.err


def test_memory_that_the_driver_takes_for_itself_is_measured(case):
    run = case.gputrack("run", "-o", "a.gt", case.program("cuda_objects"),
                        env=cuda(case, FAKE_CUDA_COSTS="1"))
    assert run.status == 0, run.err
    if getattr(case, "cuda_door", "") == "cupti":
        assert not any("Memory" in event["function"] for event in case.events("a.gt")
                       if event["function"].startswith("cuda"))
        return
    alive, seen, last = {}, {}, None
    for event in case.events("a.gt"):
        function, handle = event["function"], event["handle"]
        if function in ("cudaContextMemory", "cudaCodeMemory", "cudaGraphMemory"):
            assert handle not in alive, event
            alive[handle] = event["bytes"]
            seen.setdefault(function, set()).add((last["function"], event["bytes"] >> 20))
        elif function == "cudaDriverMemoryGone":
            alive.pop(handle)
        last = event if function.startswith("cu") and not function.startswith("cuda") else last
    assert {(name[:12], size) for name, size in seen["cudaCodeMemory"]} == {
        ("cuModuleLoad", 2), ("cuLibraryLoa", 1)}
    assert {size for _, size in seen["cudaGraphMemory"]} == {4}
    assert len(seen["cudaGraphMemory"]) == 5, seen
    # before a context is made none is current, and the driver does not answer
    assert {size for _, size in seen["cudaContextMemory"]} == {2}, seen
    assert all("Stream" in name for name, _ in seen["cudaContextMemory"]), seen
    assert not alive, alive
    report = case.report("a.gt", "leakage")
    assert report["totals"] == {"count": 0, "bytes": 0}
    assert case.report("a.gt", "summary")["peak"]["device_bytes"] < 1 << 20


def test_code_is_measured_when_its_kernel_is_first_launched(case):
    for options in [], ["--touches"]:
        if options and getattr(case, "cuda_door", "") == "cupti":
            return
        run = case.gputrack("run", "-q", "-o", "a.gt", *options, case.program("cuda_touches"),
                            "cost", "1000", env=cuda(case, FAKE_CUDA_COSTS="1"))
        assert run.status == 0, run.err
        code = [e for e in case.events("a.gt") if e["function"] == "cudaCodeMemory"
                and e["bytes"] == 3 << 20]
        assert len(code) == (0 if getattr(case, "cuda_door", "") == "cupti" else 1), code
        for event in code:
            assert "cuda_touches.c" in event["where"], event


def test_without_nvml_no_device_samples_are_recorded(case):
    case.gputrack("run", "-o", "a.gt", case.program("cuda_lives"), "leak",
                  env=nvml(case, FAKE_NVML_INIT="9"))
    assert not case.path("a.gt/system.trace").exists()
    assert "devices" not in case.report("a.gt", "summary")


def test_doctor_reports_what_cuda_needs(case):
    done = case.gputrack("doctor", env=nvml(case, COLUMNS="300"))
    assert "\nCUDA\n  ✓ driver " in done.out and ", 1 GPU\n" in done.out, done.out
    assert "GPU 1" in done.out and "Stand-in GPU, 16.0 GiB" in done.out, done.out
    assert "CUDA programs can be tracked" in done.out or "and CUDA" in done.out, done.out
    done = case.gputrack("doctor", env=nvml(case, GPUTRACK_CUPTI="/nowhere/libcupti.so", COLUMNS="300"))
    assert "libcupti.so was not found" in done.out
    done = case.gputrack("doctor", env=nvml(case, FAKE_CUPTI_SUBSCRIBE="39", COLUMNS="300"))
    assert "another profiler is using it" in done.out
    done = case.gputrack("doctor", env=nvml(case, FAKE_CUDA_DEVICES="0", COLUMNS="300"))
    assert "cuInit fails with 100 (no GPU)" in done.out


def cubin(variables):
    """An ELF file with one symbol for each (name, bytes, section, other)."""
    sections = [b"", b".shstrtab", b".strtab", b".symtab", b".nv.global", b".nv.constant3", b".text"]
    names = b"\0".join(sections) + b"\0"
    texts, symbols = b"\0", bytes(24)
    for name, size, section, other in variables:
        symbols += struct.pack("<IBBHQQ", len(texts), 1, other, sections.index(section), 0, size)
        texts += name + b"\0"
    bodies = [b"", names, texts, symbols, b"", b"", b""]
    kinds = [0, 3, 3, 2, 8, 1, 1]
    offset, headers = 64, b""
    for index, (kind, body) in enumerate(zip(kinds, bodies)):
        link = 2 if kind == 2 else 0
        headers += struct.pack("<IIQQQQIIQQ", names.index(sections[index] + b"\0"), kind, 0, 0,
                               offset, len(body), link, 0, 1, 24 if kind == 2 else 0)
        offset += len(body)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, offset, 0, 64, 56, 0, 64, len(sections), 1)
    return head + b"".join(bodies) + headers


def test_static_variables_are_listed_separately_with_their_names(case):
    case.path("a.cubin").write_bytes(cubin([
        (b"counters", 4000, b".nv.global", 0), (b"table", 2000, b".nv.global", 4),
        (b"factors", 128, b".nv.constant3", 0), (b"kernel", 999, b".text", 0)]))
    case.path("b.cubin").write_bytes(cubin([(b"other", 50, b".nv.global", 0)]))
    run, report = live(case, "a.gt", "statics")
    assert run.status == 0 and run.out == "statics done\n", run.err
    assert kinds({"groups": report["lasting"]}) == {
        "static device memory": (2, 4128), "static managed memory": (1, 2000),
        "library of its own code": (1, 0)}
    assert kinds(report) == {"context": (1, 0), "module": (1, 0), "library": (1, 0)}
    events = [event for event in case.events("a.gt") if "Variable" in event["function"]]
    assert [(event["function"], event.get("bytes")) for event in events] == [
        ("cudaDeviceVariable", 4000), ("cudaManagedVariable", 2000), ("cudaDeviceVariable", 128),
        ("cudaDeviceVariable", 50), ("cudaVariableGone", None)]
    names = sorted((one["name"], one["bytes"]) for group in report["lasting"]
                   for one in group["objects"] if one["bytes"])
    assert names == [("counters", 4000), ("factors", 128), ("table", 2000)]
    text = case.gputrack("report", "a.gt", "-a", "leakage").out
    assert "NOT LEAKED" in text and "counters" in text, text


def test_variables_of_code_that_awaits_a_context_are_on_no_device(case):
    """PyTorch's libraries are loaded before its context: their variables take no memory yet."""
    case.path("a.cubin").write_bytes(cubin([(b"counters", 4000, b".nv.global", 0)]))
    run, report = live(case, "a.gt", "early")
    assert kinds({"groups": report["lasting"]}) == {"static device memory": (1, 4000)}, report
    memory = case.report("a.gt", "memory")
    assert [d["device"] for d in memory["devices"]] == ["GPU 0: Stand-in GPU"], memory
    assert {g["part"]: g["bytes"] for g in memory["groups"]} == {"places": 5000}, memory


def test_a_truncated_or_malformed_cubin_does_no_harm(case):
    whole = cubin([(b"counters", 4000, b".nv.global", 0)])
    for size in range(0, len(whole), 31):  # tests/fuzz/fuzz_cubin.c tries many more
        case.path("a.cubin").write_bytes(whole[:size])
        mad = bytearray(whole)
        mad[size] ^= 0xff
        case.path("b.cubin").write_bytes(bytes(mad))
        run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "statics",
                            env=cuda(case))
        assert run.status == 0 and run.out == "statics done\n", (size, run.err)


LZ4, ZSTD = 1 << 13, 1 << 15


def pack(how, data, level):
    """By the libraries themselves: a block of LZ4, a frame of Zstandard."""
    room = ctypes.create_string_buffer(len(data) * 2 + 1000)
    if how == LZ4:
        library = ctypes.CDLL("liblz4.so.1")
        size = library.LZ4_compress_HC(data, room, len(data), len(room), level)
    else:
        library = ctypes.CDLL("libzstd.so.1")
        library.ZSTD_compress.restype = ctypes.c_size_t
        library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                          ctypes.c_size_t, ctypes.c_int]
        size = library.ZSTD_compress(room, len(room), data, len(data), level)
    assert 0 < size < len(room)
    return room.raw[:size]


def fatbin(*entries):
    """A fat binary of (flags, bytes, bytes when unpacked); of kind 1, text, where there are no flags."""
    body = b""
    for flags, data, unpacked in entries:
        padded = data + bytes(-len(data) % 8)
        body += struct.pack("<HHIQIIIIIIQQQ", 2 if flags else 1, 0x101, 64, len(padded),
                            len(data) if flags else 0, 0, 0, 90, 0, 0, flags, 0, unpacked) + padded
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def many_variables(count, seed):
    """The variables of a cubin whose names repeat enough, and not too much, to exercise a compressor."""
    chance = random.Random(seed)
    return [(f"_ZN{chance.choice(('3foo', '6kernel', '2at6native'))}{i}v{chance.getrandbits(40):x}E".encode(),
             chance.randint(1, 1 << 20), b".nv.global", chance.choice((0, 4))) for i in range(count)]


def test_static_variables_of_compressed_code_are_listed(case):
    expected, number = {}, 0
    for how, levels in ((ZSTD, (1, 3, 12, 19)), (LZ4, (3, 9))):
        for level in levels:
            for count in (1, 40, 3000):
                variables = many_variables(count, number)
                code = cubin(variables)
                # the smallest of those that can be unpacked is read; others have other variables here
                larger = cubin(variables + [(b"larger", 1, b".nv.global", 0)])
                case.path(f"{number}.fatbin").write_bytes(fatbin(
                    (0, b".version 8.0", 0), (how, pack(how, larger, level), len(larger)),
                    (how, pack(how, code, level), len(code)), (4, b"packed in some other way", 3)))
                for name, size, _, _ in variables:
                    expected[name.decode()] = size
                number += 1
    run, report = live(case, "a.gt", "packed")
    assert run.status == 0 and run.out == "packed done\n", run.err
    found = {one["name"]: one["bytes"] for group in report["lasting"] for one in group["objects"]
             if one["bytes"]}
    assert found == expected, (len(found), len(expected))


def test_static_variables_of_code_that_nvcc_compressed(case):
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        case.skip("nvcc is not there")
    case.path("code.cu").write_text("""
        __device__ int counters[1000]; __constant__ float factors[32]; __managed__ int table[500];
        __global__ void kernel(float *p) { *p = factors[1] + counters[2] + table[3]; }""")
    ways = {0: ("none",), ZSTD: ("size",), LZ4: ("speed", "-Xfatbin=-compress-all")}
    for number, (flag, (mode, *more)) in enumerate(ways.items()):
        done = case.run(nvcc, "-fatbin", "-arch=sm_90", f"--compress-mode={mode}", *more, "-o", f"{number}.fatbin",
                        "code.cu")
        if done.status:
            case.skip(f"this nvcc does not compress: {done.err.strip()}")
        # an older one would ignore what it is asked for: 40 is where the flags of the first entry lie
        assert struct.unpack_from("<Q", case.path(f"{number}.fatbin").read_bytes(), 16 + 40)[0] & (LZ4 | ZSTD) == flag
    run, report = live(case, "a.gt", "packed")
    assert run.status == 0 and run.out == "packed done\n", run.err
    names = sorted((one["name"], one["bytes"]) for group in report["lasting"] for one in group["objects"]
                   if one["bytes"])
    assert names == sorted(3 * [("counters", 4000), ("factors", 128), ("table", 2000)]), names


def test_damaged_compressed_code_does_no_harm(case):
    code = cubin(many_variables(60, 1))
    chance = random.Random(5)
    for how in (ZSTD, LZ4):
        packed = pack(how, code, 9)
        for number in range(60):
            mad = bytearray(packed)
            for _ in range(chance.randint(1, 4)):
                mad[chance.randrange(len(mad))] ^= 1 << chance.randrange(8)
            mad = mad[:chance.randint(1, len(mad))] if number % 3 == 0 else mad
            case.path(f"{number}.fatbin").write_bytes(fatbin((how, bytes(mad), len(code) - number % 2)))
        run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "packed", env=cuda(case))
        assert run.status == 0 and run.out == "packed done\n", run.err


# what has no second way, or has it in its name
ONE_WAY = {"static_variables_of_compressed_code_are_listed", "damaged_compressed_code_does_no_harm",
           "static_variables_of_code_that_nvcc_compressed", "variables_of_code_that_awaits_a_context_are_on_no_device",
           "a_truncated_or_malformed_cubin_does_no_harm", "doctor_reports_what_cuda_needs", "the_door_works_without_gputrack_run",
           "without_nvml_no_device_samples_are_recorded"}
for name, test in list(globals().items()):
    if name.startswith("test_") and test.__code__ is not through_cupti(test).__code__ and \
            name[5:] not in ONE_WAY:
        globals()[name + "_through_cupti"] = through_cupti(test)
