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

#include "calls.h"

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

static void load(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = driver ? dlsym(driver, functions[i].name) : NULL;

		if (!found) {
			fprintf(stderr, "cuda_calls: no %s in libcuda.so.1\n", functions[i].name);
			exit(1);
		}
		*(void **)functions[i].at = found;
	}
}

static void events(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		void *event;

		must(event_create(&event, 0), "cuEventCreate");
		must(event_destroy(event), "cuEventDestroy");
	}
}

static void pooled(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		uint64_t p;

		must(alloc_async(&p, BYTES, NULL), "cuMemAllocAsync");
		must(free_async(p, NULL), "cuMemFreeAsync");
	}
}

static void plain(void *context, long repeats)
{
	must(set_current(context), "cuCtxSetCurrent");
	for (long i = 0; i < repeats; i++) {
		uint64_t p;

		must(alloc(&p, BYTES), "cuMemAlloc");
		must(free_memory(p), "cuMemFree");
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

/* With --probe it only reports, by its exit status, whether there is a GPU. */
int main(int argc, char **argv)
{
	bool probe = argc == 2 && !strcmp(argv[1], "--probe");
	struct bench_plan plan = { .cases = cases,
				   .case_count = sizeof cases / sizeof *cases,
				   .rounds = probe ? 1 : bench_rounds(argc, argv, 3) };
	struct bench_total total;
	char name[128] = "";
	void *context;

	load();
	must(init(0), "cuInit");
	if (probe)
		return 0;
	device_name(name, sizeof name, 0);
	printf("driver\t%s\n", name);
	must(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	for (int i = 0; i < BENCH_THREADS_MAX; i++)
		plan.selves[i] = context;
	total = bench_calls(&plan);
	must(release(0), "cuDevicePrimaryCtxRelease");
	printf("calls\t%ld\nevents\t%ld\n", total.calls + 2, total.events + 2);
	return 0;
}
