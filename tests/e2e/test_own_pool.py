# SPDX-License-Identifier: MIT
"""A program's own pool, told by gputrack/pool.h: blocks are counted inside the driver's segments."""
import ctypes.util
import os
import platform
import re
import shutil
import sys


SEGMENT = 1 << 20
MASM = ["-masm=intel"] if platform.machine() == "x86_64" else []

# The rest of the program around the example in doc/pools.md.
PROGRAM = r"""
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef DRIVER
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#endif

static __attribute__((noinline)) void keep(void)
{
	arena_alloc(1000);
	__asm__ volatile("");
}

static __attribute__((noinline)) void lend(void)
{
	arena_free(arena_alloc(3000));
	__asm__ volatile("");
}

#ifdef DRIVER
static void *call(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW);
	return dlsym(driver, name);
}

static void take_segment(void)
{
	int (*init)(unsigned) = (int (*)(unsigned))call("cuInit");
	int (*create)(void **, unsigned, int) = (int (*)(void **, unsigned, int))call("cuCtxCreate_v2");
	int (*alloc)(char **, size_t) = (int (*)(char **, size_t))call("cuMemAlloc_v2");
	void *context;

	if (init(0) || create(&context, 0, 0) || alloc(&segment, 1 << 20))
		exit(3);
}

static void *many(void *own)
{
	for (int i = 0; i < 500; i++) {
		gputrack_pool_block("threads", own, 64, 0);
		gputrack_pool_end("threads", own);
	}
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, many, segment + (1 << 19) + i * 256);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void in_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		gputrack_pool_block("child", segment + (1 << 19), 777, 0);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
}
#else
static void take_segment(void)
{
	segment = (char *)malloc(1 << 20);
}

static void in_threads(void)
{
}

static void in_child(void)
{
}
#endif

int main(void)
{
	static char elsewhere[4096];
	char name[300];

	take_segment();
	errno = 99;
	for (int i = 0; i < 40; i++) {
		keep();
		lend();
	}
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	gputrack_pool_block(name, segment + (1 << 18), 5000, 0);
	gputrack_pool_block(NULL, elsewhere, 96, 0);    /* in memory that no driver gave out */
	gputrack_pool_block(NULL, elsewhere + 96, 1, -1); /* main memory: not recorded */
	gputrack_pool_block("null", NULL, 96, 0);
	gputrack_pool_end(NULL, NULL);
	in_threads();
	printf("errno %d\n", errno);
	fflush(stdout);
	in_child();
	return 0;
}
"""


def example(case, language="c"):
    text = (case.source / "doc/pools.md").read_text()
    return re.search(rf"```{language}\n(.*?)```", text, re.S).group(1)


def build(case, name, compiler, *flags, suffix=".c"):
    source, program = case.path(name + suffix), case.path(name)
    source.write_text("#define _GNU_SOURCE\n" * (suffix == ".c") + example(case) + PROGRAM)
    done = case.run(compiler, "-o", program, source, "-I", case.source / "include", "-g", "-O1", "-Wall", "-Wextra", "-Werror",
                    *flags)
    assert done.status == 0, done.err
    return str(program)


def check(case, recording):
    """All of what PROGRAM kept, and nothing twice."""
    groups = case.report(recording, "leakage")["groups"]
    assert {g["kind"] for g in groups} == {"context", "pool block"} and len(groups) == 5, groups
    blocks = sorted((g["bytes"], g["count"]) for g in groups if g["kind"] == "pool block")
    assert blocks == [(96, 1), (777, 1), (5000, 1), (40000, 40)], blocks
    kept = next(g for g in groups if g["count"] == 40)
    assert kept["api"] == "pool", kept
    functions = [frame["function"] for frame in kept["stack"]]
    assert functions[:1] == ["arena_alloc"] and "keep" in functions, functions
    peak = case.report(recording, "watermark")
    assert peak["totals"]["bytes"] == SEGMENT + 96 + 777 == sum(g["bytes"] for g in peak["groups"]), peak["totals"]
    assert {g["kind"] for g in peak["groups"]} == {"pool block", "cache segment"}, peak["groups"]


def test_blocks_are_the_leak_and_the_segment_is_counted_once(case):
    env = case.cuda_preloaded()
    fixed = ("-fno-pie", "-no-pie")
    ways = [("pie", ()), ("fixed", fixed), ("lazy", ("-O0", "-Wl,-z,lazy"))]
    ways += [(linker, (f"-fuse-ld={linker}", *fixed)) for linker in ("gold", "lld") if shutil.which(f"ld.{linker}")]
    for name, flags in ways:
        program = build(case, name, "cc", "-DDRIVER", "-pthread", *flags)
        bare = case.run(program, env=env)
        assert (bare.out, bare.status) == ("errno 99\nchild 0\n", 0), bare
        traced = case.gputrack("run", "-q", "-o", f"{name}.gt", program, env=env)
        assert (traced.out, traced.err, traced.status) == (bare.out, bare.err, 0), (name, traced.out, traced.err)
        check(case, f"{name}.gt")
    events = [e for e in case.events("pie.gt") if e["api"] == "pool"]
    assert "before tracking began" not in case.gputrack("report", "pie.gt").out
    ends = [e for e in events if e["function"] == "gputrack_pool_end"]
    assert len(ends) == 40 + 2000 and len(events) == len(ends) * 2 + 43, (len(ends), len(events))


