/* SPDX-License-Identifier: MIT */
/*
 * cuda_calls.c - times calls of the CUDA driver; bench/cuda.sh runs it bare and with the door.
 *
 * The driver is loaded, not linked, and declared here: the same program runs on NVIDIA's and on the
 * stand-in. All threads share the device's primary context, as programs do.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "../tests/libc_first.h"

enum { BYTES = 2048 };

static int (*init)(unsigned);
static int (*device_name)(char *, int, int);
static int (*retain)(void **, int);
static int (*release)(int);
static int (*set_current)(void *);
static int (*alloc)(uint64_t *, size_t);
static int (*free_memory)(uint64_t);
static int (*alloc_async)(uint64_t *, size_t, void *);
static int (*free_async)(uint64_t, void *);
static int (*event_create)(void **, unsigned);
static int (*event_destroy)(void *);
static int (*get_current)(void **);

static const struct {
	const char *name;
	void *at;
} functions[] = {
	{ "cuInit", &init },
	{ "cuDeviceGetName", &device_name },
	{ "cuDevicePrimaryCtxRetain", &retain },
	{ "cuDevicePrimaryCtxRelease_v2", &release },
	{ "cuCtxSetCurrent", &set_current },
	{ "cuMemAlloc_v2", &alloc },
	{ "cuMemFree_v2", &free_memory },
	{ "cuMemAllocAsync", &alloc_async },
	{ "cuMemFreeAsync", &free_async },
	{ "cuEventCreate", &event_create },
	{ "cuEventDestroy_v2", &event_destroy },
	{ "cuCtxGetCurrent", &get_current },
};

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "cuda_calls: error %d from %s\n", error, what);
	exit(1);
}

enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void load(void *(*find)(void *, const char *))
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < FUNCTIONS; i++) {
		void *found = driver ? find(driver, functions[i].name) : NULL;

		if (!found) {
			fprintf(stderr, "cuda_calls: no %s in libcuda.so.1\n", functions[i].name);
			exit(1);
		}
		*(void **)functions[i].at = found;
	}
}

/*
 * Work of the program itself after each call, by WORK_NS. Threads that wait for the driver's lock
 * hand it on more often when they do something between two calls, whatever it is.
 */
static long work_steps;

static void work(long steps)
{
	for (long i = 0; i < steps; i++)
		__asm__ volatile("" : "+r"(i));
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void set_work(const char *ns)
{
	enum { STEPS = 1 << 22, TRIES = 5 };
	double least = 0;

	for (int i = 0; ns && i < TRIES; i++) {
		double begun = now_ns(), took;

		work(STEPS);
		took = now_ns() - begun;
		if (!i || took < least)
			least = took;
	}
	work_steps = ns ? (long)(atof(ns) * STEPS / least) : 0;
}

static void events(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		void *event;

		must(event_create(&event, 0), "cuEventCreate");
		work(work_steps);
		must(event_destroy(event), "cuEventDestroy");
		work(work_steps);
	}
}

static void pooled(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		uint64_t p;

		must(alloc_async(&p, BYTES, NULL), "cuMemAllocAsync");
		work(work_steps);
		must(free_async(p, NULL), "cuMemFreeAsync");
		work(work_steps);
	}
}

static void plain(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		uint64_t p;

		must(alloc(&p, BYTES), "cuMemAlloc");
		work(work_steps);
		must(free_memory(p), "cuMemFree");
		work(work_steps);
	}
}

static void queries(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		void *current;

		must(get_current(&current), "cuCtxGetCurrent");
	}
}

static const struct bench_case cases[] = {
	{ .name = "create + destroy, event", .calls = 2, .events = 2, .run = events },
	{ .name = "alloc + free, 2 KiB, async", .calls = 2, .events = 2, .run = pooled },
	{ .name = "alloc + free, 2 KiB", .calls = 2, .events = 2, .run = plain },
	{ .name = "query, not tracked", .calls = 1, .events = 0, .run = queries },
};

/*
 * What the direct door adds, in one process: the driver's own functions and the door's take turns
 * every CHUNK repetitions. Other processes and changes of the clock rate then hit both alike.
 */
enum { CHUNK = 400, TURNS = 200, SETTLE = 20 };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The driver's functions, past whoever stands in for dlsym. */
static void load_bare(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	void *find = libc ? dlvsym(libc, "dlsym", "GLIBC_2.34") : NULL;

	if (libc && !find)
		find = dlvsym(libc, "dlsym", LIBC_FIRST);
	if (!find) {
		fprintf(stderr, "cuda_calls: no dlsym in libc.so.6\n");
		exit(1);
	}
	load((void *(*)(void *, const char *))find);
}

static double time_chunk(const struct bench_case *what, void *context)
{
	double begun;

	/* the other's code and data have filled the caches */
	what->run(context, SETTLE);
	begun = now_ns();
	what->run(context, CHUNK);
	return (now_ns() - begun) / CHUNK / what->calls;
}

struct turns {
	const struct bench_case *what;
	void *context;
};

/* Runs from a deep stack: bench_once. */
static void take_turns(void *self, long unused)
{
	static double bare[TURNS], over[TURNS];
	const struct turns *t = self;

	(void)unused;
	for (int i = -TURNS / 4; i < TURNS; i++) {
		double without, with;

		load_bare();
		without = time_chunk(t->what, t->context);
		load(dlsym);
		with = time_chunk(t->what, t->context);
		if (i < 0)
			continue; /* to warm up */
		bare[i] = without;
		over[i] = with - without;
	}
	qsort(bare, TURNS, sizeof *bare, compare);
	qsort(over, TURNS, sizeof *over, compare);
	printf("paired\t%s\t%.1f\t%.1f\t%.1f\t%.1f\n", t->what->name, bare[TURNS / 2],
	       over[TURNS / 10], over[TURNS / 2], over[TURNS - 1 - TURNS / 10]);
}

/*
 * With --probe it only reports, by its exit status, whether there is a GPU; with --paired, what the
 * direct door adds to a call: bare, over bare (the 10th percentile, the median, the 90th).
 */
int main(int argc, char **argv)
{
	bool probe = argc == 2 && !strcmp(argv[1], "--probe");
	bool paired = argc == 2 && !strcmp(argv[1], "--paired");
	struct bench_plan plan = { .cases = cases,
				   .case_count = sizeof cases / sizeof *cases,
				   .rounds = probe || paired ? 1 : bench_rounds(argc, argv, 3) };
	struct bench_total total;
	char name[128] = "";
	void *context;

	set_work(getenv("WORK_NS"));
	load(dlsym);
	must(init(0), "cuInit");
	if (probe)
		return 0;
	device_name(name, sizeof name, 0);
	printf("driver\t%s\n", name);
	must(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	for (size_t i = 0; paired && i < plan.case_count; i++)
		if (cases[i].run != plain) /* takes minutes */
			bench_once(take_turns, &(struct turns){ &cases[i], context });
	if (paired)
		return 0;
	for (int i = 0; i < BENCH_THREADS_MAX; i++)
		plan.selves[i] = context;
	total = bench_calls(&plan);
	must(release(0), "cuDevicePrimaryCtxRelease");
	printf("calls\t%ld\nevents\t%ld\n", total.calls + 2, total.events + 2);
	return 0;
}
