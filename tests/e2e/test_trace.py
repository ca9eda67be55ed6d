# SPDX-License-Identifier: MIT
"""test_trace.py - the recorder in difficult programs: descriptors, threads, exec."""
import pathlib
import re
import resource
import sys

import harness


def test_recording_continues_when_the_program_closes_every_descriptor(case):
    case.path("files").mkdir()
    done = case.gputrack("run", "-q", "-o", "d.gt", case.program("descriptors"), "--dir", "files",
                         "--files", "64", "--rounds", "20000", env=case.pocl())
    assert done.status == 0 and done.err == "", (done.status, done.err)
    assert done.out == "left 200 of 20000 buffers\n"
    for number in range(64):
        text = case.path(f"files/{number}.txt").read_text()
        lines = len(range(number, 20000, 64))
        assert text == f"file {number}\n" * lines, f"file {number} was changed"
    report = case.report("d.gt", "leakage")
    process, = report["recording"]["processes"]
    assert report["lost"] == 0 and process["state"] == "ended" and process["damage"] is None
    # a create for each buffer and the context, a release for all but those that are left
    assert report["recording"]["events"] == 20001 + 20001 - 200
    assert report["totals"] == {"count": 200, "bytes": 3200}


def test_csv_and_log_are_never_written_into_files_of_the_program(case):
    """The program closes every descriptor, ours included, and opens 700 files."""
    case.path("files").mkdir()
    done = case.gputrack("run", "-q", "-o", "d.gt", "--csv", "t.csv", "--log", "t.log",
                         case.program("descriptors"), "--dir", "files", "--files", "700", "--rounds",
                         "2000", env=case.pocl())
    assert done.status == 0 and done.err == "", (done.status, done.err)
    for number in range(700):
        text = case.path(f"files/{number}.txt").read_text()
        lines = len(range(number, 2000, 700))
        assert text == f"file {number}\n" * lines, f"file {number} was changed"
    csv, = case.folder.glob("t_pid*.csv")
    rows = csv.read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [str(n + 1) for n in range(len(rows))]
    assert len(rows) == 2001 + 2001 - 20
    assert "STILL ALIVE AT EXIT" in case.path("t.log").read_text()


def test_a_thousand_short_threads_lose_nothing(case):
    done = case.gputrack("run", "-q", "-o", "t.gt", case.program("short_threads"), "--threads",
                         "1000", env=case.pocl())
    assert done.status == 0 and done.out == "1000 threads\n" and done.err == "", done.err
    events = case.events("t.gt")
    made = [e for e in events if e["function"] == "clCreateBuffer"]
    assert len(made) == 1000 and len(events) == 2002
    assert len({e["tid"] for e in made}) == 1000
    assert all(e["tid"] != e["pid"] for e in made)
    summary = case.report("t.gt", "summary")
    assert summary["lost"] == 0 and summary["totals"]["count"] == 0
    assert summary["unknown_ends"] == 0 == summary["replaced"]
    # what a thread wrote into is used again when it has ended
    trace, = case.path("t.gt").glob("*.trace")
    assert trace.stat().st_size < 1 << 20, trace.stat().st_size


def run_exec_loop(case):
    done = case.gputrack("run", "-o", "e.gt", case.program("exec_loop"), "--times", "6",
                         env=case.pocl())
    assert done.status == 0 and done.out == "the last one\n", (done.status, done.err)
    return done


def test_every_exec_of_one_process_has_a_trace(case):
    run_exec_loop(case)
    report = case.report("e.gt", "leakage")
    processes = report["recording"]["processes"]
    assert len(processes) == 6 and len({p["pid"] for p in processes}) == 1
    assert len(list(case.path("e.gt").glob("*.trace"))) == 6
    assert report["lost"] == 0 and all(p["damage"] is None for p in processes)
    assert report["totals"] == {"count": 6, "bytes": 21000}
    sizes = [o["bytes"] for g in report["groups"] for o in g["objects"]]
    assert sorted(sizes) == [1000, 2000, 3000, 4000, 5000, 6000]
    starts = [p["start_ns"] for p in processes]
    assert starts == sorted(starts) and processes[-1]["state"] == "ended"
    assert case.report("e.gt", "leakage", "--pid", processes[0]["pid"])["totals"]["count"] == 6


