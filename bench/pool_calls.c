/* SPDX-License-Identifier: MIT */
/* pool_calls.c - times reports of PyTorch's allocator; bench/pool.sh runs it bare and recorded. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

struct device {
	int8_t type, index;
};

/* Of the stand-in for libc10 (tests/fake/torch), as libc10_cuda.so calls it. */
extern void report(
	void *ptr, int64_t size, size_t allocated, size_t reserved,
	struct device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

enum { BYTES = 4096 };

static void blocks(void *self, long repeats)
{
	struct device device = { .type = 1, .index = 0 };

	for (long i = 0; i < repeats; i++) {
		report(self, BYTES, BYTES, 2 << 20, device);
		report(self, -BYTES, 0, 2 << 20, device);
	}
}

static void main_memory(void *self, long repeats)
{
	struct device device = { .type = 0, .index = -1 };

	for (long i = 0; i < repeats; i++) {
		report(self, BYTES, 0, 0, device);
		report(self, -BYTES, 0, 0, device);
	}
}

static const struct bench_case cases[] = {
	{ "a block made and freed", 2, 2, blocks },
	{ "in main memory: not recorded", 2, 0, main_memory },
};

int main(int argc, char **argv)
{
	struct bench_plan plan = { .cases = cases,
				   .case_count = sizeof cases / sizeof *cases,
				   .rounds = bench_rounds(argc, argv, 3) };
	struct bench_total total;

	for (int i = 0; i < BENCH_THREADS_MAX; i++)
		plan.selves[i] = malloc(BYTES);
	total = bench_calls(&plan);
	printf("calls\t%ld\nevents\t%ld\n", total.calls, total.events);
	return 0;
}
