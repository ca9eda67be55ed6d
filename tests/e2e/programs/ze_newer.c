/* SPDX-License-Identifier: MIT */
/*
 * ze_newer.c - calls functions newer than the installed loader, through tables of version 1.18 that
 * the test driver fills in and a layer wraps, as a current loader would have it done.
 *
 * usage: ze_newer LAYER.so DRIVER.so [--log FILE] [--leak]
 *
 * --log FILE	see ze_common.h
 * --leak	leaves one object of each newer kind alive
 */
#include "ze_common.h"

#include "../../fake/levelzero/newer.h"

#define SLOT_MAX 96
#define BYTES    4096u

typedef ze_result_t getter_fn(ze_api_version_t version, void *table);

static void *layer, *driver_lib;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found)
		return found;
	fprintf(stderr, "%s: not exported\n", name);
	exit(1);
}

/* The function in a slot of a table, wrapped by the layer. Asking again must change nothing. */
static void *slot(const char *table, int index)
{
	const ze_api_version_t version = (ze_api_version_t)ZE_MAKE_VERSION(1, 18);
	void *slots[SLOT_MAX] = { NULL };
	getter_fn *wrap;
	char getter[64];

	snprintf(getter, sizeof(getter), "zeGet%sProcAddrTable", table);
	wrap = (getter_fn *)symbol(layer, getter);
	ze_check(((getter_fn *)symbol(driver_lib, getter))(version, slots), getter, __FILE__,
		 __LINE__);
	ze_check(wrap(version, slots), getter, __FILE__, __LINE__);
	ze_check(wrap(version, slots), getter, __FILE__, __LINE__);
	if (!slots[index]) {
		fprintf(stderr, "%s: slot %d is empty\n", getter, index);
		exit(1);
	}
	return slots[index];
}

/* Functions of the headers, and newer ones: by name, with the type that they have. */
#define OLD(function, table, index) __typeof__(function) *p_##function = slot(table, index)
#define NEW(function, table, index) __typeof__(fake_##function) *p_##function = slot(table, index)