def test_pool_names_and_pools_none(case):
    env = case.cuda_preloaded()
    program = build(case, "named", "cc", "-DDRIVER", "-pthread")
    case.gputrack("run", "-q", "-o", "a.gt", program, env=env)
    text = case.gputrack("report", "a.gt", "-a", "leakage").out
    assert "arena" in text and "n" * 63 in text and "n" * 64 not in text, text
    assert "PyTorch" not in text, text
    case.gputrack("run", "-q", "--pools", "none", "-o", "b.gt", program, env=env)
    assert not [e for e in case.events("b.gt") if e["api"] == "pool"]


def test_it_links_alone(case):
    """With no library of ours, by each compiler and linker that is here, and static, too."""
    ways = [("cc", ()), ("cc", ("-fno-pie", "-no-pie")), ("cc", ("-O0",)), ("cc", ("-flto", *MASM)),
            ("cc", ("-std=c99", "-pedantic"))]
    if ctypes.util.find_library("c") and case.run("cc", "-print-file-name=libc.a").out.strip() != "libc.a":
        ways.append(("cc", ("-static",)))
    if shutil.which("clang"):
        ways.append(("clang", ("-pedantic",)))
        if shutil.which("ld.lld"):
            ways.append(("clang", ("-fuse-ld=lld",)))
    for i, (compiler, flags) in enumerate(ways):
        done = case.run(build(case, f"alone{i}", compiler, *flags))
        assert (done.out, done.status) == ("errno 99\n", 0), (compiler, flags, done)
    if shutil.which("c++"):
        program = build(case, "plus", "c++", "-std=c++11", "-pedantic", suffix=".cpp")
        assert case.run(program).out == "errno 99\n"


PYTHON = """
import ctypes, sys
import gputrack_pool
segment = int(sys.argv[1], 0)
def keep(i):
    gputrack_pool.block("kept", segment + i * 256, 200, 0)
for i in range(10):
    keep(i)
for i in range(3):
    gputrack_pool.end("kept", segment + i * 256)
gputrack_pool.block(None, segment + 100 * 256, 9)
gputrack_pool.end(None, segment + 100 * 256)
print("done")
"""


def test_the_python_module(case):
    env = dict(case.cuda_preloaded(), PYTHONPATH=str(case.build), PYTHONDONTWRITEBYTECODE="1")
    script = case.path("pool.py")
    script.write_text(PYTHON)
    assert case.run(sys.executable, script, "0x7000000", env=env).out == "done\n"
    done = case.gputrack("run", "-q", "-o", "a.gt", sys.executable, str(script), "0x7000000", env=env)
    assert (done.out, done.err) == ("done\n", ""), done.err
    groups = case.report("a.gt", "leakage")["groups"]
    assert [(g["kind"], g["count"], g["bytes"]) for g in groups] == [("pool block", 7, 1400)], groups
    assert ("pool.py", 6) in {(os.path.basename(f["file"] or ""), f["line"]) for f in groups[0]["stack"]}, groups[0]["stack"]
    assert "keep pool.py:6" in case.gputrack("report", "a.gt").out
    # without a driver it must be asked for
    del env["LD_LIBRARY_PATH"]
    case.gputrack("run", "-q", "--pools", "gpu", "-o", "b.gt", sys.executable, str(script), "0x7000000", env=env)
    assert len([e for e in case.events("b.gt") if e["api"] == "pool"]) == 15
    # what the document says
    script.write_text("address, size = 4096, 10\n" + example(case, "python") + "print('done')\n")
    assert case.run(sys.executable, script, env=env).out == "done\n"


def nvtx_blocks(groups):
    return sorted((g["bytes"], g["count"]) for g in groups if g["kind"] == "pool block")


