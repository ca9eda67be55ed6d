# SPDX-License-Identifier: MIT
"""test_attach_unseen.py - what attach cannot see is named, with the cause and exit status 24."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from test_attach import Attached, Target, need_root, read_line

ALONE = True

FILES = "-checkpoint_restore,-sys_admin"  # without it, deleted files cannot be opened


def without(case, capabilities, *command):
    if not shutil.which("setpriv"):
        case.skip("no setpriv")
    return case.run("setpriv", f"--bounding-set={capabilities}", "--inh-caps=-all",
                    case.build / "gputrack", *command)


def copy_of_driver(case, folder):
    library = case.program("libcuda.so.1")
    case.path(folder).mkdir()
    return shutil.copy(library, case.path(folder) / "libcuda.so.1")


MEMFD = """
import ctypes, os, sys
fd = os.memfd_create("libcuda.so.1")
os.write(fd, open(sys.argv[1], "rb").read())
cuda = ctypes.CDLL(f"/proc/self/fd/{fd}")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
print("ready", flush=True)
input()
cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(77))
print("done", flush=True)
input()
"""


def refused(case, done, *words):
    """One line, status 24, and no recording that looks as if nothing had happened."""
    assert done.status == 24, (done.status, done.err)
    assert done.err.startswith("gputrack: nothing can be tracked: ") and done.err.count("\n") == 1, done.err
    assert all(word in done.err for word in words), done.err
    assert not case.path("a.gt").exists()


def test_libraries_that_cannot_be_opened_are_named_with_the_cause(case):
    need_root(case)
    target = Target(case)
    refused(case, without(case, "-sys_ptrace", "attach", "-d", "5", "-o", "a.gt", "-p", target.pid),
            f"cannot open {target.library}, which process {target.pid} has loaded", "CAP_SYS_PTRACE")
    target.end()
    # deleted, and a FIFO in its place that nobody writes to: it must not hang either
    gone = copy_of_driver(case, "gone")
    target = Target(case, library=str(gone))
    os.unlink(gone)
    os.mkfifo(gone)
    refused(case, without(case, FILES, "attach", "-d", "5", "-o", "a.gt", "-p", target.pid),
            f"cannot open {gone} (deleted)", "CAP_CHECKPOINT_RESTORE")
    found = without(case, FILES, "doctor", "--json")
    attach = [s for s in json.loads(found.out)["sections"] if s["section"] == "attach"][0]["findings"]
    unopened = [f for f in attach if f["what"] == "loaded libraries"]
    assert [f["finding"] for f in unopened] == ["bad"] and str(gone) in unopened[0]["text"], attach
    # another file in its place is not probed instead
    os.unlink(gone)
    shutil.copy(case.program("libcuda.so.1"), gone)
    refused(case, without(case, FILES, "attach", "-d", "5", "-o", "a.gt", "-p", target.pid), str(gone))
    # with every privilege it is seen
    attached = Attached(case, "-p", target.pid)
    target.tell("a 55")
    assert attached.stop() == 0
    target.end()
    assert [e["bytes"] for e in attached.events()] == [55]


def test_a_library_in_memory_is_recognised(case):
    need_root(case)
    library = copy_of_driver(case, "source")
    program = case.start(sys.executable, "-c", MEMFD, library, bufsize=0)
    assert read_line(program.stdout) == "ready\n"
    refused(case, without(case, FILES, "attach", "-d", "5", "-o", "a.gt", "-p", program.pid),
            "/memfd:libcuda.so.1", "memfd")
    attached = Attached(case, "-p", program.pid)
    program.stdin.write(b"\n")
    assert read_line(program.stdout) == "done\n"
    assert attached.stop() == 0, attached.err
    program.communicate(b"\n", timeout=60)
    assert [e["bytes"] for e in attached.events()] == [77]


def test_a_process_that_never_loads_a_library(case):
    """It is waited for; then the status says that nothing was tracked."""
    need_root(case)
    sleeper = subprocess.Popen(["sleep", "1000"])
    done = case.gputrack("attach", "-q", "-d", "0.2", "-o", "a.gt", "-p", sleeper.pid)
    sleeper.send_signal(signal.SIGKILL)
    sleeper.wait()
    assert done.status == 24, (done.status, done.err)
    assert f"nothing was tracked: process {sleeper.pid} did not load" in done.err, done.err


LINKED = """
#include <stdio.h>
#include <stdlib.h>
typedef unsigned long long handle;
#define KEPT __attribute__((noinline, used))
KEPT int cuMemAlloc_v2(handle *out, size_t size) { *out = (handle)malloc(size); return !*out; }
KEPT int cuMemFree_v2(handle it) { free((void *)it); return 0; }
KEPT int cuStreamCreate(void **out, unsigned flags) { *out = malloc(1 + flags); return 0; }
KEPT int cuStreamDestroy_v2(void *it) { free(it); return 0; }
int main(void)
{
	handle memory;

	while (puts("ready"), fflush(stdout), getchar() == '\\n')
		cuMemAlloc_v2(&memory, 99);
	return 0;
}
"""


def test_a_driver_linked_into_the_program_is_recognised_and_probed(case):
    need_root(case)
    case.path("linked.c").write_text(LINKED)
    for how in ("-static",), ():
        made = case.run("cc", "-O1", *how, "-o", case.path("linked"), case.path("linked.c"))
        if made.status:
            continue  # no static libc here
        program = case.start(case.path("linked"), bufsize=0)
        assert read_line(program.stdout) == "ready\n"
        attached = Attached(case, "-p", program.pid)
        program.stdin.write(b"\n")
        assert read_line(program.stdout) == "ready\n"
        assert attached.stop() == 0, attached.err
        program.communicate(b"q", timeout=60)
        assert f"{case.path('linked')} has CUDA linked into it" in attached.head + attached.err, attached.head
        assert [e["bytes"] for e in attached.events()] == [99]


def test_a_driver_under_another_name(case):
    """It is named by --driver, or --library; its API is found by its functions, or given."""
    need_root(case)
    copy = copy_of_driver(case, "bundled")
    other = case.path("bundled") / "libcuda-bundled.so"
    os.rename(copy, other)
    for option, value in (("--driver", str(other)), ("--driver", f"{other}=cuda"), ("--library", str(other)),
                          ("--library", f"{other}=cuda")):
        target = Target(case, library=str(other))
        # and other patterns of --library stay what they are, a file's too
        attached = Attached(case, "-p", target.pid, option, value, "--library", "/bin/true", "--library", "libc*")
        assert "waiting" not in attached.head, attached.head
        target.tell("a 66")
        assert attached.stop() == 0, attached.err
        target.end()
        assert [e["bytes"] for e in attached.events()] == [66]
    for wrong, word in (("/bin/true", "defines none of the functions"), ("./nothing", "cannot open")):
        done = case.gputrack("attach", "--all", "--driver", wrong)
        assert done.status == 1 and word in done.err and done.err.count("\n") == 1, done.err


def test_scripts_hear_when_recording_begins(case):
    """Also with --quiet, on a descriptor of theirs; and the first line says what the ring bears."""
    need_root(case)
    target = Target(case)
    ready, told = os.pipe()
    process = subprocess.Popen([case.build / "gputrack", "attach", "-q", "-i", "0", "-o", "a.gt", "-p",
                                str(target.pid), "--ready-fd", str(told)], pass_fds=[told],
                               cwd=case.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(told)
    assert os.read(ready, 100) == b"ready\n" and os.read(ready, 1) == b""
    os.close(ready)
    target.tell("a 88")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out == err == b"", (out, err)
    assert [e["bytes"] for e in case.events("a.gt")] == [88]
    held = {}
    for unwind in "fp", "dwarf":
        attached = Attached(case, "-p", target.pid, "--unwind", unwind)
        attached.stop()
        held[unwind] = int(re.search(r"bursts of about ([\d,]+) calls", attached.head).group(1).replace(",", ""))
    target.end()
    assert held["fp"] > held["dwarf"] > 1000, held


HIDDEN_LOADER = """
import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
input()
"""


def test_a_driver_whose_loader_cannot_be_seen(case):
    """As in a program without symbols that has the loader linked into it: the driver says that there must be one."""
    need_root(case)
    driver = case.build / "tests/fake/opencl/libcl_fake.so"
    if not driver.exists():
        case.skip("the stand-in OpenCL driver is not built")
    named = shutil.copy(driver, case.path("libpocl.so.2"))
    program = case.start(sys.executable, "-c", HIDDEN_LOADER, named, bufsize=0)
    assert read_line(program.stdout) == "ready\n"
    why = f"process {program.pid} has loaded {named}, a driver of OpenCL, but not libOpenCL.so"
    attached = Attached(case, "-p", program.pid)
    assert attached.stop() == 24, attached.err
    assert why in attached.head and f"nothing was tracked: {why}" in attached.err, (attached.head, attached.err)
    attached = Attached(case, "-p", program.pid, "--api", "cuda")
    assert attached.stop() == 24 and "libpocl" not in attached.head + attached.err, attached.err
    program.communicate(b"\n", timeout=60)