/* A tracked call through its slot; `handle` is looked at after the call. */
#define CALL(function, handle, size, kind, ...)                                                    \
	do {                                                                                       \
		ze_check(p_##function(__VA_ARGS__), #function, __FILE__, __LINE__);                \
		ze_log(#function, (void *)(handle), size, kind);                                   \
	} while (0)

struct place {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	bool leaks;
};

static void find_place(struct place *p)
{
	OLD(zeDeviceGet, "Device", 0);
	OLD(zeContextCreate, "Context", 0);
	NEW(zeInitDrivers, "Global", 1);
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t count = 1;

	ze_check(p_zeInitDrivers(&count, &p->driver, &desc), "zeInitDrivers", __FILE__, __LINE__);
	count = 1;
	ze_check(p_zeDeviceGet(p->driver, &count, &p->device), "zeDeviceGet", __FILE__, __LINE__);
	CALL(zeContextCreate, p->context, 0, "context", p->driver, &desc, &p->context);
}

static void use_events(struct place *p)
{
	NEW(zeEventCounterBasedCreate, "Event", 11);
	NEW(zeEventCounterBasedGetIpcHandle, "Event", 12);
	NEW(zeEventCounterBasedOpenIpcHandle, "Event", 13);
	NEW(zeEventCounterBasedCloseIpcHandle, "Event", 14);
	NEW(zeEventPoolPutIpcHandle, "EventPool", 5);
	OLD(zeEventDestroy, "Event", 1);
	OLD(zeEventPoolCreate, "EventPool", 0);
	OLD(zeEventPoolDestroy, "EventPool", 1);
	OLD(zeEventPoolGetIpcHandle, "EventPool", 2);
	ze_event_pool_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_event_handle_t event, opened;
	ze_ipc_event_pool_handle_t pool_ipc;
	ze_event_pool_handle_t pool;
	struct fake_ipc_event ipc;

	CALL(zeEventCounterBasedCreate, event, 0, "event", p->context, p->device, &desc, &event);
	CALL(zeEventCounterBasedGetIpcHandle, *(void **)ipc.data, 0, "ipc_handle", event, &ipc);
	CALL(zeEventCounterBasedOpenIpcHandle, opened, 0, "ipc_event", p->context, ipc, &opened);
	if (!p->leaks) {
		CALL(zeEventCounterBasedCloseIpcHandle, opened, 0, "ipc_event", opened);
		CALL(zeEventDestroy, event, 0, "event", event);
	}
	CALL(zeEventPoolCreate, pool, 0, "event_pool", p->context, &desc, 0, NULL, &pool);
	CALL(zeEventPoolGetIpcHandle, *(void **)pool_ipc.data, 0, "ipc_handle", pool, &pool_ipc);
	CALL(zeEventPoolPutIpcHandle, *(void **)pool_ipc.data, 0, "ipc_handle", p->context,
	     pool_ipc);
	CALL(zeEventPoolDestroy, pool, 0, "event_pool", pool);
}

static void use_images(struct place *p)
{
	OLD(zeImageCreate, "Image", 1);
	OLD(zeImageDestroy, "Image", 2);
	NEW(zeImageViewCreateExt, "Image", 4);
	ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .width = 8, .height = 8 };
	ze_image_handle_t image, view;

	CALL(zeImageCreate, image, 0, "image", p->context, p->device, &desc, &image);
	CALL(zeImageViewCreateExt, view, 0, "image", p->context, p->device, &desc, image, &view);
	if (p->leaks)
		return;
	CALL(zeImageDestroy, view, 0, "image", view);
	CALL(zeImageDestroy, image, 0, "image", image);
}

static void use_memory(struct place *p)
{
	OLD(zeMemAllocDevice, "Mem", 1);
	OLD(zeMemFree, "Mem", 3);
	NEW(zeMemPutIpcHandle, "Mem", 10);
	NEW(zeMemGetIpcHandleWithProperties, "Mem", 12);
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_ipc_mem_handle_t ipc;
	void *memory;

	CALL(zeMemAllocDevice, memory, BYTES, "memory", p->context, &desc, BYTES, 64, p->device,
	     &memory);
	CALL(zeMemGetIpcHandleWithProperties, *(void **)ipc.data, 0, "ipc_handle", p->context,
	     memory, NULL, &ipc);
	CALL(zeMemPutIpcHandle, *(void **)ipc.data, 0, "ipc_handle", p->context, ipc);
	CALL(zeMemFree, memory, BYTES, "memory", p->context, memory);
}

/* Functions that only zeDriverGetExtensionFunctionAddress finds. */
static void *by_address(struct place *p, const char *name)
{
	OLD(zeDriverGetExtensionFunctionAddress, "Driver", 5);
	void *function = NULL;

	ze_check(p_zeDriverGetExtensionFunctionAddress(p->driver, name, &function), name, __FILE__,
		 __LINE__);
	return function;
}

#define EXTENSION(function, like) __typeof__(fake_##like) *p_##function = by_address(p, #function)

static void use_event_extensions(struct place *p)
{
	EXTENSION(zexCounterBasedEventCreate, zexCounterBasedEventCreate);
	EXTENSION(zexCounterBasedEventCreate2, zeEventCounterBasedCreate);
	EXTENSION(zexCounterBasedEventGetIpcHandle, zeEventCounterBasedGetIpcHandle);
	EXTENSION(zexCounterBasedEventOpenIpcHandle, zeEventCounterBasedOpenIpcHandle);
	EXTENSION(zexCounterBasedEventCloseIpcHandle, zeEventCounterBasedCloseIpcHandle);
	OLD(zeEventDestroy, "Event", 1);
	ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_handle_t event, second, opened;
	struct fake_ipc_event ipc;

	CALL(zexCounterBasedEventCreate, event, 0, "event", p->context, p->device, NULL, NULL, 1,
	     &desc, &event);
	CALL(zexCounterBasedEventCreate2, second, 0, "event", p->context, p->device, &desc,
	     &second);
	CALL(zexCounterBasedEventGetIpcHandle, *(void **)ipc.data, 0, "ipc_handle", event, &ipc);
	CALL(zexCounterBasedEventOpenIpcHandle, opened, 0, "ipc_event", p->context, ipc, &opened);
	CALL(zexCounterBasedEventCloseIpcHandle, opened, 0, "ipc_event", opened);
	CALL(zeEventDestroy, second, 0, "event", second);
	CALL(zeEventDestroy, event, 0, "event", event);
}

/* Two IPC handles of one block, the block opened again, and shown to the host. */
static void use_memory_extensions(struct place *p)
{
	EXTENSION(zexMemGetIpcHandles, zexMemGetIpcHandles);
	EXTENSION(zexMemOpenIpcHandles, zexMemOpenIpcHandles);
	EXTENSION(zeIntelMemMapDeviceMemToHost, zeIntelMemMapDeviceMemToHost);
	OLD(zeMemAllocDevice, "Mem", 1);
	OLD(zeMemFree, "Mem", 3);
	OLD(zeMemCloseIpcHandle, "Mem", 8);
	NEW(zeMemPutIpcHandle, "Mem", 10);
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_ipc_mem_handle_t ipc[2];
	void *memory, *opened, *shown;
	uint32_t count = 0;

	CALL(zeMemAllocDevice, memory, BYTES, "memory", p->context, &desc, BYTES, 64, p->device,
	     &memory);
	/* asks only how many there are: no event */
	ze_check(p_zexMemGetIpcHandles(p->context, memory, &count, NULL), "zexMemGetIpcHandles",
		 __FILE__, __LINE__);
	CALL(zexMemGetIpcHandles, *(void **)ipc[0].data, 0, "ipc_handle", p->context, memory,
	     &count, ipc);
	CALL(zexMemOpenIpcHandles, opened, 0, "ipc_memory", p->context, p->device, count, ipc, 0,
	     &opened);
	CALL(zeIntelMemMapDeviceMemToHost, shown, 0, "host_mapping", p->context, memory, &shown,
	     NULL);
	CALL(zeMemCloseIpcHandle, opened, 0, "ipc_memory", p->context, opened);
	CALL(zeMemPutIpcHandle, *(void **)ipc[1].data, 0, "ipc_handle", p->context, ipc[1]);
	CALL(zeMemPutIpcHandle, *(void **)ipc[0].data, 0, "ipc_handle", p->context, ipc[0]);
	CALL(zeMemFree, memory, BYTES, "memory", p->context, memory);
}

/* A function of a table that was asked for by address is another one, below the loader. */
static void use_table_by_address(struct place *p)
{
	EXTENSION(zeGraphCreateExt, zeGraphCreateExt);
	NEW(zeGraphDestroyExt, "Graph", 6);
	void *graph;

	CALL(zeGraphCreateExt, graph, 0, "graph", p->context, NULL, &graph);
	CALL(zeGraphDestroyExt, graph, 0, "graph", graph);
}

static void use_cache(struct place *p)
{
	NEW(zeDeviceReserveCacheExt, "Device", 15);

	CALL(zeDeviceReserveCacheExt, p->device, BYTES, "cache", p->device, 0, BYTES);
	if (!p->leaks)
		CALL(zeDeviceReserveCacheExt, p->device, 0, "cache", p->device, 0, 0);
}

/* The test driver has no such table: these stand for it. */
static ze_result_t handle_from_file(ze_context_handle_t context, uint64_t file,
				    ze_ipc_mem_handle_t *handle)
{
	memset(handle, 0, sizeof(*handle));
	memcpy(handle->data, &file, sizeof(file));
	return context ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t file_from_handle(ze_context_handle_t context, ze_ipc_mem_handle_t handle,
				    uint64_t *file)
{
	memcpy(file, handle.data, sizeof(*file));
	return context ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t put_file_handle(ze_context_handle_t context, ze_ipc_mem_handle_t handle)
{
	(void)handle;
	return context ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static void use_file_handles(struct place *p)
{
	enum { FILE_NUMBER = 77 };
	const ze_api_version_t version = (ze_api_version_t)ZE_MAKE_VERSION(1, 18);
	void *slots[SLOT_MAX] = { (void *)handle_from_file, (void *)file_from_handle };
	void *mem[SLOT_MAX] = { [10] = (void *)put_file_handle };
	__typeof__(handle_from_file) *p_zeMemGetIpcHandleFromFileDescriptorExp;
	__typeof__(file_from_handle) *p_zeMemGetFileDescriptorFromIpcHandleExp;
	__typeof__(put_file_handle) *p_zeMemPutIpcHandle;
	ze_ipc_mem_handle_t handle;
	uint64_t file = 0;

	ze_check(((getter_fn *)symbol(layer, "zeGetMemExpProcAddrTable"))(version, slots),
		 "zeGetMemExpProcAddrTable", __FILE__, __LINE__);
	ze_check(((getter_fn *)symbol(layer, "zeGetMemProcAddrTable"))(version, mem),
		 "zeGetMemProcAddrTable", __FILE__, __LINE__);
	p_zeMemGetIpcHandleFromFileDescriptorExp = slots[0];
	p_zeMemGetFileDescriptorFromIpcHandleExp = slots[1];
	p_zeMemPutIpcHandle = mem[10];
	CALL(zeMemGetIpcHandleFromFileDescriptorExp, FILE_NUMBER, 0, "ipc_handle", p->context,
	     FILE_NUMBER, &handle);
	CALL(zeMemGetFileDescriptorFromIpcHandleExp, FILE_NUMBER, 0, "ipc_handle", p->context,
	     handle, &file);
	if (file != FILE_NUMBER) {
		fprintf(stderr, "the file descriptor did not arrive\n");
		exit(1);
	}
	CALL(zeMemPutIpcHandle, FILE_NUMBER, 0, "ipc_handle", p->context, handle);
}

static void use_rtas(struct place *p)
{
	NEW(zeRTASBuilderCreateExp, "RTASBuilderExp", 0);
	NEW(zeRTASBuilderDestroyExp, "RTASBuilderExp", 3);
	NEW(zeRTASBuilderCreateExt, "RTASBuilder", 0);
	NEW(zeRTASBuilderDestroyExt, "RTASBuilder", 4);
	NEW(zeRTASParallelOperationCreateExp, "RTASParallelOperationExp", 0);
	NEW(zeRTASParallelOperationDestroyExp, "RTASParallelOperationExp", 3);
	NEW(zeRTASParallelOperationCreateExt, "RTASParallelOperation", 0);
	NEW(zeRTASParallelOperationDestroyExt, "RTASParallelOperation", 3);
	void *builder, *operation;

	CALL(zeRTASBuilderCreateExp, builder, 0, "rtas_builder", p->driver, p, &builder);
	CALL(zeRTASBuilderDestroyExp, builder, 0, "rtas_builder", builder);
	CALL(zeRTASParallelOperationCreateExp, operation, 0, "rtas_operation", p->driver,
	     &operation);
	CALL(zeRTASParallelOperationDestroyExp, operation, 0, "rtas_operation", operation);
	CALL(zeRTASBuilderCreateExt, builder, 0, "rtas_builder", p->driver, p, &builder);
	CALL(zeRTASParallelOperationCreateExt, operation, 0, "rtas_operation", p->driver,
	     &operation);
	if (p->leaks)
		return;
	CALL(zeRTASParallelOperationDestroyExt, operation, 0, "rtas_operation", operation);
	CALL(zeRTASBuilderDestroyExt, builder, 0, "rtas_builder", builder);
}

static void set_true(void *flag)
{
	*(bool *)flag = true;
}

static void append_newer(struct place *p, ze_command_list_handle_t list, void *semaphore,
			 void *executable)
{
	NEW(zeCommandListAppendSignalExternalSemaphoreExt, "CommandList", 34);
	NEW(zeCommandListAppendWaitExternalSemaphoreExt, "CommandList", 35);
	NEW(zeCommandListAppendMemoryCopyWithParameters, "CommandList", 38);
	NEW(zeCommandListAppendMemoryFillWithParameters, "CommandList", 39);
	NEW(zeCommandListAppendGraphExt, "CommandList", 50);
	NEW(zeCommandListAppendHostFunction, "CommandList", 51);
	NEW(zeRTASBuilderCommandListAppendCopyExt, "RTASBuilder", 3);
	static char from[64], to[64];
	bool is_called = false;

	(void)p;
	CALL(zeCommandListAppendSignalExternalSemaphoreExt, list, 0, "list", list, 1, &semaphore,
	     from, NULL, 0, NULL);
	CALL(zeCommandListAppendWaitExternalSemaphoreExt, list, 0, "list", list, 1, &semaphore,
	     from, NULL, 0, NULL);
	CALL(zeCommandListAppendMemoryFillWithParameters, list, 0, "list", list, from, "x", 1,
	     sizeof(from), NULL, NULL, 0, NULL);
	CALL(zeCommandListAppendMemoryCopyWithParameters, list, 0, "list", list, to, from,
	     sizeof(to), NULL, NULL, 0, NULL);
	CALL(zeCommandListAppendGraphExt, list, 0, "list", list, executable, NULL, NULL, 0, NULL);
	CALL(zeCommandListAppendHostFunction, list, 0, "list", list, (void *)set_true, &is_called,
	     NULL, NULL, 0, NULL);
	CALL(zeRTASBuilderCommandListAppendCopyExt, list, 0, "list", list, to, from, sizeof(to),
	     NULL, 0, NULL);
	if (memcmp(to, from, sizeof(to)) || to[0] != 'x' || !is_called) {
		fprintf(stderr, "the arguments did not arrive\n");
		exit(1);
	}
}

static void append_kernels(struct place *p, ze_command_list_handle_t list)
{
	static const char source[] = "add";
	OLD(zeModuleCreate, "Module", 0);
	OLD(zeModuleDestroy, "Module", 1);
	OLD(zeKernelCreate, "Kernel", 0);
	OLD(zeKernelDestroy, "Kernel", 1);
	NEW(zeCommandListAppendLaunchKernelWithParameters, "CommandList", 36);
	NEW(zeCommandListAppendLaunchKernelWithArguments, "CommandList", 37);
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				  .format = ZE_MODULE_FORMAT_NATIVE,
				  .inputSize = sizeof(source),
				  .pInputModule = (const uint8_t *)source };
	ze_kernel_desc_t kernel_desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					 .pKernelName = "add" };
	const ze_group_count_t groups = { .groupCountX = 1, .groupCountY = 1, .groupCountZ = 1 };
	const struct fake_group_size size = { .x = 1, .y = 1, .z = 1 };
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;

	CALL(zeModuleCreate, module, 0, "module", p->context, p->device, &desc, &module, NULL);
	CALL(zeKernelCreate, kernel, 0, "kernel", module, &kernel_desc, &kernel);
	CALL(zeCommandListAppendLaunchKernelWithParameters, list, 0, "list", list, kernel, &groups,
	     NULL, NULL, 0, NULL);
	CALL(zeCommandListAppendLaunchKernelWithArguments, list, 0, "list", list, kernel, groups,
	     size, NULL, NULL, NULL, 0, NULL);
	CALL(zeKernelDestroy, kernel, 0, "kernel", kernel);
	CALL(zeModuleDestroy, module, 0, "module", module);
}

static void use_clones(struct place *p, ze_command_list_handle_t immediate)
{
	OLD(zeCommandListCreate, "CommandList", 0);
	OLD(zeCommandListDestroy, "CommandList", 2);
	OLD(zeCommandListClose, "CommandList", 3);
	NEW(zeCommandListCreateCloneExp, "CommandListExp", 0);
	NEW(zeCommandListImmediateAppendCommandListsExp, "CommandListExp", 1);
	NEW(zeCommandListImmediateAppendCommandListsWithParameters, "CommandList", 40);
	ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t list, clone;

	CALL(zeCommandListCreate, list, 0, "list", p->context, p->device, &desc, &list);
	ze_check(p_zeCommandListClose(list), "zeCommandListClose", __FILE__, __LINE__);
	CALL(zeCommandListCreateCloneExp, clone, 0, "list", list, &clone);
	CALL(zeCommandListImmediateAppendCommandListsExp, immediate, 0, "list", immediate, 1, &list,
	     NULL, 0, NULL);
	CALL(zeCommandListImmediateAppendCommandListsWithParameters, immediate, 0, "list",
	     immediate, 1, &clone, NULL, NULL, 0, NULL);
	if (!p->leaks)
		CALL(zeCommandListDestroy, clone, 0, "list", clone);
	CALL(zeCommandListDestroy, list, 0, "list", list);
}

static void use_lists(struct place *p)
{
	OLD(zeCommandListCreateImmediate, "CommandList", 1);
	OLD(zeCommandListDestroy, "CommandList", 2);
	NEW(zeDeviceImportExternalSemaphoreExt, "Device", 19);
	NEW(zeDeviceReleaseExternalSemaphoreExt, "Device", 20);
	NEW(zeGraphCreateExt, "Graph", 0);
	NEW(zeCommandListEndGraphCaptureExt, "CommandList", 48);
	NEW(zeGraphInstantiateExt, "Graph", 3);
	NEW(zeGraphDestroyExt, "Graph", 6);
	NEW(zeExecutableGraphDestroyExt, "ExecutableGraph", 1);
	ze_command_queue_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	void *semaphore, *graph, *same, *captured, *executable;
	ze_command_list_handle_t list;

	CALL(zeCommandListCreateImmediate, list, 0, "list", p->context, p->device, &desc, &list);
	CALL(zeDeviceImportExternalSemaphoreExt, semaphore, 0, "semaphore", p->device, &desc,
	     &semaphore);
	CALL(zeGraphCreateExt, graph, 0, "graph", p->context, NULL, &graph);
	/* into the graph, whose handle it returns again, and into a new one */
	CALL(zeCommandListEndGraphCaptureExt, same, 0, "graph", list, graph, &same);
	CALL(zeCommandListEndGraphCaptureExt, captured, 0, "graph", list, NULL, &captured);
	CALL(zeGraphInstantiateExt, executable, 0, "executable_graph", graph, NULL, &executable);
	append_newer(p, list, semaphore, executable);
	append_kernels(p, list);
	use_clones(p, list);
	CALL(zeCommandListDestroy, list, 0, "list", list);
	if (p->leaks)
		return;
	CALL(zeExecutableGraphDestroyExt, executable, 0, "executable_graph", executable);
	CALL(zeGraphDestroyExt, captured, 0, "graph", captured);
	CALL(zeGraphDestroyExt, graph, 0, "graph", graph);
	CALL(zeDeviceReleaseExternalSemaphoreExt, semaphore, 0, "semaphore", semaphore);
}

static void end_place(struct place *p)
{
	OLD(zeContextDestroy, "Context", 1);

	if (!p->leaks)
		CALL(zeContextDestroy, p->context, 0, "context", p->context);
}

int main(int argc, char **argv)
{
	struct place p = { 0 };

	for (int i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "--log"))
			ze_log_open(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--leak"))
			p.leaks = true;
		else
			argc = 0;
	}
	if (argc < 3)
		return ze_usage(argv[0], "LAYER.so DRIVER.so [--log FILE] [--leak]");
	layer = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
	driver_lib = dlopen(argv[2], RTLD_LAZY | RTLD_LOCAL);
	if (!layer || !driver_lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	find_place(&p);
	use_events(&p);
	use_images(&p);
	use_memory(&p);
	use_rtas(&p);
	use_lists(&p);
	use_file_handles(&p);
	use_event_extensions(&p);
	use_memory_extensions(&p);
	use_table_by_address(&p);
	use_cache(&p);
	end_place(&p);
	printf("done\n");
	return 0;
}
