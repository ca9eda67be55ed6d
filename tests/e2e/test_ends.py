# SPDX-License-Identifier: MIT
"""test_ends.py - how each process ended, as `gputrack run` and `gputrack attach` record it."""
import gzip
import os
import re
import signal

import harness
import pages

# how of the program `killed` -> (end, exit status, signal)
WAYS = {
    "return": ("exit", 0, None),
    "exit": ("exit", 0, None),
    "_exit": ("quick_exit", 0, None),
    "quick_exit": ("quick_exit", 0, None),
    "abort": ("signal", None, signal.SIGABRT),
    "segv": ("signal", None, signal.SIGSEGV),
    "term": ("signal", None, signal.SIGTERM),
    "kill9": ("signal", None, signal.SIGKILL),
}

# A parent that reaps each child at once, without a word about it.
REAPER = r"""
import os, random, subprocess, sys, threading, time
count, program = int(sys.argv[1]), sys.argv[2:]
random.seed(7)
def one(i):
    log = f"log{i}"
    child = subprocess.Popen(program + ["--log", log], stdout=subprocess.DEVNULL)
    if i % 8 > 4:  # these have made a call, however slow the machine is
        while child.poll() is None and not (os.path.exists(log) and os.path.getsize(log)):
            time.sleep(0.001)
    if i % 4:
        time.sleep(random.random() * 0.4)
        child.send_signal(9 if i % 2 else 15)
    os.write(1, f"{child.pid} {child.wait()}\n".encode())
for first in range(0, count, 8):
    threads = [threading.Thread(target=one, args=(first + k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def ends_of(case, recording):
    """The end, exit status and signal of each process, by pid; several for one that execs."""
    found = {}
    for process in case.report(recording, "leakage")["recording"]["processes"]:
        found.setdefault(process["pid"], []).append(
            (process["end"], process["exit_status"], process["signal"]))
    return found


def only_end(case, recording):
    (ends,) = ends_of(case, recording).values()
    assert len(ends) == 1, ends
    return ends[0]


def test_every_way_to_end_is_told(case):
    """Of gputrack's own child, and of a grandchild whose parent reaps it at once."""
    for how, wanted in WAYS.items():
        program = [case.program("killed"), "--how", how, "--calls", "20", "--log", "log"]
        case.gputrack("run", "-q", "-o", f"{how}.gt", *program, env=case.pocl(),
                      preexec=harness.no_cores)
        assert only_end(case, f"{how}.gt") == wanted, how
        script = " ".join(program) + "; true"
        case.gputrack("run", "-q", "-o", f"sh-{how}.gt", "sh", "-c", script, env=case.pocl(),
                      preexec=harness.no_cores)
        assert only_end(case, f"sh-{how}.gt") == wanted, f"{how} in a shell"


def test_an_exit_status_is_told(case):
    for way, end in (("sys.exit(3)", "exit"), ("os._exit(3)", "quick_exit")):
        case.path("p.py").write_text(f"import ctypes, os, sys\n{CONTEXT}\n{way}\n")
        case.gputrack("run", "-q", "-o", f"{end}.gt", "python3", "p.py", env=case.pocl())
        assert only_end(case, f"{end}.gt") == (end, 3, None)


CONTEXT = r"""
cl = ctypes.CDLL("libOpenCL.so.1")
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None)
cl.clCreateContext.restype = ctypes.c_void_p
cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
"""


def test_exec_is_no_end_by_itself(case):
    """The next program may be killed, which says nothing of the one before it."""
    case.path("p.py").write_text(
        f"import ctypes, os\n{CONTEXT}\nos.execlp('sh', 'sh', '-c', 'sleep 0.5; kill -9 $$')\n")
    case.gputrack("run", "-q", "-o", "a.gt", "python3", "p.py", env=case.pocl())
    assert only_end(case, "a.gt") == ("exec", None, None)
    case.path("p.py").write_text(
        f"import ctypes, os\n{CONTEXT}\nos.execlp('{case.program('killed')}', 'killed', '--how', "
        "'term', '--calls', '20', '--log', 'log')\n")
    case.gputrack("run", "-q", "-o", "b.gt", "python3", "p.py", env=case.pocl())
    (ends,) = ends_of(case, "b.gt").values()
    assert ends == [("exec", None, None), ("signal", None, 15)], ends


