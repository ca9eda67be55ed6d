/* SPDX-License-Identifier: MIT */
/*
 * ze_lifetimes.c - what ends with another Level Zero object, and what does not; one --case at a
 * time.
 *
 * Each case prints what the driver answered. --list prints the names.
 */
#include "ze_common.h"

enum { BYTES = 4096, BIG = 64 << 20 };

static struct ze ze;
static ze_context_handle_t context;

static void answer(const char *what, ze_result_t result)
{
	printf("%s: 0x%x\n", what, (unsigned)result);
}

static ze_command_queue_handle_t make_queue(void)
{
	const ze_command_queue_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_queue_handle_t queue;

	CHECK(zeCommandQueueCreate, context, ze.device, &desc, &queue);
	return queue;
}

static ze_event_pool_handle_t make_pool(void)
{
	const ze_event_pool_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					    .count = 4 };
	ze_event_pool_handle_t pool;

	CHECK(zeEventPoolCreate, context, &desc, 1, &ze.device, &pool);
	return pool;
}

static ze_event_handle_t make_event(ze_event_pool_handle_t pool)
{
	const ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_handle_t event;

	CHECK(zeEventCreate, pool, &desc, &event);
	return event;
}

static ze_command_list_handle_t make_list(void)
{
	const ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t list;

	CHECK(zeCommandListCreate, context, ze.device, &desc, &list);
	return list;
}

static ze_module_handle_t make_module(void)
{
	const ze_module_desc_t desc = ze_module_input();
	ze_module_handle_t module;

	CHECK(zeModuleCreate, context, ze.device, &desc, &module, NULL);
	return module;
}

static void *make_host(size_t size)
{
	const ze_host_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	void *block;

	CHECK(zeMemAllocHost, context, &desc, size, 64, &block);
	memset(block, 1, size);
	return block;
}

static char *make_device(size_t size)
{
	const ze_device_mem_alloc_desc_t desc = { .stype =
							  ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *block;

	CHECK(zeMemAllocDevice, context, &desc, size, 64, ze.device, &block);
	return block;
}

/* Resident memory in KiB. */
static long resident_kb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		exit(1);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void tell_freed(long before_kb)
{
	printf("memory: %s\n", before_kb - resident_kb() > BIG / 2048 ? "freed" : "not freed");
}

static void end_context(void)
{
	answer("context", zeContextDestroy(context));
}

static void memory_freed_inside(void)
{
	char *block = make_host(BIG);
	long before_kb = resident_kb();

	answer("free", zeMemFree(context, block + 64));
	tell_freed(before_kb);
	end_context();
}

static void device_memory_freed_inside(void)
{
	answer("free", zeMemFree(context, make_device(BYTES) + BYTES - 1));
	end_context();
}

static void memory_freed_inside_by_policy(void)
{
	const ze_memory_free_ext_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
		.freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
	};
	char *block = make_host(BIG);
	long before_kb = resident_kb();

	answer("free", zeMemFreeExt(context, &desc, block + 64));
	tell_freed(before_kb);
	end_context();
}

/* One byte behind the block, as far as the driver's pages go. */
static void memory_freed_outside(void)
{
	char *block = make_host(BIG);
	long before_kb = resident_kb();

	answer("free", zeMemFree(context, block + BIG));
	tell_freed(before_kb);
	end_context();
}

/* Never freed: does it end with its context? */
static void memory_left_in_context(void)
{
	long before_kb;

	make_host(BIG);
	before_kb = resident_kb();
	end_context();
	tell_freed(before_kb);
}

static void objects_left_in_context(void)
{
	make_queue();
	make_list();
	make_event(make_pool());
	make_module();
	end_context();
}

static void ipc_handle_left(void)
{
	void *block = make_device(BYTES);
	ze_ipc_mem_handle_t handle;

	answer("get", zeMemGetIpcHandle(context, block, &handle));
	answer("free", zeMemFree(context, block));
	end_context();
}

static void event_after_pool(void)
{
	ze_event_pool_handle_t pool = make_pool();
	ze_event_handle_t event = make_event(pool);

	answer("pool", zeEventPoolDestroy(pool));
	answer("event", zeEventDestroy(event));
	end_context();
}

static void fence_after_queue(void)
{
	const ze_fence_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_command_queue_handle_t queue = make_queue();
	ze_fence_handle_t fence;

	CHECK(zeFenceCreate, queue, &desc, &fence);
	answer("queue", zeCommandQueueDestroy(queue));
	answer("fence", zeFenceDestroy(fence));
	end_context();
}

static void kernel_left_in_module(void)
{
	const ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					.pKernelName = "add" };
	ze_module_handle_t module = make_module();
	ze_kernel_handle_t kernel;

	CHECK(zeKernelCreate, module, &desc, &kernel);
	answer("module", zeModuleDestroy(module));
	end_context();
}

static void view_after_image(void)
{
	const ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				       .type = ZE_IMAGE_TYPE_2D,
				       .format.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
				       .width = 16,
				       .height = 16,
				       .depth = 1 };
	ze_image_handle_t image, view;

	CHECK(zeImageCreate, context, ze.device, &desc, &image);
	CHECK(zeImageViewCreateExp, context, ze.device, &desc, image, &view);
	answer("image", zeImageDestroy(image));
	answer("view", zeImageDestroy(view));
	end_context();
}

static void list_after_queue(void)
{
	ze_command_queue_handle_t queue = make_queue();
	ze_command_list_handle_t list = make_list();

	CHECK(zeCommandListClose, list);
	CHECK(zeCommandQueueExecuteCommandLists, queue, 1, &list, NULL);
	CHECK(zeCommandQueueSynchronize, queue, UINT64_MAX);
	answer("queue", zeCommandQueueDestroy(queue));
	answer("list", zeCommandListDestroy(list));
	end_context();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "memory-freed-inside", memory_freed_inside },
	{ "device-memory-freed-inside", device_memory_freed_inside },
	{ "memory-freed-inside-by-policy", memory_freed_inside_by_policy },
	{ "memory-freed-outside", memory_freed_outside },
	{ "memory-left-in-context", memory_left_in_context },
	{ "objects-left-in-context", objects_left_in_context },
	{ "ipc-handle-left", ipc_handle_left },
	{ "event-after-pool", event_after_pool },
	{ "fence-after-queue", fence_after_queue },
	{ "kernel-left-in-module", kernel_left_in_module },
	{ "view-after-image", view_after_image },
	{ "list-after-queue", list_after_queue },
};

enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	bool is_case = argc == 3 && !strcmp(argv[1], "--case");

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (int i = 0; i < CASES; i++)
			puts(cases[i].name);
		return 0;
	}
	setvbuf(stdout, NULL, _IONBF, 0); /* the answers must be out before a crash */
	for (int i = 0; is_case && i < CASES; i++)
		if (!strcmp(argv[2], cases[i].name)) {
			ze_open(&ze);
			CHECK(zeContextCreate, ze.driver, &desc, &context);
			cases[i].run();
			return 0;
		}
	return ze_usage(argv[0], "--list | --case NAME");
}
