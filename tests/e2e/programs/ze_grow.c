/* SPDX-License-Identifier: MIT */
/*
 * ze_grow.c - a program that grows by itself between each create and its destroy.
 *
 * Everything that it makes with Level Zero is given back; what it keeps is its own malloc memory.
 * A tracker that blames the driver, or a live handle, for that growth is wrong.
 *
 * --count N	allocations and frees (100000)
 * --bytes B	what is kept and touched between an allocation and its free (256)
 * --log FILE	see ze_common.h
 */
#include "ze_common.h"

#define SIZE 4096u

struct kept {
	struct kept *next;
};

static struct kept *kept_all;

static void keep(size_t bytes)
{
	struct kept *k = malloc(bytes < sizeof(*k) ? sizeof(*k) : bytes);

	if (!k)
		exit(2);
	memset(k, 0x5a, bytes);
	k->next = kept_all;
	kept_all = k;
}

static void memory_step(struct ze *ze, ze_context_handle_t context, size_t bytes)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *p;

	TRACKED(zeMemAllocDevice, p, SIZE, "memory", context, &desc, SIZE, 64, ze->device, &p);
	keep(bytes);
	TRACKED(zeMemFree, p, SIZE, "memory", context, p);
}

static void event_step(ze_event_pool_handle_t pool, size_t bytes)
{
	ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_handle_t event;

	TRACKED(zeEventCreate, event, 0, "event", pool, &desc, &event);
	keep(bytes);
	TRACKED(zeEventDestroy, event, 0, "event", event);
}

int main(int argc, char **argv)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_context_handle_t context;
	ze_event_pool_handle_t pool;
	long count = 100000;
	size_t bytes = 256;
	struct ze ze;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--count"))
			count = atol(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--bytes"))
			bytes = strtoul(ze_value(argc, argv, &i), NULL, 10);
		else if (!strcmp(argv[i], "--log"))
			ze_log_open(ze_value(argc, argv, &i));
		else
			return ze_usage(argv[0], "[--count N] [--bytes B] [--log FILE]");
	}
	ze_open(&ze);
	TRACKED(zeContextCreate, context, 0, "context", ze.driver, &context_desc, &context);
	TRACKED(zeEventPoolCreate, pool, 0, "event_pool", context, &pool_desc, 0, NULL, &pool);
	for (long i = 0; i < count; i++) {
		memory_step(&ze, context, bytes);
		/* now and then: to see another kind in the same run */
		if (i % 16 == 0)
			event_step(pool, bytes);
	}
	TRACKED(zeEventPoolDestroy, pool, 0, "event_pool", pool);
	TRACKED(zeContextDestroy, context, 0, "context", context);
	printf("count=%ld kept_kb=%zu live=%ld\n", count,
	       (size_t)(count + (count + 15) / 16) * bytes >> 10, ze_live(NULL));
	return 0;
}