def test_a_parent_whose_child_still_has_its_trace_is_told(case):
    """The kernel closes the trace only when the child is gone."""
    case.path("p.py").write_text(
        f"import ctypes, os, time\n{CONTEXT}\nif os.fork() == 0:\n    time.sleep(1)\n    os._exit(0)\n"
        "os.kill(os.getpid(), 9)\n")
    case.gputrack("run", "-q", "-o", "a.gt", "sh", "-c", "python3 p.py; sleep 2",
                  env=case.pocl(), preexec=harness.no_cores)
    assert only_end(case, "a.gt") == ("signal", None, 9)


def test_of_200_short_lived_children_none_is_told_wrongly(case):
    case.path("reap.py").write_text(REAPER)
    done = case.gputrack("run", "-q", "-o", "a.gt", "python3", "reap.py", "200",
                         case.program("killed"), "--how", "return", "--calls", "20000",
                         env=case.pocl(), timeout=300)
    statuses = {int(pid): int(status) for pid, status in map(str.split, done.out.splitlines())}
    assert len(statuses) == 200, done.err
    told = unknown = 0
    for pid, ends in ends_of(case, "a.gt").items():
        (end, status, number), = ends
        unknown += end == "unknown"
        if end == "unknown":
            continue
        told += 1
        if statuses[pid] < 0:
            assert (end, number) == ("signal", -statuses[pid]), (pid, ends, statuses[pid])
        else:
            assert end == "exit" and status in (None, statuses[pid]), (pid, ends, statuses[pid])
    print(f"    {told} children told, {unknown} unknown, {200 - told - unknown} without a trace")
    assert told > 50, told


@harness.also_on("intel")
def test_a_process_that_ends_while_the_tool_cannot_look_is_told(case):
    """It has sent a descriptor of itself, which outlives it; Linux 6.15 has the status for that."""
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 15):
        case.skip("the kernel does not tell the status of a process that was waited for")
    for how, wanted in ("kill", ("signal", None, 9)), ("_exit", ("quick_exit", 0, None)):
        # $PPID is the tool: it is stopped until the program's parent has waited for it
        case.gputrack("run", "-q", "-o", f"{how}.gt", "sh", "-c",
                      f'kill -STOP $PPID; "$0" {how} leak; kill -CONT $PPID', case.program("endings"),
                      env=case.levelzero(), preexec=harness.no_cores)
        assert only_end(case, f"{how}.gt") == wanted, how


def test_every_view_can_count_what_was_alive_when_killed_as_leaked(case):
    """Page, exports and pictures as reports do."""
    case.gputrack("run", "-q", "-o", "k.gt", case.program("odd_opencl"), "killed",
                  env=case.small_opencl(ODD_COUNTS=str(counts(case))))
    for options, leaked in ((), 0), (("--killed-is-leak",), 1):
        done = case.gputrack("export", "k.gt", "--format", "prometheus", *options)
        assert f'gputrack_leaked_resources{{api="opencl",kind="context"}} {leaked}\n' in done.out, done.out
        done = case.gputrack("export", "k.gt", "--format", "chrome", *options)
        assert ('"fate": "leaked"' in done.out) == bool(leaked), done.out
        done = case.gputrack("export", "k.gt", "--format", "pprof", "-o", "k.pb.gz", *options)
        text = gzip.decompress(case.path("k.pb.gz").read_bytes())
        assert (b"leaked" in text) == bool(leaked)
        done = case.gputrack("plot", "k.gt", "-o", "k.txt", *options)
        assert ("when killed" in case.path("k.txt").read_text() + done.out) == (not leaked), done.out
        done = case.gputrack("html", "k.gt", "-o", "k.html", *options)
        if "built without" not in done.err:
            assert pages.data_of(case.path("k.html"))["sets"][0]["leaked"] == leaked
    refused = case.gputrack("export", "k.gt", "--format", "tsv", "--killed-is-leak")
    assert refused.status == 2 and "has no effect here" in refused.err, refused.err


def counts(case):
    path = case.path("counts")
    path.write_bytes(bytes(8200))
    return path
