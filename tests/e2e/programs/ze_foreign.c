/* SPDX-License-Identifier: MIT */
/*
 * ze_foreign.c - makes one object of every kind and gives all back, whatever single calls answer.
 *
 * --log FILE	one line per call, also of one that failed: `function rc=0x… handle=0x… size=N`
 * --mode MODE	retry  (default) a call that fails is made once more
 *		twice  everything is destroyed a second time, and NULL is destroyed too
 *		child  a child destroys all that its parent made, then makes and destroys its own,
 *		       with its log in FILE.child; then the parent destroys everything
 *		chain  a child has a child has a child: each makes a context and destroys it
 *		broken a module does not build, another does not link: their logs are destroyed
 *		drivers one object of every kind in each driver there is, then all are destroyed
 *
 * Prints how many calls succeeded and failed.
 */
#include "ze_common.h"

#include <sys/wait.h>

#define BYTES       4096u
#define PAGES       (64u * 1024)
#define GENERATIONS 3
#define DRIVER_MAX  4

struct objects {
	struct ze ze;
	ze_context_handle_t context, other;
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list, immediate;
	ze_module_handle_t module;
	ze_module_build_log_handle_t build_log;
	ze_kernel_handle_t kernel;
	ze_event_pool_handle_t pool, opened_pool;
	ze_event_handle_t event;
	ze_fence_handle_t fence;
	ze_image_handle_t image, view;
	ze_sampler_handle_t sampler;
	void *device, *host, *shared, *opened, *reserved;
	ze_physical_mem_handle_t physical;
};

static int tries = 2;
static long succeeded, failed;

static void report(const char *function, ze_result_t rc, const void *handle, size_t size)
{
	char line[192];
	int n = snprintf(line, sizeof(line), "%s rc=0x%x handle=0x%llx size=%zu\n", function,
			 (unsigned int)rc, (unsigned long long)(uintptr_t)handle, size);

	if (rc == ZE_RESULT_SUCCESS)
		succeeded++;
	else
		failed++;
	if (ze_log_fd >= 0 && write(ze_log_fd, line, (size_t)n) != n) {
		perror("log");
		exit(2);
	}
}

/* `handle` is looked at after the call. */
#define ATTEMPT(function, handle, size, ...)                                                       \
	do {                                                                                       \
		ze_result_t rc_ = ZE_RESULT_NOT_READY;                                             \
		for (int try_ = 0; rc_ && try_ < tries; try_++) {                                  \
			rc_ = function(__VA_ARGS__);                                               \
			report(#function, rc_, (void *)(handle), size);                            \
		}                                                                                  \
	} while (0)

/* One that uses or ends a handle. Real drivers refuse some creations, and crash on what is not
 * there. */
#define ATTEMPT_ON(what, ...)                                                                      \
	do {                                                                                       \
		if ((what) || ze_is_ours())                                                        \
			ATTEMPT(__VA_ARGS__);                                                      \
	} while (0)
/* One that ends a handle. */
#define END(function, handle, ...) ATTEMPT_ON(handle, function, handle, __VA_ARGS__)

static void make_programs(struct objects *o)
{
	ze_module_desc_t module = ze_module_input();
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "add" };

	ATTEMPT(zeModuleCreate, o->module, 0, o->context, o->ze.device, &module, &o->module,
		&o->build_log);
	ATTEMPT(zeKernelCreate, o->kernel, 0, o->module, &kernel, &o->kernel);
}

static void make_images(struct objects *o)
{
	ze_image_desc_t image = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .width = 8, .height = 8 };
	ze_sampler_desc_t sampler = { .stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC };

	ATTEMPT(zeImageCreate, o->image, 0, o->context, o->ze.device, &image, &o->image);
	ATTEMPT(zeImageViewCreateExp, o->view, 0, o->context, o->ze.device, &image, o->image,
		&o->view);
	ATTEMPT(zeSamplerCreate, o->sampler, 0, o->context, o->ze.device, &sampler, &o->sampler);
}

static void make_sync(struct objects *o)
{
	ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 4 };
	ze_event_desc_t event = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_fence_desc_t fence = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_ipc_event_pool_handle_t ipc;

	ATTEMPT(zeEventPoolCreate, o->pool, 0, o->context, &pool, 0, NULL, &o->pool);
	ATTEMPT(zeEventCreate, o->event, 0, o->pool, &event, &o->event);
	ATTEMPT(zeFenceCreate, o->fence, 0, o->queue, &fence, &o->fence);
	ATTEMPT(zeEventPoolGetIpcHandle, NULL, 0, o->pool, &ipc);
	/* Intel's has none */
	ATTEMPT_ON(false, zeEventPoolOpenIpcHandle, o->opened_pool, 0, o->context, ipc,
		   &o->opened_pool);
}

