/* SPDX-License-Identifier: MIT */
/*
 * ze_inside.c - makes and ends a few objects; its driver ends the process in one of the calls.
 *
 * --thread	makes the calls in a second thread
 * --module	creates a module of invalid SPIR-V, and nothing else: Intel's compiler calls exit(1)
 */
#include "ze_common.h"

#include <pthread.h>

static void *make_calls(void *arg)
{
	ze_device_mem_alloc_desc_t memory_desc = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
	};
	ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const struct ze *ze = arg;
	ze_command_list_handle_t list;
	ze_context_handle_t context;
	void *memory;

	TRACKED(zeContextCreate, context, 0, "context", ze->driver, &context_desc, &context);
	TRACKED(zeCommandListCreate, list, 0, "list", context, ze->device, &list_desc, &list);
	TRACKED(zeMemAllocDevice, memory, 4096, "memory", context, &memory_desc, 4096, 64,
		ze->device, &memory);
	printf("list=%p context=%p memory=%p\n", (void *)list, (void *)context, memory);
	fflush(stdout);
	zeCommandListAppendBarrier(list, NULL, 0, NULL);
	TRACKED(zeMemFree, memory, 4096, "memory", context, memory);
	TRACKED(zeCommandListDestroy, list, 0, "list", list);
	TRACKED(zeContextDestroy, context, 0, "context", context);
	return NULL;
}

static void make_module(const struct ze *ze)
{
	ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	static const uint8_t spirv[64] = "no SPIR-V at all";
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				  .format = ZE_MODULE_FORMAT_IL_SPIRV,
				  .inputSize = sizeof(spirv),
				  .pInputModule = spirv };
	ze_module_handle_t module;
	ze_context_handle_t context;

	TRACKED(zeContextCreate, context, 0, "context", ze->driver, &context_desc, &context);
	zeModuleCreate(context, ze->device, &desc, &module, NULL);
}

int main(int argc, char **argv)
{
	bool in_thread = false, has_module = false;
	pthread_t thread;
	struct ze ze;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--thread"))
			in_thread = true;
		else if (!strcmp(argv[i], "--module"))
			has_module = true;
		else
			return ze_usage(argv[0], "[--thread] [--module]");
	}
	ze_open(&ze);
	if (has_module)
		make_module(&ze);
	else if (!in_thread)
		make_calls(&ze);
	else if (!pthread_create(&thread, NULL, make_calls, &ze))
		pthread_join(thread, NULL);
	return 0;
}
