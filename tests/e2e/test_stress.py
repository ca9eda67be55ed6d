# SPDX-License-Identifier: MIT
"""test_stress.py - gputrack stress: its summary agrees with a recording of it."""
import collections
import re
import signal

import harness

FIRST = "Running GPU stress generator: {} events/sec, alloc_size={} bytes, free ratio={}"
LAST = re.compile(r"([\d,]+) events in \S+ s: ([\d,]+) events/s(?: of ([\d,]+) requested)?; "
                  r"([\d,]+) allocations?, ([\d,]+) frees?, ([\d,]+) failed; "
                  r"(\S+ \S+) in ([\d,]+) blocks? left alive")


def one_line(done, status):
    assert done.status == status, (done.status, done.out, done.err)
    assert done.out == "" and len(done.err.splitlines()) == 1, (done.out, done.err)
    return done.err


def numbers(line):
    """Events, allocations, frees, failed, blocks left, by the last line; and the size left."""
    found = LAST.fullmatch(line)
    assert found, line
    count = [int(text.replace(",", "")) for text in found.group(1, 4, 5, 6, 8)]
    return dict(zip(("events", "allocations", "frees", "failed", "live"), count),
                size=found.group(7))


def recorded(case, create, release):
    """The number of calls of a function in the recording, by result."""
    count = collections.Counter((e["function"], e["outcome"]) for e in case.events("s.gt"))
    return count[create, "done"], count[release, "done"]


def test_the_original_command_line_works(case):
    done = case.gputrack("stress", "--throughput", "4000", "--allocate-size", "2048", "--ratio",
                         "1.0", "--events", "1000", "--api", "opencl", env=case.pocl())
    first, second, last = done.out.splitlines()
    assert first == FIRST.format(4000, 2048, "1.0")
    assert re.match(r"pid \d+, OpenCL on .", second), second
    assert done.status == 0 and done.err == ""
    assert numbers(last) == {"events": 1000, "allocations": 500, "frees": 500, "failed": 0,
                             "live": 0, "size": "0 B"}


@harness.also_on("intel", is_long=True)
def test_the_summary_matches_the_recording(case):
    plans = [("opencl", case.pocl(), "clCreateBuffer", "clReleaseMemObject", 1),
             ("levelzero", case.levelzero(), "zeMemAllocDevice", "zeMemFree", 2)]
    for api, env, create, release, threads in plans:
        for ratio, size in (("1.0", 2048), ("0.5", 4096), ("0", 100)):
            done = case.gputrack("run", "-q", "-o", "s.gt", case.build / "gputrack", "stress",
                                 "--api", api, "--throughput", "max", "--events", "3000",
                                 "--free-ratio", ratio, "--allocate-size", size, "--threads",
                                 threads, env=env)
            assert done.status == 0, done.err
            first, _, last = done.out.splitlines()
            assert first == FIRST.format("max", size, ratio if "." in ratio else ratio + ".0")
            said = numbers(last)
            share = float(ratio)
            assert said["events"] == 3000 and said["failed"] == 0
            assert said["frees"] == int(said["allocations"] * share)
            assert said["live"] == said["allocations"] - said["frees"]
            assert recorded(case, create, release) == (said["allocations"], said["frees"])
            leaked = case.report("s.gt", "leakage")
            blocks = [g for g in leaked["groups"] if g["kind"] in ("buffer", "device_memory",
                                                                  "memory", "device memory")]
            assert sum(g["count"] for g in blocks) == said["live"], leaked["groups"]
            assert sum(g["bytes"] for g in blocks) == said["live"] * size
            if not said["live"]:
                assert leaked["totals"]["count"] == 0, leaked["groups"]


def test_an_interrupt_still_prints_the_last_line(case):
    for number in (signal.SIGINT, signal.SIGTERM):
        process = case.start(case.build / "gputrack", "stress", "--api", "opencl", "-t", "2",
                             "--threads", "2", env=case.pocl())
        lines = [process.stdout.readline(), process.stdout.readline()]
        assert lines[0].decode() == FIRST.format(2, 2048, "1.0") + "\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and err == b"", (process.returncode, err)
        numbers(out.decode().strip())


def test_a_missing_device_is_reported_with_a_hint_at_library(case):
    nothing = {"OCL_ICD_VENDORS": str(case.folder)}
    for api in ("cuda", "opencl", "levelzero"):
        message = one_line(case.gputrack("stress", "--api", api, "--library", "/no/such.so"), 1)
        assert "/no/such.so" in message and "--library FILE" in message, message
    message = one_line(case.gputrack("stress", "--api", "opencl", env=nothing), 1)
    assert "there is no OpenCL device" in message and "--library FILE" in message, message
    # a library that is there, and another API's
    assert "--library FILE" in one_line(case.gputrack("stress", "--library", "libm.so.6"), 1)


def test_running_out_of_memory_ends_with_one_line(case):
    done = case.gputrack("stress", "--api", "opencl", "--allocate-size", str(1 << 40),
                         env=case.pocl())
    assert done.status == 1 and len(done.err.splitlines()) == 1, done.err
    assert "--allocate-size" in done.err and numbers(done.out.splitlines()[-1])["failed"] == 1
    message = one_line(case.gputrack("stress", "--allocate-size", str(1 << 60)), 2)
    assert "--allocate-size must be from 1 to 1099511627776" in message, message


def test_a_stand_in_library_works(case):
    """CUDA without a GPU: calls go to the named library and are counted by their result."""
    if not (case.build / "tests/fake/cuda/libcuda.so.1").exists():
        case.skip("built without CUDA's headers")
    library = case.program("libcuda.so.1")
    how = ("stress", "--library", library, "-t", "max", "--allocate-size", "512")
    done = case.gputrack(*how, "--events", "1000", "--free-ratio", "0.25", "--threads", "3")
    assert done.status == 0 and "CUDA on " in done.out, (done.out, done.err)
    said = numbers(done.out.splitlines()[-1])
    assert said["events"] == 1000 and said["live"] == said["allocations"] - said["frees"]
    # the fifth allocation fails: what is held is given back, and it goes on
    done = case.gputrack(*how, "--events", "10", "--free-ratio", "0",
                         env={"FAKE_CUDA_FAIL": "cuMemAlloc_v2:5"})
    _, _, last, cleared = done.out.splitlines()
    assert numbers(last) == {"events": 13, "allocations": 9, "frees": 4, "failed": 1, "live": 5,
                             "size": "2.50 KiB"}
    assert "memory ran out 1 time" in cleared and done.status == 0
    # frees that fail are no frees
    done = case.gputrack(*how, "--events", "10", env={"FAKE_CUDA_FAIL": "cuMemFree_v2:0"})
    said = numbers(done.out.splitlines()[-1])
    assert (said["allocations"], said["frees"], said["failed"]) == (5, 0, 5)
    message = one_line(case.gputrack(*how, env={"FAKE_CUDA_DEVICES": "0"}), 1)
    assert "there is no CUDA device" in message and "--library FILE" in message, message


def test_every_option_spelling_is_in_the_help(case):
    text = case.gputrack("stress", "--help").out
    assert "--free-ratio R" in text and "--ratio is the same" in " ".join(text.split()), text


def test_wrong_usage_is_reported(case):
    for words in (["--throughput", "fast"], ["--free-ratio", "1.5"], ["--free-ratio", "x"],
                  ["--threads", "0"], ["--allocate-size", "0"], ["--api", "metal"], ["operand"],
                  ["--throughput", "99999999999"]):
        message = one_line(case.gputrack("stress", *words), 2)
        assert "gputrack stress --help" in message, message
