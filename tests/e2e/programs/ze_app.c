/* SPDX-License-Identifier: MIT */
/*
 * ze_app.c - uses every kind of Level Zero object and every append function, and gives all back.
 *
 * --log FILE		the program's own record of its tracked calls, see ze_common.h
 * --rounds N		does everything N times
 * --leak KIND[,KIND]	leaves one object of each named kind behind: context queue module build_log
 *			kernel event_pool event list immediate fence image view sampler device host
 *			shared physical reservation mapping ipc_memory ipc_pool. A mapping stays
 *			with the reservation that it lies in.
 */
#include "ze_common.h"

#define BYTES      8192u
#define PAGES      (64u * 1024)
#define IMAGE_SIDE 16u

/* everything a round makes */
struct round {
	struct ze ze;
	ze_context_handle_t context, other_context;
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list, immediate;
	ze_module_handle_t module;
	ze_module_build_log_handle_t build_log;
	ze_kernel_handle_t kernel;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event, waited;
	ze_fence_handle_t fence;
	ze_image_handle_t image, other_image, view;
	ze_sampler_handle_t sampler;
	uint8_t *device, *host, *shared;
};

static char leaks[32][32];
static int leak_count;

static void leaks_read(const char *text)
{
	while (*text && leak_count < 32) {
		size_t n = strcspn(text, ",");

		snprintf(leaks[leak_count++], sizeof(leaks[0]), "%.*s", (int)n, text);
		text += n + (text[n] == ',');
	}
}

/* True once for each kind that is to be left behind. */
static bool is_left(const char *kind)
{
	for (int i = 0; i < leak_count; i++)
		if (!strcmp(leaks[i], kind)) {
			leaks[i][0] = '\0';
			return true;
		}
	return false;
}

#define ENDED(what, function, handle, size, kind, ...)                                             \
	do {                                                                                       \
		if (!is_left(what))                                                                \
			TRACKED(function, handle, size, kind, __VA_ARGS__);                        \
	} while (0)

static void expect(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "wrong result: %s\n", what);
	exit(1);
}

static void make_programs(struct round *r)
{
	ze_module_desc_t module = ze_module_input();
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "add" };
	uint32_t count = 0;
	size_t size = 0;

	TRACKED(zeModuleCreate, r->module, module.inputSize, "module", r->context, r->ze.device,
		&module, &r->module, &r->build_log);
	/* the same call made the log */
	ze_log("zeModuleCreate", r->build_log, 0, "build_log");
	CHECK(zeModuleBuildLogGetString, r->build_log, &size, NULL);
	CHECK(zeModuleGetKernelNames, r->module, &count, NULL);
	expect(count == (ze_is_ours() ? 2 : 1), "kernel names");
	TRACKED(zeKernelCreate, r->kernel, 0, "kernel", r->module, &kernel, &r->kernel);
	CHECK(zeKernelSetGroupSize, r->kernel, 8, 1, 1);
	if (ze_is_ours()) /* whose kernels take any argument */
		CHECK(zeKernelSetArgumentValue, r->kernel, 0, sizeof(count), &count);
}

static void make_images(struct round *r)
{
	ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				 .type = ZE_IMAGE_TYPE_2D,
				 .format.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8,
				 .width = IMAGE_SIDE,
				 .height = IMAGE_SIDE,
				 .depth = 1 };
	ze_sampler_desc_t sampler = { .stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC };

	TRACKED(zeImageCreate, r->image, 0, "image", r->context, r->ze.device, &desc, &r->image);
	TRACKED(zeImageCreate, r->other_image, 0, "image", r->context, r->ze.device, &desc,
		&r->other_image);
	TRACKED(zeImageViewCreateExp, r->view, 0, "image", r->context, r->ze.device, &desc,
		r->image, &r->view);
	TRACKED(zeSamplerCreate, r->sampler, 0, "sampler", r->context, r->ze.device, &sampler,
		&r->sampler);
}

static void make_sync(struct round *r)
{
	ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
				      .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
					       ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
				      .count = 2 };
	ze_event_desc_t event = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 0 };
	ze_fence_desc_t fence = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };

	TRACKED(zeEventPoolCreate, r->pool, 0, "event_pool", r->context, &pool, 1, &r->ze.device,
		&r->pool);
	TRACKED(zeEventCreate, r->event, 0, "event", r->pool, &event, &r->event);
	event.index = 1;
	TRACKED(zeEventCreate, r->waited, 0, "event", r->pool, &event, &r->waited);
	TRACKED(zeFenceCreate, r->fence, 0, "fence", r->queue, &fence, &r->fence);
}

