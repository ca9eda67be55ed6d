/* SPDX-License-Identifier: MIT */
/*
 * levelzero_calls.c - times Level Zero calls; bench/levelzero.sh runs it bare and under the layer.
 *
 * One repetition is a cycle of nine calls, each of which writes a row of the tracker's CSV, as in
 * the cycle used to measure the original. With --processor: the processor time of a call alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <level_zero/ze_api.h>

#include "calls.h"

enum {
	MEMORY_BYTES = 4096,
	CYCLE_CALLS = 9,
	CYCLE_EVENTS = 8, /* a recording has lives alone: no append */
	EVENTS_OF_SELF = 4,
	WORK_NS = 1000,
};

struct self {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_event_pool_handle_t pool;
};

static void must(ze_result_t result, const char *what)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "levelzero_calls: error 0x%x from %s\n", (unsigned int)result, what);
	exit(1);
}

#define MUST(function, ...) must(function(__VA_ARGS__), #function)

/* A program's work between two calls: longer than the tracker trusts a reading. */
static void work(void)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < WORK_NS);
}

static inline __attribute__((always_inline)) void cycles(struct self *self, long repeats,
							 void (*between)(void))
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_device_mem_alloc_desc_t memory_desc = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
	};

	for (long i = 0; i < repeats; i++) {
		ze_context_handle_t context;
		ze_command_list_handle_t list;
		ze_event_handle_t event;
		void *memory;

		MUST(zeContextCreate, self->driver, &context_desc, &context);
		between();
		MUST(zeCommandListCreate, context, self->device, &list_desc, &list);
		between();
		MUST(zeEventCreate, self->pool, &event_desc, &event);
		between();
		MUST(zeMemAllocDevice, context, &memory_desc, MEMORY_BYTES, 64, self->device,
		     &memory);
		between();
		MUST(zeCommandListAppendBarrier, list, event, 0, NULL);
		between();
		MUST(zeMemFree, context, memory);
		between();
		MUST(zeEventDestroy, event);
		between();
		MUST(zeCommandListDestroy, list);
		between();
		MUST(zeContextDestroy, context);
		between();
	}
}

static void nothing(void)
{
}

static void cycles_at_once(void *self, long repeats)
{
	cycles(self, repeats, nothing);
}

static void cycles_with_work(void *self, long repeats)
{
	cycles(self, repeats, work);
}

/* clang-format off */
static const struct bench_case cases[] = {
	{ .name = "9 calls, one after another", .calls = CYCLE_CALLS, .events = CYCLE_EVENTS,
	  .run = cycles_at_once },
	{ .name = "9 calls, 1 µs of work after each", .calls = CYCLE_CALLS, .events = CYCLE_EVENTS,
	  .run = cycles_with_work },
};
/* clang-format on */

static void open_self(struct self *self)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	uint32_t one = 1;

	MUST(zeDriverGet, &one, &self->driver);
	MUST(zeDeviceGet, self->driver, &one, &self->device);
	MUST(zeContextCreate, self->driver, &context, &self->context);
	MUST(zeEventPoolCreate, self->context, &pool, 0, NULL, &self->pool);
}

/* Processor time of a call, in ns: on a busy machine, too. */
static void print_processor_time(struct self *self)
{
	enum { CYCLES = 5000 };
	struct timespec begun, ended;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	cycles(self, CYCLES, nothing);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	printf("processor\t%.0f\n", ((double)(ended.tv_sec - begun.tv_sec) * 1e9 +
				     (double)(ended.tv_nsec - begun.tv_nsec)) /
					    (CYCLES * CYCLE_CALLS));
}

int main(int argc, char **argv)
{
	struct bench_plan plan = { .cases = cases, .case_count = sizeof cases / sizeof *cases };
	static struct self selves[BENCH_THREADS_MAX];
	struct bench_total total;

	MUST(zeInit, 0);
	if (argc == 2 && !strcmp(argv[1], "--processor")) {
		open_self(&selves[0]);
		print_processor_time(&selves[0]);
		return 0;
	}
	plan.rounds = bench_rounds(argc, argv, 3);
	for (int i = 0; i < BENCH_THREADS_MAX; i++) {
		open_self(&selves[i]);
		plan.selves[i] = &selves[i];
	}
	total = bench_calls(&plan);
	for (int i = 0; i < BENCH_THREADS_MAX; i++) {
		MUST(zeEventPoolDestroy, selves[i].pool);
		MUST(zeContextDestroy, selves[i].context);
	}
	printf("calls\t%ld\nevents\t%ld\n", total.calls + BENCH_THREADS_MAX * EVENTS_OF_SELF,
	       total.events + BENCH_THREADS_MAX * EVENTS_OF_SELF);
	return 0;
}