static void make_memory(struct objects *o)
{
	ze_device_mem_alloc_desc_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	ze_physical_mem_desc_t physical = { .stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
					    .size = PAGES };
	ze_ipc_mem_handle_t ipc;

	ATTEMPT(zeMemAllocDevice, o->device, BYTES, o->context, &device, BYTES, 64, o->ze.device,
		&o->device);
	ATTEMPT(zeMemAllocHost, o->host, 2 * BYTES, o->context, &host, 2 * BYTES, 64, &o->host);
	ATTEMPT(zeMemAllocShared, o->shared, 3 * BYTES, o->context, &device, &host, 3 * BYTES, 64,
		o->ze.device, &o->shared);
	ATTEMPT(zeMemGetIpcHandle, NULL, 0, o->context, o->device, &ipc);
	ATTEMPT(zeMemOpenIpcHandle, o->opened, 0, o->context, o->ze.device, ipc, 0, &o->opened);
	ATTEMPT(zePhysicalMemCreate, o->physical, PAGES, o->context, o->ze.device, &physical,
		&o->physical);
	ATTEMPT(zeVirtualMemReserve, o->reserved, PAGES, o->context, o->host, PAGES, &o->reserved);
	ATTEMPT_ON(o->reserved, zeVirtualMemMap, o->reserved, PAGES, o->context, o->reserved, PAGES,
		   o->physical, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
}

static void make_all(struct objects *o)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };

	ATTEMPT(zeContextCreate, o->context, 0, o->ze.driver, &context, &o->context);
	ATTEMPT(zeContextCreateEx, o->other, 0, o->ze.driver, &context, 1, &o->ze.device,
		&o->other);
	ATTEMPT(zeCommandQueueCreate, o->queue, 0, o->context, o->ze.device, &queue, &o->queue);
	ATTEMPT(zeCommandListCreate, o->list, 0, o->context, o->ze.device, &list, &o->list);
	ATTEMPT(zeCommandListCreateImmediate, o->immediate, 0, o->context, o->ze.device, &queue,
		&o->immediate);
	make_programs(o);
	make_images(o);
	make_sync(o);
	make_memory(o);
	ATTEMPT(zeCommandListAppendBarrier, o->list, 0, o->list, o->event, 0, NULL);
	ATTEMPT(zeCommandListReset, o->list, 0, o->list);
}

static void end_memory(struct objects *o)
{
	ze_memory_free_ext_desc_t ext = { .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC };

	END(zeVirtualMemUnmap, o->reserved, PAGES, o->context, o->reserved, PAGES);
	END(zeVirtualMemFree, o->reserved, PAGES, o->context, o->reserved, PAGES);
	END(zePhysicalMemDestroy, o->physical, PAGES, o->context, o->physical);
	END(zeMemCloseIpcHandle, o->opened, 0, o->context, o->opened);
	END(zeMemFree, o->device, BYTES, o->context, o->device);
	END(zeMemFree, o->host, 2 * BYTES, o->context, o->host);
	END(zeMemFreeExt, o->shared, 3 * BYTES, o->context, &ext, o->shared);
}

/* The first context goes last, because others are made of it. */
static void end_all(struct objects *o)
{
	end_memory(o);
	END(zeEventPoolCloseIpcHandle, o->opened_pool, 0, o->opened_pool);
	END(zeFenceDestroy, o->fence, 0, o->fence);
	END(zeEventDestroy, o->event, 0, o->event);
	END(zeEventPoolDestroy, o->pool, 0, o->pool);
	END(zeSamplerDestroy, o->sampler, 0, o->sampler);
	END(zeImageDestroy, o->view, 0, o->view);
	END(zeImageDestroy, o->image, 0, o->image);
	END(zeKernelDestroy, o->kernel, 0, o->kernel);
	END(zeModuleBuildLogDestroy, o->build_log, 0, o->build_log);
	END(zeModuleDestroy, o->module, 0, o->module);
	END(zeCommandListDestroy, o->list, 0, o->list);
	END(zeCommandListDestroy, o->immediate, 0, o->immediate);
	END(zeCommandQueueDestroy, o->queue, 0, o->queue);
	END(zeContextDestroy, o->other, 0, o->other);
}