static void make_memory(struct round *r)
{
	ze_device_mem_alloc_desc_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	ze_memory_allocation_properties_t p = {
		.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
	};

	TRACKED(zeMemAllocDevice, r->device, BYTES, "memory", r->context, &device, BYTES, 64,
		r->ze.device, (void **)&r->device);
	TRACKED(zeMemAllocHost, r->host, BYTES, "memory", r->context, &host, BYTES, 4096,
		(void **)&r->host);
	TRACKED(zeMemAllocShared, r->shared, BYTES, "memory", r->context, &device, &host, BYTES, 64,
		r->ze.device, (void **)&r->shared);
	CHECK(zeMemGetAllocProperties, r->context, r->shared, &p, NULL);
	expect(p.type == ZE_MEMORY_TYPE_SHARED, "type of shared memory");
}

static void make_all(struct round *r)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };

	TRACKED(zeContextCreate, r->context, 0, "context", r->ze.driver, &context, &r->context);
	TRACKED(zeContextCreateEx, r->other_context, 0, "context", r->ze.driver, &context, 1,
		&r->ze.device, &r->other_context);
	TRACKED(zeCommandQueueCreate, r->queue, 0, "queue", r->context, r->ze.device, &queue,
		&r->queue);
	TRACKED(zeCommandListCreate, r->list, 0, "list", r->context, r->ze.device, &list, &r->list);
	TRACKED(zeCommandListCreateImmediate, r->immediate, 0, "list", r->context, r->ze.device,
		&queue, &r->immediate);
	make_programs(r);
	make_images(r);
	make_sync(r);
	make_memory(r);
}

/* An append function that takes (list, …, signal, wait count, waits). Real drivers lack some. */
#define APPEND(function, size, ...)                                                                \
	(void)ATTEMPTED(function, list, size, "list", list, __VA_ARGS__, r->event, 1, &r->waited)
/* One that takes no events. */
#define APPEND_PLAIN(function, size, ...) TRACKED(function, list, size, "list", list, __VA_ARGS__)

static void append_memory(struct round *r, ze_command_list_handle_t list)
{
	static const size_t range_size = 64;
	const void *range = r->device;
	ze_copy_region_t region = { .width = 16, .height = 4, .depth = 1 };
	const uint32_t pattern = 0x01020304;

	APPEND(zeCommandListAppendMemoryFill, BYTES, r->host, &pattern, sizeof(pattern), BYTES);
	APPEND(zeCommandListAppendMemoryCopy, BYTES, r->device, r->host, BYTES);
	APPEND(zeCommandListAppendMemoryCopyRegion, 0, r->shared, &region, 64, 0, r->device,
	       &region, 64, 0);
	APPEND(zeCommandListAppendMemoryCopyFromContext, BYTES, r->shared, r->other_context,
	       r->device, BYTES);
	APPEND_PLAIN(zeCommandListAppendMemoryPrefetch, BYTES, r->shared, BYTES);
	APPEND_PLAIN(zeCommandListAppendMemAdvise, BYTES, r->ze.device, r->shared, BYTES,
		     ZE_MEMORY_ADVICE_SET_READ_MOSTLY);
	TRACKED(zeCommandListAppendBarrier, list, 0, "list", list, r->event, 1, &r->waited);
	APPEND(zeCommandListAppendMemoryRangesBarrier, 0, 1, &range_size, &range);
}

static void append_images(struct round *r, ze_command_list_handle_t list)
{
	ze_image_region_t half = { .width = IMAGE_SIDE / 2, .height = IMAGE_SIDE, .depth = 1 };

	APPEND(zeCommandListAppendImageCopyFromMemory, 0, r->image, r->host, NULL);
	APPEND(zeCommandListAppendImageCopy, 0, r->other_image, r->image);
	APPEND(zeCommandListAppendImageCopyRegion, 0, r->other_image, r->view, &half, &half);
	APPEND(zeCommandListAppendImageCopyToMemory, 0, r->device, r->other_image, NULL);
	APPEND(zeCommandListAppendImageCopyFromMemoryExt, 0, r->image, r->host, &half,
	       IMAGE_SIDE * 4, 0);
	APPEND(zeCommandListAppendImageCopyToMemoryExt, 0, r->shared, r->image, NULL,
	       IMAGE_SIDE * 4, 0);
}

