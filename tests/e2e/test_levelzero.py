# SPDX-License-Identifier: MIT
"""The resource tracker as documented: the sample session and the CSV."""
import os
import random
import resource
import shutil
import stat
import subprocess
import time

import harness
from tracker_csv import (ALLOCATES, COUNTERS, CREATES, DESTROYS, FREES, HEADER, check_against,
                         check_numbers, own_log, read_csv, the_csv)


def csv_to(case, name="tracker.csv", **more):
    return case.tracker(ZEL_SYSTEM_RESOURCE_TRACKER_CSV=name, **more)


@harness.also_on("intel")
def test_sample_session(case):
    bare = case.run(case.program("ze_app"), "--rounds", "2", env=case.levelzero())
    run = case.run(case.program("ze_app"), "--log", "own", "--rounds", "2",
                   env=csv_to(case, "tracker_output.csv"))
    assert (run.status, run.out, run.err) == (0, bare.out, ""), run.err
    path = the_csv(case, run.pid, "tracker_output")
    assert sorted(p.name for p in case.folder.iterdir()) == sorted(["own", path.name])
    assert path.read_bytes().startswith(HEADER.encode() + b"\n1,")
    rows = read_csv(path)
    count = check_against(rows, own_log(case.path("own")))
    assert not count.alive and all(rows[-1][name] == 0 for name in COUNTERS)
    assert all(row["Threads"] == 1 for row in rows)


@harness.also_on("intel")
def test_sample_session_covers_the_documented_functions(case):
    """Every function of the documentation's lists has a row, and each counter has been above 0."""
    run = case.run(case.program("ze_app"), env=csv_to(case))
    rows = read_csv(the_csv(case, run.pid))
    documented = set(CREATES) - {"zeCommandListCreateCloneExp", "zeEventCounterBasedCreate",
                                 "zeImageViewCreateExt", "zexCounterBasedEventCreate",
                                 "zexCounterBasedEventCreate2"}
    documented |= set(DESTROYS) | set(ALLOCATES) | set(FREES) | {"zeCommandListReset"}
    documented |= {"zeCommandListAppend" + name for name in (
        "MemoryCopy", "MemoryFill", "MemoryCopyRegion", "MemoryCopyFromContext", "MemoryPrefetch",
        "MemAdvise", "ImageCopy", "ImageCopyRegion", "ImageCopyToMemory", "ImageCopyFromMemory",
        "Barrier", "MemoryRangesBarrier", "SignalEvent", "WaitOnEvents", "EventReset",
        "LaunchKernel", "LaunchCooperativeKernel", "LaunchKernelIndirect",
        "QueryKernelTimestamps", "WriteGlobalTimestamp")}
    assert not documented - {row["APICall"] for row in rows}
    for name in COUNTERS + ["TotalMemory_Bytes"]:
        assert max(row[name] for row in rows) > 0, name


def test_no_row_includes_memory_of_gputrack(case):
    """Our tables exist before the first row; the stand-in driver allocates only requested memory."""
    for log in ({}, {"ZEL_ENABLE_LOADER_LOGGING": "1", "ZEL_LOADER_LOGGING_LEVEL": "debug",
                     "ZEL_LOADER_LOG_CONSOLE": "1"}):
        run = case.run(case.program("ze_app"), env=csv_to(case, **log))
        assert run.status == 0, run.err
        rows = [row for row in read_csv(the_csv(case, run.pid))
                if row["CallNumber"] > 1 and "Mem" not in row["APICall"]]
        assert len(rows) > 50
        for row in rows:
            # the heap may grow by a step, and the kernel may tell of pages late
            assert row["Delta_VmSize_KB"] < 200 and row["Delta_VmRSS_KB"] < 300, row


@harness.also_on("intel", is_long=True)
def test_csv_names(case):
    """The pid goes before the extension of the file's name, wherever the path has its dots."""
    for folder in ("out.d", "a.b", "sub"):
        case.path(folder).mkdir()
    for asked, expected in (("tracker_output.csv", "tracker_output_pid{}.csv"),
                            ("out.d/tracker", "out.d/tracker_pid{}"),
                            ("./tracker", "tracker_pid{}"),
                            ("a.b/c.d.csv", "a.b/c.d_pid{}.csv"),
                            ("../" + case.folder.name + "/up.txt", "up_pid{}.txt"),
                            (str(case.path("sub/full.csv")), "sub/full_pid{}.csv"),
                            (str(case.path("a.b/full")), "a.b/full_pid{}")):
        run = case.run(case.program("ze_end"), "--log", "own", env=csv_to(case, asked))
        assert run.status == 0 and run.err == ""
        path = case.path(expected.format(run.pid))
        assert path.exists(), (asked, sorted(p.name for p in case.folder.rglob("*")))
        check_against(read_csv(path), own_log(case.path("own")))
        found = [p for p in case.folder.rglob(f"*pid{run.pid}*")]
        assert found == [path], found


