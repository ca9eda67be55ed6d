/* SPDX-License-Identifier: MIT */
/*
 * ze_cycles.c - makes one kind of Level Zero object and destroys it, again and again.
 *
 * ze_cycles KIND COUNT	KIND: module list immediate queue pool image device shared. Modules are
 *			compiled from SPIR-V and have a kernel, pools have an event, lists a
 *			barrier.
 */
#include "ze_common.h"

enum { MEMORY_BYTES = 1 << 16 };

/* An empty kernel, "k". */
static const uint32_t spirv[] = {
	0x07230203, 0x00010000, 0, 5,   0, /* SPIR-V 1.0, ids below 5 */
	0x00020011, 4,                     /* OpCapability Addresses */
	0x00020011, 6,                     /* OpCapability Kernel */
	0x0003000e, 2,          2,         /* OpMemoryModel Physical64 OpenCL */
	0x0004000f, 6,          1, 'k',    /* OpEntryPoint Kernel %1 "k" */
	0x00020013, 2,                     /* %2 = OpTypeVoid */
	0x00030021, 3,          2,         /* %3 = OpTypeFunction %2 */
	0x00050036, 2,          1, 0,   3, /* %1 = OpFunction %2 None %3 */
	0x000200f8, 4,                     /* %4 = OpLabel */
	0x000100fd,                        /* OpReturn */
	0x00010038,                        /* OpFunctionEnd */
};

static void cycle_module(const struct ze *ze, ze_context_handle_t context)
{
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				  .format = ZE_MODULE_FORMAT_IL_SPIRV,
				  .inputSize = sizeof spirv,
				  .pInputModule = (const uint8_t *)spirv };
	ze_kernel_desc_t kernel_desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					 .pKernelName = "k" };
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;

	CHECK(zeModuleCreate, context, ze->device, &desc, &module, NULL);
	CHECK(zeKernelCreate, module, &kernel_desc, &kernel);
	CHECK(zeKernelDestroy, kernel);
	CHECK(zeModuleDestroy, module);
}

static void cycle_list(const struct ze *ze, ze_context_handle_t context)
{
	ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t list;

	CHECK(zeCommandListCreate, context, ze->device, &desc, &list);
	CHECK(zeCommandListAppendBarrier, list, NULL, 0, NULL);
	CHECK(zeCommandListDestroy, list);
}

static void cycle_immediate(const struct ze *ze, ze_context_handle_t context)
{
	ze_command_queue_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_handle_t list;

	CHECK(zeCommandListCreateImmediate, context, ze->device, &desc, &list);
	CHECK(zeCommandListDestroy, list);
}

static void cycle_queue(const struct ze *ze, ze_context_handle_t context)
{
	ze_command_queue_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_queue_handle_t queue;

	CHECK(zeCommandQueueCreate, context, ze->device, &desc, &queue);
	CHECK(zeCommandQueueDestroy, queue);
}

static void cycle_pool(const struct ze *ze, ze_context_handle_t context)
{
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 4 };
	ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;

	(void)ze;
	CHECK(zeEventPoolCreate, context, &pool_desc, 0, NULL, &pool);
	CHECK(zeEventCreate, pool, &desc, &event);
	CHECK(zeEventDestroy, event);
	CHECK(zeEventPoolDestroy, pool);
}

static void cycle_image(const struct ze *ze, ze_context_handle_t context)
{
	ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				 .type = ZE_IMAGE_TYPE_2D,
				 .format = { .layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8 },
				 .width = 64,
				 .height = 64,
				 .depth = 1 };
	ze_image_handle_t image;

	CHECK(zeImageCreate, context, ze->device, &desc, &image);
	CHECK(zeImageDestroy, image);
}

static void cycle_device(const struct ze *ze, ze_context_handle_t context)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *memory;

	CHECK(zeMemAllocDevice, context, &desc, MEMORY_BYTES, 64, ze->device, &memory);
	CHECK(zeMemFree, context, memory);
}

static void cycle_shared(const struct ze *ze, ze_context_handle_t context)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t host_desc = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	void *memory;

	CHECK(zeMemAllocShared, context, &desc, &host_desc, MEMORY_BYTES, 64, ze->device, &memory);
	CHECK(zeMemFree, context, memory);
}

static const struct {
	const char *name;
	void (*cycle)(const struct ze *ze, ze_context_handle_t context);
} kinds[] = {
	{ "module", cycle_module }, { "list", cycle_list },     { "immediate", cycle_immediate },
	{ "queue", cycle_queue },   { "pool", cycle_pool },     { "image", cycle_image },
	{ "device", cycle_device }, { "shared", cycle_shared },
};

int main(int argc, char **argv)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t context;
	size_t kind = 0;
	struct ze ze;

	while (argc == 3 && kind < sizeof kinds / sizeof *kinds &&
	       strcmp(kinds[kind].name, argv[1]))
		kind++;
	if (argc != 3 || kind == sizeof kinds / sizeof *kinds)
		return ze_usage(argv[0], "KIND COUNT");
	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	for (long i = 0; i < atol(argv[2]); i++)
		kinds[kind].cycle(&ze, context);
	CHECK(zeContextDestroy, context);
	return 0;
}