static void append_kernels(struct round *r, ze_command_list_handle_t list)
{
	ze_group_count_t groups = { .groupCountX = 1, .groupCountY = 1, .groupCountZ = 1 };
	ze_group_count_t *indirect = (ze_group_count_t *)(r->shared + 1024);
	uint32_t *count = (uint32_t *)(r->shared + 2048);

	*indirect = groups;
	*count = 1;
	APPEND(zeCommandListAppendLaunchKernel, 0, r->kernel, &groups);
	APPEND(zeCommandListAppendLaunchCooperativeKernel, 0, r->kernel, &groups);
	APPEND(zeCommandListAppendLaunchKernelIndirect, 0, r->kernel, indirect);
	APPEND(zeCommandListAppendLaunchMultipleKernelsIndirect, 0, 1, &r->kernel, count, indirect);
}

static void append_sync(struct round *r, ze_command_list_handle_t list)
{
	static const size_t offset = 256;

	APPEND(zeCommandListAppendWriteGlobalTimestamp, 0, (uint64_t *)r->shared);
	APPEND(zeCommandListAppendQueryKernelTimestamps, 0, 1, &r->event, r->shared, &offset);
	APPEND_PLAIN(zeCommandListAppendEventReset, 0, r->event);
	APPEND_PLAIN(zeCommandListAppendSignalEvent, 0, r->event);
	APPEND_PLAIN(zeCommandListAppendWaitOnEvents, 0, 1, &r->event);
}

static void append_all(struct round *r, ze_command_list_handle_t list)
{
	append_memory(r, list);
	append_images(r, list);
	append_kernels(r, list);
	append_sync(r, list);
}

static void run_all(struct round *r)
{
	CHECK(zeEventHostSignal, r->waited);
	append_all(r, r->immediate);
	if (ze_is_ours()) {
		expect(zeEventQueryStatus(r->event) == ZE_RESULT_SUCCESS,
		       "immediate event signalled");
		memset(r->device, 0, BYTES);
	}
	CHECK(zeEventHostReset, r->event);
	memset(r->host, 0, BYTES);

	append_all(r, r->list);
	expect(zeEventQueryStatus(r->event) == ZE_RESULT_NOT_READY, "nothing ran before execution");
	CHECK(zeCommandListClose, r->list);
	CHECK(zeCommandQueueExecuteCommandLists, r->queue, 1, &r->list, r->fence);
	CHECK(zeCommandQueueSynchronize, r->queue, UINT64_MAX);
	CHECK(zeFenceHostSynchronize, r->fence, UINT64_MAX);
	CHECK(zeEventHostSynchronize, r->event, UINT64_MAX);
	/* nothing is computed where the hardware is missing */
	if (ze_is_ours())
		expect(!memcmp(r->host, r->device, BYTES) && r->host[0] == 4, "copied memory");
	TRACKED(zeCommandListReset, r->list, 0, "list", r->list);
}

static void use_virtual(struct round *r)
{
	ze_physical_mem_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
					.size = PAGES };
	const ze_memory_access_attribute_t rw = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
	ze_physical_mem_handle_t physical;
	size_t page;
	void *at;

	if (!ATTEMPTED(zePhysicalMemCreate, physical, PAGES, "physical", r->context, r->ze.device,
		       &desc, &physical))
		return;
	CHECK(zeVirtualMemQueryPageSize, r->context, r->ze.device, PAGES, &page);
	expect(PAGES % page == 0, "page size");
	/* a hint, not NULL: the parameter check of layer 1.8.12 refuses what the text allows */
	TRACKED(zeVirtualMemReserve, at, 2 * PAGES, "reservation", r->context, r->host, 2 * PAGES,
		&at);
	TRACKED(zeVirtualMemMap, at, PAGES, "mapping", r->context, at, PAGES, physical, 0, rw);
	memset(at, 1, PAGES);
	if (!is_left("mapping")) {
		TRACKED(zeVirtualMemUnmap, at, PAGES, "mapping", r->context, at, PAGES);
		ENDED("reservation", zeVirtualMemFree, at, 2 * PAGES, "reservation", r->context, at,
		      2 * PAGES);
	}
	ENDED("physical", zePhysicalMemDestroy, physical, PAGES, "physical", r->context, physical);
}