@harness.also_on("intel", is_long=True)
def test_csv_is_written_only_on_request(case):
    """Without the checker's variable there is no file; without a file's name there is none either."""
    for env in (csv_to(case, ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER="0"),
                csv_to(case, ZE_ENABLE_VALIDATION_LAYER="0"), case.tracker()):
        run = case.run(case.program("ze_end"), env=env)
        assert (run.status, run.err) == (0, "")
        assert not list(case.folder.iterdir())


@harness.also_on("intel")
def test_csv_and_log_at_once(case):
    run = case.run(case.program("ze_app"), "--log", "own", env=csv_to(
        case, ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOGGING_LEVEL="debug",
        ZEL_LOADER_LOG_CONSOLE="1"))
    rows = read_csv(the_csv(case, run.pid))
    check_against(rows, own_log(case.path("own")))
    assert run.err.count("System Use After Call:") == len(rows)


def test_more_columns(case):
    """At the end, after the documented ones, which stay as they are."""
    run = case.run(case.program("ze_app"), "--log", "own", env=csv_to(case, GPUTRACK_CSV_MORE="1"))
    lines = case.path(f"tracker_pid{run.pid}.csv").read_text().splitlines()
    more = ["OpenFiles", "DeviceMemory_Bytes", "SharedMemory_Bytes", "HostMemory_Bytes"]
    assert lines[0] == ",".join([HEADER] + more + ["DeviceUsed_Bytes", "Residue_KB"])
    rows = read_csv(case.path(f"tracker_pid{run.pid}.csv"))
    check_against(rows, own_log(case.path("own")))
    by_call = {"zeMemAllocDevice": (8192, 0, 0), "zeMemAllocHost": (8192, 0, 8192),
               "zeMemAllocShared": (8192, 8192, 8192)}
    for row in rows:
        assert row["OpenFiles"] > 2
        # what the test driver's Sysman says of its two devices
        assert row["DeviceUsed_Bytes"] == 2 * 123456789
        assert row["TotalMemory_Bytes"] == sum(row[name] for name in more[1:])
        if row["APICall"] in by_call:
            assert tuple(row[name] for name in more[1:]) == by_call[row["APICall"]]
    # an IPC handle holds a descriptor, the log of the program another
    files = {row["APICall"]: row["OpenFiles"] for row in rows}
    assert files["zeMemGetIpcHandle"] == files["zeVirtualMemFree"] + 1


def test_csv_on_a_full_disk(case):
    """The program does not notice; one line says where the CSV ends."""
    if os.geteuid():
        case.skip("only root can make a device that is full; links are not followed")

    def make_full():  # /dev/full under another name
        path = case.path(f"tracker_pid{os.getpid()}.csv")
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        os.utime(path, (0, 0))  # older than the process, or it would be taken for its own
    run = case.run(case.program("ze_app"), env=csv_to(case), preexec=make_full)
    assert (run.status, run.out) == (0, "rounds=1 live=0\n")
    assert len(run.err.splitlines()) == 1 and run.err.startswith("gputrack: "), run.err
    assert "No space left" in run.err


def test_a_pipe_in_place_of_the_csv_does_not_block(case):
    def make_pipe():
        path = case.path(f"tracker_pid{os.getpid()}.csv")
        os.mkfifo(path)
        os.utime(path, (0, 0))
    run = case.run(case.program("ze_app"), env=csv_to(case), preexec=make_pipe, timeout=60)
    assert (run.status, run.out) == (0, "rounds=1 live=0\n")
    assert len(run.err.splitlines()) == 1 and "nobody reads from it" in run.err, run.err


def test_a_csv_that_fails_under_many_writers_is_reported_once(case):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    run = case.run(case.program("ze_threads"), "--threads", 8, "--seconds", 1, env=csv_to(case),
                   preexec=limit, timeout=60)
    assert run.status == 0 and "live=0" in run.out, (run.status, run.out)
    assert len(run.err.splitlines()) == 1 and "CSV ends here" in run.err, run.err
    rows = the_csv(case, run.pid).read_bytes()
    assert len(rows) <= 65536
    numbers = [int(row.split(b",")[0]) for row in rows.split(b"\n")[1:-1]]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 400


