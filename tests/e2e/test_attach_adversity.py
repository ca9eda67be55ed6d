# SPDX-License-Identifier: MIT
"""test_attach_adversity.py - unusual processes, all followed at once: no call of theirs is missing."""
import pathlib
import re
import shutil
import signal
import subprocess

from test_attach import Attached, functions_of, need_root, read_line, tell

ALONE = True

THREADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define N 500
static int (*init)(unsigned), (*create)(void **, unsigned, int), (*set)(void *);
static int (*allocate)(uint64_t *, size_t);
static void *context;
static void *run(void *size)
{
	uint64_t handle;

	set(context);
	return (void *)(uintptr_t)allocate(&handle, (size_t)size);
}
int main(int argc, char **argv)
{
	/* a copy of its own, in a namespace of its own */
	void *cuda = dlmopen(LM_ID_NEWLM, argv[argc - 1], RTLD_NOW);
	pthread_t threads[N];

	if (!cuda || !(init = dlsym(cuda, "cuInit")) || !(create = dlsym(cuda, "cuCtxCreate_v2")))
		return 1;
	set = dlsym(cuda, "cuCtxSetCurrent");
	allocate = dlsym(cuda, "cuMemAlloc_v2");
	if (init(0) || create(&context, 0, 0))
		return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	for (size_t i = 0; i < N; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(1000 + i)))
			return 1;
	for (size_t i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
"""


def start(case, *command):
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, bufsize=0, cwd=case.folder)
    assert read_line(process.stdout) == "ready\n", command
    return process


def chroot(case, library):
    """A folder with all that the program needs."""
    root = case.path("root")
    for file in [case.program("attach_target"), library] + re.findall(
            r"(/\S+)", subprocess.run(["ldd", case.program("attach_target"), library], check=True,
                                      capture_output=True, text=True).stdout):
        file = pathlib.Path(str(file).rstrip(":"))
        (root / str(file).lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / str(file).lstrip("/"))
    return root


def child_of(process):
    """The program that strace or unshare runs."""
    return int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def test_unusual_processes_together(case):
    need_root(case)
    library, target = case.program("libcuda.so.1"), case.program("attach_target")
    case.path("threads.c").write_text(THREADS)
    made = case.run("cc", "-g", "-O1", "-pthread", "-o", "threads", "threads.c", "-ldl")
    assert made.status == 0, made.err
    crowd = start(case, case.path("threads"), library)
    bare = {"chroot": start(case, "chroot", chroot(case, library), target, library)}
    if shutil.which("strace") and not case.run("strace", "-o", "/dev/null", "true").status:
        bare["strace"] = start(case, "strace", "-f", "-o", "/dev/null", target, library)
    for i in range(3):
        if not case.run("unshare", "--pid", "--fork", "--mount-proc", "true").status:
            bare[f"pid 1, number {i}"] = start(case, "unshare", "--pid", "--fork", "--mount-proc", target,
                                               library)
    if shutil.which("gdb"):
        bare["gdb"] = start(case, target, library)
    attached = Attached(case, "-p", ",".join(str(p.pid) for p in [crowd, *bare.values()]))
    if "gdb" in bare:  # it stops the process and looks around, and leaves it
        case.run("gdb", "-p", bare["gdb"].pid, "-batch", "-ex", "info threads")
    wanted = {}
    for number, (name, process) in enumerate(bare.items()):
        tell(process, f"a {number + 1}".encode())
        pid = process.pid if name in ("chroot", "gdb") else child_of(process)
        wanted[pid] = (name, number + 1)
    assert tell(crowd, b"").strip() == "done"
    assert attached.stop() == 0, attached.err
    allocated = [e for e in attached.events() if e["function"] == "cuMemAlloc_v2"]
    assert sorted(e["bytes"] for e in allocated if e["pid"] == crowd.pid) == list(range(1000, 1500))
    assert len({e["tid"] for e in allocated if e["pid"] == crowd.pid}) == 500
    for pid, (name, size) in wanted.items():
        events = [e for e in allocated if e["pid"] == pid]
        assert [e["bytes"] for e in events] == [size], (name, pid, events)
        assert functions_of(events[0])[:3] == ["allocate_here", "middle", "outer"], (name, events)
    crowd.communicate(b"\n", timeout=60)
    for process in bare.values():
        process.communicate(b"q\n", timeout=60)
