/* SPDX-License-Identifier: MIT */
/*
 * ze_many.c - a program that does nothing but call: many events at once, one call after another.
 *
 * Everything is given back. Whatever grows meanwhile, but for the driver, is the tracker's own: its
 * tables of what is alive, and of the stacks by which it was made.
 *
 * --count N	events alive at once (50000)
 */
#include "ze_common.h"

enum { DEPTHS = 40 };

static __attribute__((noinline)) void make(ze_event_pool_handle_t pool, ze_event_handle_t *event,
					   long depth)
{
	ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };

	if (depth)
		make(pool, event, depth - 1);
	else
		CHECK(zeEventCreate, pool, &desc, event);
	__asm__ volatile("" : : : "memory"); /* no tail call: each depth is a stack of its own */
}

int main(int argc, char **argv)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_context_handle_t context;
	ze_event_pool_handle_t pool;
	ze_event_handle_t *events;
	long count = 50000;
	struct ze ze;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--count"))
			return ze_usage(argv[0], "[--count N]");
		count = atol(ze_value(argc, argv, &i));
	}
	events = calloc((size_t)count, sizeof *events);
	if (!events)
		return 2;
	memset(events, 1, (size_t)count * sizeof *events); /* touched before, not between calls */
	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &context_desc, &context);
	CHECK(zeEventPoolCreate, context, &pool_desc, 0, NULL, &pool);
	for (long i = 0; i < count; i++)
		make(pool, &events[i], i * DEPTHS / count);
	for (long i = 0; i < count; i++)
		CHECK(zeEventDestroy, events[i]);
	CHECK(zeEventPoolDestroy, pool);
	CHECK(zeContextDestroy, context);
	free(events);
	printf("count=%ld live=%ld\n", count, ze_live(NULL));
	return 0;
}