def test_our_memory_for_new_threads_is_not_charged_to_the_program(case):
    """By the tracker's own rule a free that raises VmRSS by more than 100 KB is a leak."""
    run = case.gputrack("run", "-q", "-o", "t.gt", "--csv", "t.csv", case.program("ze_turns"),
                        env=case.levelzero())
    assert run.status == 0, run.err
    rows = read_csv(next(case.folder.glob("t_pid*.csv")))
    frees = [row["Delta_VmRSS_KB"] for row in rows if row["APICall"] == "zeMemFree"]
    assert len(frees) == 24 and max(frees) <= 100, frees


@harness.also_on("intel", is_long=True)
def test_csv_that_cannot_be_opened(case):
    bare = case.run(case.program("ze_app"), env=case.levelzero())
    case.path("file").write_text("")
    for name, reason in (("missing/tracker.csv", "No such file"),
                         ("file/tracker.csv", "Not a directory"),
                         ("x" * 300, "File name too long")):
        run = case.run(case.program("ze_app"), env=csv_to(case, name))
        assert (run.status, run.out) == (bare.status, bare.out)
        assert len(run.err.splitlines()) == 1, (name[:20], run.err)
        assert run.err.startswith("gputrack: ") and reason in run.err and "CSV" in run.err, run.err
        assert [p.name for p in case.folder.iterdir()] == ["file"]


def test_csv_with_an_endless_path(case):
    """A path that is too long is a CSV that cannot be opened."""
    run = case.run(case.program("ze_app"), env=csv_to(case, "x/" * 2500))
    assert (run.status, run.out) == (0, "rounds=1 live=0\n")
    assert len(run.err.splitlines()) == 1 and "CSV" in run.err, repr(run.err)


# Ends in the middle: every call that the program knows to have returned has its row.

@harness.also_on("intel")
def test_ends(case):
    for how, status in (("exit", 0), ("_exit", 0), ("abort", -6), ("kill9", -9)):
        run = case.run(case.program("ze_end"), "--how", how, "--log", "own", env=csv_to(case))
        assert run.status == status and run.err == ""
        calls = own_log(case.path("own"))
        count = check_against(read_csv(the_csv(case, run.pid)), calls)
        assert len(calls) == 6 and count.counters()[-1] == 12288


@harness.also_on("intel")
def test_killed_from_outside(case):
    """At any time: every call in the program's own log is on the disk."""
    source = random.Random(3)
    # Intel's makes 2,000 calls a second, ours 40,000
    turns, most = (4, 6000) if case.driver == "ours" else (2, 600)
    for turn in range(turns):
        wanted = source.randrange(50, most)
        log = case.path(f"own{turn}")
        process = subprocess.Popen(
            [case.program("ze_app"), "--rounds", "100000", "--log", str(log)], cwd=case.folder,
            env=dict(os.environ, **csv_to(case)), stdout=subprocess.DEVNULL)
        while not log.exists() or log.stat().st_size < wanted * 50:
            assert process.poll() is None, "it ended by itself"
            time.sleep(0.001)
        process.kill()
        assert process.wait() == -9
        calls = own_log(log)
        rows = read_csv(the_csv(case, process.pid), killed=True)
        check_against(rows, calls, cut=True)
        assert len(rows) > 50


@harness.also_on("intel")
def test_fork(case):
    run = case.run(case.program("ze_end"), "--how", "fork", "--log", "own", env=csv_to(case))
    assert (run.status, run.err) == (0, "")
    files = [p for p in case.folder.glob("tracker_pid*.csv")]
    parent = the_csv(case, run.pid)
    assert len(files) == 2
    child = next(p for p in files if p != parent)
    assert child.read_text().splitlines()[0] == HEADER
    check_against(read_csv(parent), own_log(case.path("own")))
    calls = own_log(case.path("own.child"))
    rows = read_csv(child)
    check_against(rows, calls)
    assert [row["Events"] for row in rows] == [1, 0, 1]
    assert all(row["Contexts"] == 0 and row["TotalMemory_Bytes"] == 0 for row in rows)


