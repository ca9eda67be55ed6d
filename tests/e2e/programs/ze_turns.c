/* SPDX-License-Identifier: MIT */
/* ze_turns.c - threads one after the other, each with memory that comes and goes. */
#include <pthread.h>

#include "ze_common.h"

static struct ze ze;
static ze_context_handle_t context;

static void *turn(void *unused)
{
	for (int i = 0; i < 4; i++) {
		const ze_device_mem_alloc_desc_t desc = {
			.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
		};
		void *p = NULL;

		CHECK(zeMemAllocDevice, context, &desc, 64, 64, ze.device, &p);
		CHECK(zeMemFree, context, p);
	}
	return unused;
}

int main(void)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };

	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	for (int i = 0; i < 6; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, turn, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	CHECK(zeContextDestroy, context);
	return 0;
}
