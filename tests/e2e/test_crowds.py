# SPDX-License-Identifier: MIT
"""test_crowds.py - threads, forks and exits that are hard for a recorder."""
import shutil
import signal

import harness

LOADER = r"""
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>

cl_context the_context;

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	const char *error;

	clGetPlatformIDs(1, &platform, NULL);
	clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	the_context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	dlopen("./nothing.so", RTLD_NOW);
	clCreateUserEvent(the_context, NULL);
	error = dlerror();
	printf("%s\n", error ? error : "none");
	return !dlopen("./plugin.so", RTLD_NOW);
}
"""
# The thread that loads it holds the loader's lock and waits for one that calls.
PLUGIN = r"""
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

extern cl_context the_context;

static void *work(void *unused)
{
	clCreateUserEvent(the_context, NULL);
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	struct timespec second = { .tv_sec = 1, .tv_nsec = 100000000 };
	pthread_t thread;

	nanosleep(&second, NULL); /* whatever we look for once a second is due */
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
}
"""


def crowd(case, *options, env=None):
    recording = case.path("c.gt")
    done = case.run(case.program("crowd"), "--layer", case.build / "libgputrack_opencl.so", *options,
                    env={"GPUTRACK_RECORDING": str(recording), **(env or {})}, timeout=120)
    if done.status == 77:
        case.skip(done.err.strip())
    assert done.status == 0 and done.err == "", (done.status, done.err)
    return int(done.out.split()[1]), case.report(recording, "summary")


def test_children_forked_while_threads_record_have_their_own_events(case):
    made, summary = crowd(case, "--forks", "60")
    processes = summary["recording"]["processes"]
    assert len(processes) == 61 and all(p["damage"] is None for p in processes)
    assert summary["lost"] == 0
    assert summary["recording"]["events"] == 2 * made + 60 * 3, (made, summary["recording"]["events"])
    assert summary["totals"]["count"] == 60 * 3
    leaks = case.report("c.gt", "leakage")
    assert sum(len(g["objects"]) for g in leaks["groups"]) == 180
    assert len({o["pid"] for g in leaks["groups"] for o in g["objects"]}) == 60


def test_calls_during_library_loading_do_not_hang(case):
    compiler = shutil.which("cc") or case.skip("there is no compiler")
    for name, text, how in (("loader", LOADER, ["-rdynamic"]), ("plugin.so", PLUGIN, ["-shared", "-fPIC"])):
        case.path(name + ".c").write_text(text)
        made = case.run(compiler, *how, "-pthread", "-o", case.path(name), case.path(name + ".c"), "-lOpenCL")
        if made.status:
            case.skip("OpenCL programs cannot be compiled here")
    done = case.gputrack("run", "-q", "-o", "l.gt", "./loader", env=case.pocl(), timeout=60)
    assert done.status == 0, (done.status, done.err)
    assert "./nothing.so" in done.out, done.out  # the program's own error
    assert case.report("l.gt", "summary")["totals"]["count"] == 3


def test_a_thousand_threads_record_at_once(case):
    made, summary = crowd(case, "--threads", "1000")
    assert made == 1000 and summary["lost"] == 0
    assert summary["recording"]["events"] == 2000 and summary["totals"]["count"] == 0
    events = case.events("c.gt")
    assert len({e["tid"] for e in events}) == 1000


def test_calls_are_not_cancellation_points(case):
    """Our system calls would be, and a thread cancelled in one would keep its locks for ever."""
    outputs = {"GPUTRACK_CSV": str(case.path("c.csv")), "GPUTRACK_LOG": str(case.path("c.log"))}
    made, summary = crowd(case, "--cancels", "60", env=outputs)
    assert summary["recording"]["events"] == 2 * made and summary["lost"] == 0
    assert summary["totals"]["count"] == 0
    rows = next(case.folder.glob("c_pid*.csv")).read_text().splitlines()
    assert len(rows) == 1 + 2 * made, (len(rows), made)


def test_calls_in_children_of_vfork_do_no_harm(case):
    """Such a child shares its parent's memory, so its calls cannot be attributed."""
    made, summary = crowd(case, "--vforks", "30")
    assert summary["totals"]["count"] == 0
    events = summary["recording"]["events"] + summary["lost"]
    assert 2 * made <= events <= 4 * made, (made, events)
    assert all(p["damage"] is None for p in summary["recording"]["processes"])


def test_a_program_that_ends_in_a_callback_ends_as_usual(case):
    for how, status in (("exit", 5), ("_exit", 5), ("kill", -signal.SIGKILL)):
        program = [case.program("callback_exit"), "--how", how]
        bare = case.run(*program, env=case.pocl(), timeout=60)
        done = case.gputrack("run", "-q", "-o", "x.gt", *program, env=case.pocl(), timeout=60)
        assert bare.status == done.status == status, (how, bare.status, done.status, done.err)
        leaks = case.report("x.gt", "leakage")
        buffers = [g for g in leaks["groups"] if g["kind"] == "buffer"]
        assert sum(g["bytes"] for g in buffers) == 3000, (how, buffers)


@harness.also_on("intel")
def test_a_driver_loaded_again_is_tracked_again(case):
    program = case.program("ze_reload")
    bare = case.run(program, "4", env=case.levelzero())
    done = case.gputrack("run", "-q", "-o", "l.gt", program, "4", env=case.levelzero())
    assert (done.status, done.out) == (bare.status, bare.out) == (7, "done\n"), (bare.err, done.err)
    events = case.events("l.gt")
    sizes = [e["bytes"] for e in events if e["function"] == "zeMemAllocDevice"]
    assert sizes == [1000, 2000, 3000, 4000], sizes