@harness.also_on("intel")
def test_fork_of_fork(case):
    """Three generations, one file each; the tracker's descriptors do not accumulate."""
    run = case.run(case.program("ze_foreign"), "--mode", "chain",
                   env=csv_to(case, GPUTRACK_CSV_MORE="1"))
    assert (run.status, run.err) == (0, "")
    files = {}
    for path in case.folder.glob("tracker_pid*.csv"):
        rows = read_csv(path)
        check_numbers(rows)
        assert [row["APICall"] for row in rows] == ["zeContextCreate", "zeContextDestroy"]
        assert [row["Contexts"] for row in rows] == [1, 0]
        files[path.name] = rows[0]["OpenFiles"]
    assert len(files) == 3
    assert len(set(files.values())) == 1, f"open files by generation: {files}"


@harness.also_on("intel")
def test_exec(case):
    """The new program has its own CSV, with a header and counts from zero."""
    run = case.run(case.program("ze_end"), "--how", "exec", "--log", "own", env=csv_to(case))
    assert (run.status, run.err) == (0, "")
    calls = own_log(case.path("own.exec"))
    own = [path for path in case.folder.glob("tracker*.csv")
           if [row["APICall"] for row in read_csv(path)] == [call[0] for call in calls]]
    assert own
    for path in own:
        assert path.read_text().splitlines()[0] == HEADER
    check_against(read_csv(own[-1]), calls)


@harness.also_on("intel")
def test_exec_keeps_rows(case):
    """Rows written before exec are kept: the pid is the same, the calls are not."""
    run = case.run(case.program("ze_end"), "--how", "exec", "--log", "own", env=csv_to(case))
    assert run.status == 0
    calls = len(own_log(case.path("own"))) + len(own_log(case.path("own.exec")))
    rows = sum(len(read_csv(p)) for p in case.folder.glob("tracker*.csv"))
    assert rows == calls, f"{calls} calls returned, {rows} rows are left"


# Threads.

def check_threads(case, threads):
    seconds = 60 if os.environ.get("GPUTRACK_TEST_LONG") else 3 if case.driver == "ours" else 1
    run = case.run(case.program("ze_threads"), "--threads", threads, "--seconds", seconds,
                   env=csv_to(case), timeout=seconds + 60)
    assert run.status == 0 and run.err == "", run.err
    said = dict(word.split("=") for word in run.out.split())
    assert said["live"] == ("0" if case.driver == "ours" else "-1") and int(said["foreign_frees"]) > 0
    made = ended = number = most = 0
    path = the_csv(case, run.pid)
    with open(path, "rb") as lines:
        next(lines)
        size = rss = data = None
        for line in lines:
            fields = line.split(b",")
            assert len(fields) == 22 and line.endswith(b"\n"), line
            api = fields.pop(2)
            row = list(map(int, fields))
            number += 1
            assert row[0] == number, line
            if size is not None:
                assert row[7] == row[2] - size and row[8] == row[3] - rss and row[9] == row[4] - data, line
            size, rss, data = row[2], row[3], row[4]
            assert min(row[10:]) >= 0, line
            most = max(most, row[6])
            if b"Create" in api or b"Alloc" in api:
                made += 1
            elif b"Destroy" in api or b"Free" in api:
                ended += 1
            else:
                assert api == b"zeCommandListAppendBarrier", line
    assert row[10:] == [0] * 11, line
    assert (made, ended) == (int(said["created"]), int(said["destroyed"]))
    assert most == threads + 1
    path.unlink()


@harness.also_on("intel")
def test_4_threads(case):
    check_threads(case, 4)


def test_16_threads(case):
    check_threads(case, 16)


def system_calls(case, env):
    """How many system calls ze_threads makes, by name, and how many tracked calls."""
    run = case.run("strace", "-f", "-c", "-U", "calls,name", "-o", "counts", case.program("ze_threads"),
                   "--threads", "1", "--rounds", "200", env=env)
    assert run.status == 0, run.err
    lines = [line.split() for line in case.path("counts").read_text().splitlines()]
    said = dict(word.split("=") for word in run.out.split())
    return {words[-1]: int(words[0]) for words in lines if words[0].isdigit()}, int(said["created"])


def unasked_malloc(case):
    """A mallinfo2 in another library than malloc: the tracker believes neither, and asks none."""
    case.path("apart.c").write_text("#include <malloc.h>\n"
                                    "struct mallinfo2 mallinfo2(void) { return (struct mallinfo2){ 0 }; }\n")
    made = case.run("cc", "-shared", "-fPIC", "-o", "apart.so", "apart.c")
    assert made.status == 0, made.err
    return {"LD_PRELOAD": str(case.path("apart.so"))}