def test_a_process_that_called_exec_is_not_reported_as_killed(case):
    done = run_exec_loop(case)
    assert "was not recorded" not in " ".join(done.err.split()), done.err


def check_signal_calls(case, *more, **env):
    recording = case.path("t.gt" if env else "s.gt")
    done = case.run(case.program("signal_calls"), "--layer", case.build / "libgputrack_opencl.so",
                    *more, env={"GPUTRACK_RECORDING": str(recording), **env}, timeout=60)
    assert done.status == 0 and done.err == "", (done.status, done.err)
    creates, handler = map(int, re.findall(r"\d+", done.out))
    assert handler >= 1000
    summary = case.report(recording, "summary")
    process, = summary["recording"]["processes"]
    assert process["damage"] is None and process["state"] == "ended"
    # what could not be written was counted
    assert summary["recording"]["events"] + summary["lost"] == 2 * creates
    assert summary["lost"] <= 2 * handler
    # whatever the handler lost, the main thread's own events are whole
    assert summary["recording"]["events"] >= 2 * (creates - handler)


def test_calls_in_a_signal_handler_never_deadlock_and_losses_are_counted(case):
    check_signal_calls(case)


def test_calls_in_a_signal_handler_work_with_live_objects_tracked(case):
    check_signal_calls(case, "--track")


def test_calls_in_a_signal_handler_that_interrupted_malloc_do_not_wait_for_it(case):
    check_signal_calls(case, "--malloc")
    check_signal_calls(case, "--malloc", GPUTRACK_CSV=str(case.path("s.csv")), GPUTRACK_LOG=str(case.path("s.log")),
                       GPUTRACK_LOG_LEVEL="debug")


def test_changing_the_directory_does_not_move_the_recording(case):
    case.path("elsewhere").mkdir()
    script = f"cd elsewhere && exec {case.program('killed')} --how return --calls 10"
    done = case.gputrack("run", "-q", "-o", "r.gt", "sh", "-c", script, env=case.pocl())
    assert done.status == 0, done.err
    assert case.report("r.gt", "leakage")["recording"]["events"] == 11
    assert list(case.path("elsewhere").iterdir()) == []


def test_a_recording_can_be_made_without_gputrack_run(case):
    env = case.pocl(OPENCL_LAYERS=str(case.build / "libgputrack_opencl.so"),
                    GPUTRACK_RECORDING="own.gt")
    done = case.run(case.program("killed"), "--how", "kill9", "--calls", "100", env=env)
    assert done.status == -9 and done.err == ""
    report = case.report("own.gt", "leakage")
    assert report["recording"]["events"] == 101 and report["lost"] == 0
    assert report["recording"]["processes"][0]["state"] == "unended"
    assert pathlib.Path(report["recording"]["command"].split()[0]).name == "killed"


def test_a_recording_can_be_read_while_the_program_runs(case):
    process = case.start(case.build / "gputrack", "run", "-q", "-o", "r.gt",
                         case.program("signals"), "--cl", "--wait", env=case.pocl())
    while process.stdout.readline() != b"ready\n":
        assert process.poll() is None, process.communicate()
    report = case.report("r.gt", "summary")
    assert report["recording"]["events"] == 2 and report["totals"]["count"] == 0
    running, = report["recording"]["processes"]
    assert running["state"] == "running" and running["damage"] is None
    assert report["recording"]["exit_status"] is None
    process.terminate()
    assert process.communicate(timeout=60)[0] == b"got SIGTERM\n" and process.returncode == 0
    report = case.report("r.gt", "summary")
    assert report["recording"]["processes"][0]["state"] == "ended"
    assert report["recording"]["exit_status"] == 0


HOLDER = """
import ctypes, sys
cl = ctypes.CDLL("libOpenCL.so.1")
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None) == 0
cl.clCreateContext.restype = ctypes.c_void_p
context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
print("ready", flush=True)
sys.stdin.readline()
"""