static void use_ipc(struct round *r)
{
	ze_ipc_mem_handle_t memory;
	ze_ipc_event_pool_handle_t pool;
	ze_event_pool_handle_t opened_pool;
	uint8_t *opened;

	CHECK(zeMemGetIpcHandle, r->context, r->device, &memory);
	if (ATTEMPTED(zeMemOpenIpcHandle, opened, 0, "ipc_memory", r->context, r->ze.device, memory,
		      0, (void **)&opened)) {
		expect(!memcmp(opened, r->device, BYTES), "contents of opened memory");
		ENDED("ipc_memory", zeMemCloseIpcHandle, opened, 0, "ipc_memory", r->context,
		      opened);
	}
	if (!ze_may_refuse(zeEventPoolGetIpcHandle(r->pool, &pool), "zeEventPoolGetIpcHandle",
			   __FILE__, __LINE__))
		return;
	TRACKED(zeEventPoolOpenIpcHandle, opened_pool, 0, "ipc_pool", r->context, pool,
		&opened_pool);
	ENDED("ipc_pool", zeEventPoolCloseIpcHandle, opened_pool, 0, "ipc_pool", opened_pool);
}

static void end_memory(struct round *r)
{
	ze_memory_free_ext_desc_t ext = { .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC };

	ENDED("device", zeMemFree, r->device, BYTES, "memory", r->context, r->device);
	ENDED("host", zeMemFree, r->host, BYTES, "memory", r->context, r->host);
	ENDED("shared", zeMemFreeExt, r->shared, BYTES, "memory", r->context, &ext, r->shared);
}

static void end_all(struct round *r)
{
	end_memory(r);
	ENDED("fence", zeFenceDestroy, r->fence, 0, "fence", r->fence);
	ENDED("event", zeEventDestroy, r->event, 0, "event", r->event);
	TRACKED(zeEventDestroy, r->waited, 0, "event", r->waited);
	ENDED("event_pool", zeEventPoolDestroy, r->pool, 0, "event_pool", r->pool);
	ENDED("sampler", zeSamplerDestroy, r->sampler, 0, "sampler", r->sampler);
	ENDED("view", zeImageDestroy, r->view, 0, "image", r->view);
	ENDED("image", zeImageDestroy, r->image, 0, "image", r->image);
	TRACKED(zeImageDestroy, r->other_image, 0, "image", r->other_image);
	ENDED("kernel", zeKernelDestroy, r->kernel, 0, "kernel", r->kernel);
	ENDED("build_log", zeModuleBuildLogDestroy, r->build_log, 0, "build_log", r->build_log);
	ENDED("module", zeModuleDestroy, r->module, 0, "module", r->module);
	ENDED("list", zeCommandListDestroy, r->list, 0, "list", r->list);
	ENDED("immediate", zeCommandListDestroy, r->immediate, 0, "list", r->immediate);
	ENDED("queue", zeCommandQueueDestroy, r->queue, 0, "queue", r->queue);
	TRACKED(zeContextDestroy, r->other_context, 0, "context", r->other_context);
	ENDED("context", zeContextDestroy, r->context, 0, "context", r->context);
}

int main(int argc, char **argv)
{
	struct ze ze;
	long rounds = 1;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--log"))
			ze_log_open(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--rounds"))
			rounds = atol(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--leak"))
			leaks_read(ze_value(argc, argv, &i));
		else
			return ze_usage(argv[0], "[--log FILE] [--rounds N] [--leak KIND[,KIND]]");
	}
	ze_open(&ze);
	for (long i = 0; i < rounds; i++) {
		struct round r = { .ze = ze };

		make_all(&r);
		run_all(&r);
		use_virtual(&r);
		use_ipc(&r);
		end_all(&r);
	}
	for (int i = 0; i < leak_count; i++)
		if (leaks[i][0]) {
			fprintf(stderr, "cannot leak '%s'\n", leaks[i]);
			return 2;
		}
	printf("rounds=%ld live=%ld\n", rounds, ze_live(NULL));
	return 0;
}
