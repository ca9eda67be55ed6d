/* SPDX-License-Identifier: MIT */
/*
 * ze_wrong.c - makes calls that a validation layer refuses and our test driver mostly takes, and
 * prints what each answered: `function 0x…` per line. Then makes and destroys an event properly.
 *
 * --stale	also uses a context after its end, as the handle lifetime checker looks for
 */
#include "ze_common.h"

static void say(const char *what, ze_result_t rc)
{
	printf("%s 0x%x\n", what, (unsigned int)rc);
}

int main(int argc, char **argv)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t bad_mode = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					     .mode = (ze_command_queue_mode_t)99 };
	ze_fence_desc_t bad_flags = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC, .flags = 0x80 };
	ze_command_queue_desc_t queue_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_context_handle_t context, stale;
	ze_command_queue_handle_t queue;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
	ze_fence_handle_t fence;
	void *reserved;
	struct ze ze;

	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &context_desc, &context);
	say("zeContextCreate(no descriptor)", zeContextCreate(ze.driver, NULL, &stale));
	say("zeContextDestroy(NULL)", zeContextDestroy(NULL));
	say("zeCommandQueueCreate(mode 99)",
	    zeCommandQueueCreate(context, ze.device, &bad_mode, &queue));
	CHECK(zeCommandQueueCreate, context, ze.device, &queue_desc, &queue);
	say("zeFenceCreate(flags 0x80)", zeFenceCreate(queue, &bad_flags, &fence));
	say("zeVirtualMemReserve(NULL)", zeVirtualMemReserve(context, NULL, 65536, &reserved));
	if (argc > 1 && !strcmp(argv[1], "--stale")) {
		CHECK(zeContextCreate, ze.driver, &context_desc, &stale);
		CHECK(zeContextDestroy, stale);
		say("zeContextGetStatus(destroyed)", zeContextGetStatus(stale));
		say("zeContextDestroy(destroyed)", zeContextDestroy(stale));
	}
	CHECK(zeEventPoolCreate, context, &pool_desc, 0, NULL, &pool);
	CHECK(zeEventCreate, pool, &event_desc, &event);
	CHECK(zeEventDestroy, event);
	CHECK(zeEventPoolDestroy, pool);
	return 0;
}