def test_resources_of_a_running_program_are_alive_and_not_leaked(case):
    case.path("holder.py").write_text(HOLDER)
    process = case.start(case.build / "gputrack", "run", "-q", "-o", "r.gt", sys.executable,
                         "holder.py", env=case.pocl())
    assert process.stdout.readline() == b"ready\n", process.communicate()
    for analysis in ("summary", "leakage"):
        text = case.gputrack("report", "r.gt", "-a", analysis).out
        assert "\nALIVE  1 resource" in text and "LEAKED" not in text, text
        assert re.search(r"pid \d+ \(python3\S* holder.py\) is still running: this is its state", text), text
        assert "holder.py) is still running: may be in use" in text and "killed" not in text, text
    judged = case.gputrack("report", "r.gt", "--fail-on-leak")
    assert judged.status == 25 and "judge again when it has ended" in " ".join(judged.err.split()), judged.err
    strict = case.gputrack("report", "r.gt", "--fail-on-leak", "--running-is-leak")
    assert strict.status == 23 and "\nLEAKED  1 resource" in strict.out, strict.out
    # the same recording on another machine: nobody can tell
    done = case.run("unshare", "--uts", "sh", "-c",
                    f"echo elsewhere >/proc/sys/kernel/hostname && {case.build}/gputrack report r.gt")
    if done.status == 0:
        assert "\nPERHAPS LEAKED  1 resource" in done.out, done.out
        assert re.search(r"the end of pid \d+ \S+ holder.py\) was not recorded", done.out), done.out
    process.communicate(b"\n", timeout=60)
    text = case.gputrack("report", "r.gt").out
    assert "\nLEAKED  1 resource" in text and "still running" not in text, text


@harness.also_on("intel", is_long=True)
def test_the_next_descriptor_is_the_bare_one(case):
    """Also with few descriptors allowed, with the resource tracker, in threads and children."""
    program = case.program("ze_next_descriptor")
    for limit in (64, 256, 1024, None):
        def allow(limit=limit):
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit or most, most))
        bare = case.run(program, env=case.levelzero(), preexec=allow)
        assert bare.status == 0 and bare.out.count("\n") == 7, (bare.out, bare.err)
        for i, more in enumerate(([], ["--no-stacks"], ["--csv", "t.csv", "--csv-more", "--log", "t.log"])):
            name = f"n{limit}.{i}.gt"
            done = case.gputrack("run", "-q", "-o", name, *more, program, env=case.levelzero(), preexec=allow)
            assert (done.status, done.out, done.err) == (0, bare.out, ""), (limit, more, done.out, done.err)
            assert len([event for event in case.events(name) if event["function"] == "zeEventPoolCreate"]) == 5002


def test_a_kernel_with_larger_pages_gives_the_same_recording(case):
    """Each of the threads has a block of 4 KiB; forks are noticed by a page of their own."""
    def record(name, pages):
        env = case.small_opencl(GT_PAGES=str(pages), LD_PRELOAD=case.program("libgt_pages.so"))
        done = case.gputrack("run", "-q", "-o", name, case.program("short_threads"), "--threads", "300", env=env)
        assert done.status == 0 and done.err == "", done.err
        done = case.gputrack("run", "-q", "-o", f"forks-{name}", case.program("forks"), env=env)
        assert done.status == 0 and done.err == "", done.err
        # read with each of the sizes
        texts = []
        for env["GT_PAGES"] in map(str, sizes):
            texts.append([case.gputrack("report", recording, "-a", analysis, "--format", "tsv", env=env).out
                          for recording in (name, f"forks-{name}") for analysis in ("usage", "memory", "leakage")])
        assert all(texts[0]) and all(text == texts[0] for text in texts), texts
        return len(case.events(name)), len(case.events(f"forks-{name}"))

    sizes = (4096, 16384, 65536)
    counts = [record(f"{pages}.gt", pages) for pages in sizes]
    assert counts[1:] == counts[:-1], counts