def test_regions_of_nvtx_are_blocks_of_a_pool(case):
    """Of heaps that are sub-allocators of device memory; ended by address, by handle and with their heap."""
    environment = case.cuda_preloaded()
    program = case.build / "tests/e2e/programs/nvtx_pool"
    if not program.exists():
        case.skip("NVTX's header for memory is not installed")
    assert case.run(program, env=environment).out == "done\n"
    done = case.gputrack("run", "-q", "-o", "a.gt", str(program), env=environment)
    assert (done.out, done.err) == ("done\n", ""), done.err
    groups = case.report("a.gt", "leakage")["groups"]
    left = [(77, 1), (6000, 6), (20000, 1), (65536, 1)]
    assert nvtx_blocks(groups) == left, groups
    assert "keep" in [frame["function"] for frame in groups[-1]["stack"]], groups
    assert not [frame for group in groups for frame in group["stack"] if "nvtx" in (frame["function"] or "")], groups
    names = {block["name"] for group in groups for block in group["objects"]}
    assert names == {"arena", "scratch"}, names
    assert sum(g["bytes"] for g in case.report("a.gt", "watermark")["groups"]) == SEGMENT
    # with the heap, everything in it
    case.gputrack("run", "-q", "-o", "b.gt", str(program), env=dict(environment, UNREGISTER="1"))
    assert [g["bytes"] for g in case.report("b.gt", "leakage")["groups"] if g["kind"] == "pool block"] == [77]
    # another tool, with handles of its own
    environment["NVTX_INJECTION64_PATH"] = str(program.with_name("nvtx_tool.so"))
    case.run(program, env=environment)
    told = case.path("tool.txt").read_text()
    assert "regions(3)" in told and "unregister(mine)" in told and "wrong" not in told, told
    case.gputrack("run", "-q", "-o", "d.gt", str(program), env=environment)
    assert case.path("tool.txt").read_text() == told, case.path("tool.txt").read_text()
    assert nvtx_blocks(case.report("d.gt", "leakage")["groups"]) == left
    case.gputrack("run", "-q", "-o", "c.gt", "--pools", "none", str(program), env=environment)
    assert not [e for e in case.events("c.gt") if "pool" in e["function"]]


# CuPy's and RMM's documented interfaces, over the stand-in driver.
CUPY = """
import threading
hooks = threading.local()
class MemoryHook:
    def __enter__(self):
        known = hooks.__dict__.setdefault("known", {})
        assert self.name not in known
        known[self.name] = self
    def alloc_preprocess(self, **kwargs): pass
    alloc_postprocess = malloc_preprocess = malloc_postprocess = free_preprocess = free_postprocess = alloc_preprocess
def malloc(ptr, size):
    for hook in getattr(hooks, "known", {}).values():
        hook.malloc_preprocess(device_id=0, size=size, mem_size=size)
    for hook in getattr(hooks, "known", {}).values():
        hook.malloc_postprocess(device_id=0, size=size, mem_size=-(-size // 512) * 512, mem_ptr=ptr, pmem_id=1)
def free(ptr, size):
    for hook in getattr(hooks, "known", {}).values():
        hook.free_preprocess(device_id=0, mem_size=size, mem_ptr=ptr, pmem_id=1)
"""
RMM = """
class Pool:
    def __init__(self, segment): self.next = segment
    def allocate(self, nbytes, stream=None):
        self.next += 4096
        return self.next
    def deallocate(self, ptr, nbytes, stream=None): pass
class CallbackMemoryResource:
    def __init__(self, allocate_func, deallocate_func):
        self.allocate, self.deallocate = allocate_func, deallocate_func
resource = None
def get_current_device_resource(): return resource
def set_current_device_resource(mr):
    global resource
    resource = mr
"""
PYTHON_POOLS = """
import ctypes, threading
import cupy.cuda, gputrack_pool, rmm.mr
cuda = ctypes.CDLL("libcuda.so.1")
segment, context = ctypes.c_void_p(), ctypes.c_void_p()
assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context) and not cuda.cuMemAlloc_v2(ctypes.byref(segment), ctypes.c_size_t(1 << 20))
def arrays():
    gputrack_pool.cupy()
    gputrack_pool.cupy()
    cupy.cuda.malloc(segment.value + (1 << 19), 1000)
    cupy.cuda.malloc(segment.value + (1 << 18), 3000)
    cupy.cuda.malloc(0, 1 << 30)
    cupy.cuda.free(segment.value + (1 << 18), 3000)
arrays()
threading.Thread(target=cupy.cuda.malloc, args=[segment.value + (1 << 17), 100]).start()
def frames():
    buffers = [rmm.mr.get_current_device_resource().allocate(2000, 0) for _ in range(3)]
    rmm.mr.get_current_device_resource().deallocate(buffers[1], 2000, 0)
rmm.mr.set_current_device_resource(rmm.mr.Pool(segment.value))
gputrack_pool.rmm()
frames()
print("done")
"""


def test_pools_of_cupy_and_rmm(case):
    for module, text in (("cupy/cuda", CUPY), ("rmm/mr", RMM)):
        path = case.path(f"{module}.py")
        path.parent.mkdir()
        path.with_name("__init__.py").write_text("")
        path.write_text(text)
    case.path("use.py").write_text(PYTHON_POOLS)
    environment = case.cuda_preloaded(PYTHONPATH=str(case.build))
    assert case.run(sys.executable, "use.py", env=environment).out == "done\n"
    done = case.gputrack("run", "-q", "-o", "a.gt", sys.executable, "use.py", env=environment)
    assert (done.out, done.err) == ("done\n", ""), done.err
    groups = [g for g in case.report("a.gt", "leakage")["groups"] if g["kind"] == "pool block"]
    found = {(g["objects"][0]["name"], g["bytes"], g["count"]) for g in groups}
    assert found == {("RMM", 4000, 2), ("CuPy", 1024, 1)}, found
    assert all({"arrays", "frames"} & {f["function"] for f in g["stack"]} for g in groups), groups
