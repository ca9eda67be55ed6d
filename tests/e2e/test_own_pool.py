# SPDX-License-Identifier: MIT
"""A program's own pool, told by gputrack/pool.h: blocks are counted inside the driver's segments."""
import ctypes.util
import os
import re
import shutil
import sys

import test_pools

SEGMENT = 1 << 20

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
    env = test_pools.cuda(case)
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
    env = test_pools.cuda(case)
    program = build(case, "named", "cc", "-DDRIVER", "-pthread")
    case.gputrack("run", "-q", "-o", "a.gt", program, env=env)
    text = case.gputrack("report", "a.gt", "-a", "leakage").out
    assert "arena" in text and "n" * 63 in text and "n" * 64 not in text, text
    assert "PyTorch" not in text, text
    case.gputrack("run", "-q", "--pools", "none", "-o", "b.gt", program, env=env)
    assert not [e for e in case.events("b.gt") if e["api"] == "pool"]


def test_it_links_alone(case):
    """With no library of ours, by each compiler and linker that is here, and static, too."""
    ways = [("cc", ()), ("cc", ("-fno-pie", "-no-pie")), ("cc", ("-O0",)), ("cc", ("-flto", "-masm=intel")),
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
    env = dict(test_pools.cuda(case), PYTHONPATH=str(case.build), PYTHONDONTWRITEBYTECODE="1")
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
