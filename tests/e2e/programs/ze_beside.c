/* SPDX-License-Identifier: MIT */
/*
 * ze_beside.c - a program whose second thread grows while the first makes and destroys events.
 *
 * Everything made with Level Zero is given back; what grows is the program's own memory, and it
 * grows also in the middle of the driver's calls.
 *
 * --count N	events (20000)
 */
#include "ze_common.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define BLOCK  16384u
#define BLOCKS 16384

static atomic_bool stop;
static atomic_int kept;

static void *grow(void *unused)
{
	while (!atomic_load(&stop) && atomic_load(&kept) < BLOCKS) {
		void *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p != MAP_FAILED)
			memset(p, 1, BLOCK);
		atomic_fetch_add(&kept, 1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_context_handle_t context;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
	long count = 20000;
	pthread_t thread;
	struct ze ze;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--count"))
			return ze_usage(argv[0], "[--count N]");
		count = atol(ze_value(argc, argv, &i));
	}
	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &context_desc, &context);
	CHECK(zeEventPoolCreate, context, &pool_desc, 0, NULL, &pool);
	if (pthread_create(&thread, NULL, grow, NULL))
		return 2;
	for (long i = 0; i < count; i++) {
		CHECK(zeEventCreate, pool, &event_desc, &event);
		CHECK(zeEventDestroy, event);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	CHECK(zeEventPoolDestroy, pool);
	CHECK(zeContextDestroy, context);
	printf("count=%ld live=%ld\n", count, ze_live(NULL));
	return atomic_load(&kept) ? 0 : 1;
}