def test_a_tracked_call_takes_few_system_calls(case):
    """By the clock it is in doc/performance.md. Whether a reading is recent enough to be used again depends
    on the machine: these are the most of each. The original takes 7 for each of 2 to 4 readings."""
    if not shutil.which("strace") or case.run("strace", "-o", "/dev/null", "true").status:
        case.skip("strace is not installed, or may not trace here")
    bare, made = system_calls(case, case.levelzero())
    calls = 2 * made + 200  # each is created and destroyed; appends
    apart, rows = unasked_malloc(case), {"write": 1, "getrlimit": 1}
    # malloc is asked before and after a call, with signals blocked, for a share of the time: of the four masks,
    # how many depends on how quickly this machine answers. Nothing else blocks signals.
    for env, of_row, masks in ((csv_to(case), rows, 4), (case.tracker(), {}, 4),
                               ({**csv_to(case), **apart}, rows, 0), ({**case.tracker(), **apart}, {}, 0)):
        tracked, again = system_calls(case, env)
        assert made == again
        most = {"pread64": 2, "getrusage": 1, "newfstatat": 2, "rt_sigprocmask": masks, **of_row}
        for name in set(tracked) - {"total"}:
            extra = tracked[name] - bare.get(name, 0)
            assert extra <= most.get(name, 0) * calls + 100, (name, extra, calls)


# Loaders with more in them.

def test_two_drivers(case):
    both = case.program("libze_fake.so") + "," + case.program("libze_fake_two.so")
    bare = case.run(case.program("ze_foreign"), "--mode", "drivers",
                    env=case.levelzero(ZE_ENABLE_ALT_DRIVERS=both))
    run = case.run(case.program("ze_foreign"), "--mode", "drivers", "--log", "own",
                   env=csv_to(case, ZE_ENABLE_ALT_DRIVERS=both))
    assert run.out.startswith("drivers=2 ") and run.out.endswith("failed=0\n"), run.out
    assert (run.status, run.out, run.err) == (0, bare.out, "")
    rows = read_csv(the_csv(case, run.pid))
    assert not check_against(rows, own_log(case.path("own")), unlogged=()).alive
    assert max(row["Contexts"] for row in rows) == 4


@harness.also_on("intel")
def test_tracing_layer(case):
    run = case.run(case.program("ze_app"), "--log", "own",
                   env=csv_to(case, ZE_ENABLE_TRACING_LAYER="1"))
    assert (run.status, run.err) == (0, "")
    check_against(read_csv(the_csv(case, run.pid)), own_log(case.path("own")))


# Only what succeeded counts, and only what was seen.

MAKING = ("zeContextCreate zeContextCreateEx zeCommandQueueCreate zeCommandListCreate "
          "zeCommandListCreateImmediate zeModuleCreate zeKernelCreate zeImageCreate "
          "zeImageViewCreateExp zeSamplerCreate zeEventPoolCreate zeEventCreate zeFenceCreate "
          "zeEventPoolGetIpcHandle zeEventPoolOpenIpcHandle zeMemAllocDevice zeMemAllocHost "
          "zeMemAllocShared zeMemGetIpcHandle zeMemOpenIpcHandle zePhysicalMemCreate "
          "zeVirtualMemReserve zeVirtualMemMap zeCommandListAppendBarrier zeCommandListReset").split()
ENDING = ("zeVirtualMemUnmap zeVirtualMemFree zePhysicalMemDestroy zeMemCloseIpcHandle zeMemFree "
          "zeMemFreeExt zeEventPoolCloseIpcHandle zeFenceDestroy zeEventDestroy zeEventPoolDestroy "
          "zeSamplerDestroy zeImageDestroy zeKernelDestroy zeModuleBuildLogDestroy zeModuleDestroy "
          "zeCommandListDestroy zeCommandQueueDestroy zeContextDestroy").split()


def check_failures(case, functions):
    """The first call of each fails and is made again."""
    run = case.run(case.program("ze_foreign"), "--log", "own", env=csv_to(
        case, GT_FAKE_ZE_FAIL=",".join(f + ":1" for f in functions),
        ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOGGING_LEVEL="debug",
        ZEL_LOADER_LOG_CONSOLE="1"))
    assert run.status == 0 and run.out == f"succeeded=47 failed={len(functions)}\n", run.out
    rows = read_csv(the_csv(case, run.pid))
    assert not check_against(rows, own_log(case.path("own")), unlogged=()).alive
    for function in functions:
        assert run.err.count(f"{function}: failed with 0x") == 1, function
    assert "STILL ALIVE" not in run.err and "Count=-" not in run.err


