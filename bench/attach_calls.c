/* SPDX-License-Identifier: MIT */
/*
 * attach_calls.c - the cost of a pair of cuMemAlloc and cuMemFree in a given library, called this
 * many frames deep (0): prints nanoseconds of CPU time per call, the minimum and the median of its
 * rounds.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 101, PAIRS = 1000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others may run too */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int (*allocate)(uint64_t *, size_t), (*release)(uint64_t);

__attribute__((noinline)) static double run(int depth)
{
	volatile char room[64];
	double begun, ns;

	room[0] = 1;
	if (depth > 0)
		return run(depth - 1) * room[0];
	begun = now_ns();
	for (int i = 0; i < PAIRS; i++) {
		uint64_t handle;

		allocate(&handle, 256);
		release(handle);
	}
	ns = now_ns() - begun;
	return ns * room[0];
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW), *context;
	int (*init)(unsigned), (*create)(void **, unsigned, int);
	int depth = argc > 2 ? atoi(argv[2]) : 0;
	double samples[ROUNDS];

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	init = (int (*)(unsigned))dlsym(library, "cuInit");
	create = (int (*)(void **, unsigned, int))dlsym(library, "cuCtxCreate_v2");
	allocate = (int (*)(uint64_t *, size_t))dlsym(library, "cuMemAlloc_v2");
	release = (int (*)(uint64_t))dlsym(library, "cuMemFree_v2");
	if (init(0) || create(&context, 0, 0))
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		samples[round] = run(depth) / PAIRS / 2;
	qsort(samples, ROUNDS, sizeof *samples, by_value);
	printf("%.0f\t%.0f\n", samples[0], samples[ROUNDS / 2]);
	return 0;
}