static void end_context(struct objects *o)
{
	END(zeContextDestroy, o->context, 0, o->context);
}

static void by_twice(struct objects *o)
{
	tries = 1;
	make_all(o);
	end_all(o);
	end_all(o);
	end_all(&(struct objects){ .context = o->context });
	end_context(o);
	end_context(o);
	end_context(&(struct objects){ 0 });
}

static void open_log(const char *log, const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.%s", log, suffix);
	if (log)
		ze_log_open(path);
}

static void await_child(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

static void by_child(struct objects *o, const char *log)
{
	pid_t child;

	tries = 1;
	make_all(o);
	fflush(stdout);
	child = fork();
	if (!child) {
		struct objects own = { .ze = o->ze };

		succeeded = failed = 0;
		open_log(log, "child");
		end_all(o);
		end_context(o);
		make_all(&own);
		end_all(&own);
		end_context(&own);
		return;
	}
	await_child(child);
	end_all(o);
	end_context(o);
}

static void by_chain(struct objects *o, int generation)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	pid_t child;

	ATTEMPT(zeContextCreate, o->context, 0, o->ze.driver, &desc, &o->context);
	if (generation < GENERATIONS) {
		child = fork();
		if (!child) {
			by_chain(o, generation + 1);
			exit(0);
		}
		await_child(child);
	}
	ATTEMPT(zeContextDestroy, o->context, 0, o->context);
}

static void by_broken(struct objects *o)
{
	static const char source[] = "!", unlinked[] = "?";
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_module_desc_t module = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				    .format = ZE_MODULE_FORMAT_NATIVE,
				    .inputSize = sizeof(source),
				    .pInputModule = (const uint8_t *)source };

	tries = 1;
	ATTEMPT(zeContextCreate, o->context, 0, o->ze.driver, &context, &o->context);
	ATTEMPT(zeModuleCreate, o->module, 0, o->context, o->ze.device, &module, &o->module,
		&o->build_log);
	ATTEMPT(zeModuleBuildLogDestroy, o->build_log, 0, o->build_log);
	module.pInputModule = (const uint8_t *)unlinked;
	ATTEMPT(zeModuleCreate, o->module, 0, o->context, o->ze.device, &module, &o->module, NULL);
	ATTEMPT(zeModuleDynamicLink, o->build_log, 0, 1, &o->module, &o->build_log);
	ATTEMPT(zeModuleBuildLogDestroy, o->build_log, 0, o->build_log);
	ATTEMPT(zeModuleDestroy, o->module, 0, o->module);
	ATTEMPT(zeContextDestroy, o->context, 0, o->context);
}

static void by_drivers(void)
{
	ze_driver_handle_t drivers[DRIVER_MAX];
	struct objects o[DRIVER_MAX] = { 0 };
	uint32_t count = DRIVER_MAX, devices;

	tries = 1;
	CHECK(zeDriverGet, &count, drivers);
	for (uint32_t i = 0; i < count; i++) {
		devices = 1;
		o[i].ze.driver = drivers[i];
		ze_use(drivers[i]);
		CHECK(zeDeviceGet, drivers[i], &devices, &o[i].ze.device);
		make_all(&o[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		ze_use(drivers[i]);
		end_all(&o[i]);
		end_context(&o[i]);
	}
	printf("drivers=%u ", count);
}

int main(int argc, char **argv)
{
	const char *mode = "retry", *log = NULL;
	struct objects o = { 0 };

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--mode"))
			mode = ze_value(argc, argv, &i);
		else if (!strcmp(argv[i], "--log"))
			log = ze_value(argc, argv, &i);
		else
			return ze_usage(
				argv[0],
				"[--mode retry|twice|child|chain|broken|drivers] [--log FILE]");
	}
	if (log)
		ze_log_open(log);
	ze_open(&o.ze);
	if (!strcmp(mode, "twice")) {
		by_twice(&o);
	} else if (!strcmp(mode, "child")) {
		by_child(&o, log);
	} else if (!strcmp(mode, "chain")) {
		by_chain(&o, 1);
	} else if (!strcmp(mode, "broken")) {
		by_broken(&o);
	} else if (!strcmp(mode, "drivers")) {
		by_drivers();
	} else {
		make_all(&o);
		end_all(&o);
		end_context(&o);
	}
	printf("succeeded=%ld failed=%ld\n", succeeded, failed);
	return 0;
}