def test_failed_creates(case):
    check_failures(case, MAKING)


def test_failed_destroys(case):
    check_failures(case, ENDING)


def test_destroys_that_keep_failing(case):
    """Objects the driver failed to destroy are alive and reported as such."""
    run = case.run(case.program("ze_foreign"), "--log", "own", env=csv_to(
        case, GT_FAKE_ZE_FAIL="zeMemFree:*,zeEventDestroy:*,zeSamplerDestroy:*",
        ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOG_CONSOLE="1"))
    assert run.out == "succeeded=43 failed=8\n"
    rows = read_csv(the_csv(case, run.pid))
    check_against(rows, own_log(case.path("own")), unlogged=())
    assert (rows[-1]["Events"], rows[-1]["Samplers"], rows[-1]["TotalMemory_Bytes"]) == (1, 1, 12288)
    alive = [line.split("EXIT: ")[1].split()[0] for line in run.err.splitlines()
             if "STILL ALIVE AT EXIT" in line]
    assert sorted(alive) == ["Event", "IpcHandle", "Memory", "Memory", "Sampler"], alive


def test_destroyed_twice(case):
    """Destroyed handles and NULL: the driver refuses, and no count decreases."""
    run = case.run(case.program("ze_foreign"), "--mode", "twice", "--log", "own", env=csv_to(case))
    assert (run.status, run.out, run.err) == (0, "succeeded=47 failed=44\n", "")
    calls = own_log(case.path("own"))
    assert len(calls) == 47
    assert not check_against(read_csv(the_csv(case, run.pid)), calls, unlogged=()).alive


@harness.also_on("intel")
def test_handles_never_seen(case):
    """A child destroys its parent's objects: that succeeds, and its counts stay at zero."""
    run = case.run(case.program("ze_foreign"), "--mode", "child", "--log", "own", env=csv_to(case))
    assert (run.status, run.err) == (0, "")
    parent = the_csv(case, run.pid)
    child = next(p for p in case.folder.glob("tracker_pid*.csv") if p != parent)
    calls = own_log(case.path("own.child"))
    rows = read_csv(child)
    assert not check_against(rows, calls, unlogged=()).alive
    parents = next(i for i, call in enumerate(calls) if "Create" in call[0])
    assert parents == (22 if case.driver == "ours" else 17)
    assert [call[0] for call in calls[:parents]] == [row["APICall"] for row in rows[:parents]]
    for row in rows[:parents]:
        assert not any(row[name] for name in COUNTERS + ["TotalMemory_Bytes"]), row
    assert not check_against(read_csv(parent), own_log(case.path("own")), unlogged=()).alive


@harness.also_on("intel")
def test_sizes_never_seen(case):
    """The log does not invent the size of memory it never saw."""
    run = case.run(case.program("ze_foreign"), "--mode", "child", "--log", "own", env=case.tracker(
        ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOGGING_LEVEL="debug", ZEL_LOADER_LOG_CONSOLE="1"))
    sizes = {int(line.split("size=")[1].split(",")[0]) for line in run.err.splitlines()
             if "size=" in line and "zeMem" in line}
    assert {4096, 8192, 12288} <= sizes and sizes <= {0, 4096, 8192, 12288}, sizes


def test_module_that_does_not_build(case):
    """A failed build or link still returns a log, which is counted until destroyed."""
    run = case.run(case.program("ze_foreign"), "--mode", "broken", "--log", "own", env=csv_to(
        case, ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOGGING_LEVEL="debug",
        ZEL_LOADER_LOG_CONSOLE="1"))
    assert run.out == "succeeded=6 failed=2\n"
    check_against(read_csv(the_csv(case, run.pid)), own_log(case.path("own")))
    lines = [l for l in run.err.splitlines() if "zeModuleBuildLogDestroy" in l]
    assert len(lines) == 2 and all("BuildLog Count=0, " in line for line in lines), lines
    assert "STILL ALIVE" not in run.err
    case.gputrack("run", "-q", "-o", "a.gt", case.program("ze_foreign"), "--mode", "broken",
                  "--log", "own", env=case.levelzero())
    made = [event["function"] for event in case.events("a.gt")
            if event["kind"] == "build log" and event["effect"] == "create"
            and event["outcome"] == "done"]
    assert made == ["zeModuleCreate", "zeModuleDynamicLink"], made
