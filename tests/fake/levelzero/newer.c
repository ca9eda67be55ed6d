/* SPDX-License-Identifier: MIT */
/*
 * newer.c - objects and calls of specifications after 1.4, for new loaders.
 *
 * Left out: the start of a graph capture (it changes what an append means), mutable command lists,
 * queries that create nothing, and the zer_ runtime tables.
 */
#include "newer.h"

#include <string.h>

#include "fake.h"
#include "tables.h"

struct plain {
	struct object base;
};

struct event_ipc {
	char magic[8];
};

/* of an IPC handle, and the tiles that memory has */
enum { TILE_BYTE = 7, TILES = 2 };

static const char event_magic[8] = "gtevent";

static ze_result_t plain_new(enum kind kind, void **out)
{
	NEED_POINTER(out);
	*out = object_new(kind, struct plain);
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t fake_zeInitDrivers(uint32_t *count, ze_driver_handle_t *drivers, const void *desc)
{
	ENTER(zeInitDrivers);
	NEED_POINTER(desc);
	return driver_list(count, drivers);
}

ze_result_t fake_zeDriverGetLastErrorDescription(ze_driver_handle_t driver, const char **text)
{
	ENTER(zeDriverGetLastErrorDescription);
	NEED(driver_check(driver));
	NEED_POINTER(text);
	*text = "";
	return ZE_RESULT_SUCCESS;
}

ze_context_handle_t fake_zeDriverGetDefaultContext(ze_driver_handle_t driver)
{
	return driver_check(driver) == ZE_RESULT_SUCCESS ? context_default() : NULL;
}

ze_result_t fake_zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root)
{
	ENTER(zeDeviceGetRootDevice);
	NEED(device_check(device));
	NEED_POINTER(root);
	*root = NULL;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeDeviceSynchronize(ze_device_handle_t device)
{
	ENTER(zeDeviceSynchronize);
	return device_check(device);
}

/* A size of 0 returns what was reserved; nothing is. */
ze_result_t fake_zeDeviceReserveCacheExt(ze_device_handle_t device, size_t level, size_t size)
{
	ENTER(zeDeviceReserveCacheExt);
	(void)level;
	(void)size;
	return device_check(device);
}

ze_result_t fake_zeDeviceImportExternalSemaphoreExt(ze_device_handle_t device, const void *desc,
						    void **semaphore)
{
	ENTER(zeDeviceImportExternalSemaphoreExt);
	NEED(device_check(device));
	NEED_POINTER(desc);
	return plain_new(KIND_SEMAPHORE, semaphore);
}

ze_result_t fake_zeDeviceReleaseExternalSemaphoreExt(void *semaphore)
{
	ENTER(zeDeviceReleaseExternalSemaphoreExt);
	return object_free(semaphore, KIND_SEMAPHORE);
}

static ze_result_t append_semaphores(ze_command_list_handle_t list, uint32_t count,
				     void **semaphores, ze_event_handle_t signal,
				     uint32_t wait_count, ze_event_handle_t *waits)
{
	const struct command nothing = { .op = OP_NOTHING };

	NEED_POINTER(semaphores);
	for (uint32_t i = 0; i < count; i++)
		NEED(object_check(semaphores[i], KIND_SEMAPHORE));
	return list_append(list, &nothing, signal, wait_count, waits);
}

ze_result_t fake_zeCommandListAppendSignalExternalSemaphoreExt(
	ze_command_list_handle_t list, uint32_t count, void **semaphores, const void *parameters,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
	ENTER(zeCommandListAppendSignalExternalSemaphoreExt);
	NEED_POINTER(parameters);
	return append_semaphores(list, count, semaphores, signal, wait_count, waits);
}

ze_result_t fake_zeCommandListAppendWaitExternalSemaphoreExt(
	ze_command_list_handle_t list, uint32_t count, void **semaphores, const void *parameters,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
	ENTER(zeCommandListAppendWaitExternalSemaphoreExt);
	NEED_POINTER(parameters);
	return append_semaphores(list, count, semaphores, signal, wait_count, waits);
}

ze_result_t fake_zeCommandListCreateCloneExp(ze_command_list_handle_t list,
					     ze_command_list_handle_t *clone)
{
	ENTER(zeCommandListCreateCloneExp);
	return list_clone(list, clone);
}

static ze_result_t append_lists(ze_command_list_handle_t list, uint32_t count,
				ze_command_list_handle_t *lists, ze_event_handle_t signal,
				uint32_t wait_count, ze_event_handle_t *waits)
{
	const struct command nothing = { .op = OP_NOTHING };

	NEED(object_check(list, KIND_LIST));
	NEED_POINTER(lists);
	for (uint32_t i = 0; i < count; i++)
		NEED(list_run(lists[i]));
	return list_append(list, &nothing, signal, wait_count, waits);
}

ze_result_t fake_zeCommandListImmediateAppendCommandListsExp(
	ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists,
	ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
	ENTER(zeCommandListImmediateAppendCommandListsExp);
	return append_lists(list, count, lists, signal, wait_count, waits);
}

ze_result_t fake_zeCommandListImmediateAppendCommandListsWithParameters(
	ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists,
	const void *next, ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
	ENTER(zeCommandListImmediateAppendCommandListsWithParameters);
	(void)next;
	return append_lists(list, count, lists, signal, wait_count, waits);
}

ze_result_t fake_zeCommandListAppendGraphExt(ze_command_list_handle_t list, void *graph,
					     const void *next, ze_event_handle_t signal,
					     uint32_t wait_count, ze_event_handle_t *waits)
{
	const struct command nothing = { .op = OP_NOTHING };

	ENTER(zeCommandListAppendGraphExt);
	(void)next;
	NEED(object_check(graph, KIND_EXEC_GRAPH));
	return list_append(list, &nothing, signal, wait_count, waits);
}

/* The function is called at once: the device works on the thread that submits. */
ze_result_t fake_zeCommandListAppendHostFunction(ze_command_list_handle_t list, void *function,
						 void *data, const void *next,
						 ze_event_handle_t signal, uint32_t wait_count,
						 ze_event_handle_t *waits)
{
	const struct command nothing = { .op = OP_NOTHING };

	ENTER(zeCommandListAppendHostFunction);
	(void)next;
	NEED_POINTER(function);
	NEED(object_check(list, KIND_LIST));
	((void (*)(void *))function)(data);
	return list_append(list, &nothing, signal, wait_count, waits);
}

ze_result_t fake_zeRTASBuilderCommandListAppendCopyExt(ze_command_list_handle_t list, void *dst,
						       const void *src, size_t size,
						       ze_event_handle_t signal,
						       uint32_t wait_count,
						       ze_event_handle_t *waits)
{
	ENTER(zeRTASBuilderCommandListAppendCopyExt);
	return fake_zeCommandListAppendMemoryCopy(list, dst, src, size, signal, wait_count, waits);
}

ze_result_t fake_zeImageViewCreateExt(ze_context_handle_t context, ze_device_handle_t device,
				      const ze_image_desc_t *desc, ze_image_handle_t image,
				      ze_image_handle_t *view)
{
	ENTER(zeImageViewCreateExt);
	return image_view_new(context, device, desc, image, view);
}

ze_result_t fake_zeEventPoolPutIpcHandle(ze_context_handle_t context,
					 ze_ipc_event_pool_handle_t handle)
{
	ENTER(zeEventPoolPutIpcHandle);
	(void)handle;
	return object_check(context, KIND_CONTEXT);
}

/* As the specification has it, such an event starts out signalled. */
ze_result_t fake_zeEventCounterBasedCreate(ze_context_handle_t context, ze_device_handle_t device,
					   const void *desc, ze_event_handle_t *event)
{
	ENTER(zeEventCounterBasedCreate);
	NEED(place_check(context, device));
	NEED_POINTER(desc);
	NEED_POINTER(event);
	*event = (ze_event_handle_t)object_new(KIND_EVENT, struct event);
	if (!*event)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	event_set(*event, true);
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zexCounterBasedEventCreate(ze_context_handle_t context, ze_device_handle_t device,
					    uint64_t *device_address, uint64_t *host_address,
					    uint64_t value, const ze_event_desc_t *desc,
					    ze_event_handle_t *event)
{
	ENTER(zexCounterBasedEventCreate);
	(void)device_address;
	(void)host_address;
	(void)value;
	return fake_zeEventCounterBasedCreate(context, device, desc, event);
}

ze_result_t fake_zeEventCounterBasedGetIpcHandle(ze_event_handle_t event,
						 struct fake_ipc_event *handle)
{
	ENTER(zeEventCounterBasedGetIpcHandle);
	NEED(object_check(event, KIND_EVENT));
	NEED_POINTER(handle);
	/* its first eight bytes tell it from those of other events */
	memset(handle, 0, sizeof(*handle));
	memcpy(handle->data, &event, sizeof(event));
	memcpy(handle->data + sizeof(event), event_magic, sizeof(event_magic));
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeEventCounterBasedOpenIpcHandle(ze_context_handle_t context,
						  struct fake_ipc_event handle,
						  ze_event_handle_t *event)
{
	ENTER(zeEventCounterBasedOpenIpcHandle);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(event);
	if (memcmp(handle.data + sizeof(*event), event_magic, sizeof(event_magic)))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*event = (ze_event_handle_t)object_new(KIND_IPC_EVENT, struct event);
	return *event ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t fake_zeEventCounterBasedCloseIpcHandle(ze_event_handle_t event)
{
	ENTER(zeEventCounterBasedCloseIpcHandle);
	return object_free(event, KIND_IPC_EVENT);
}

ze_result_t fake_zeEventCounterBasedGetDeviceAddress(ze_event_handle_t event, uint64_t *value,
						     uint64_t *address)
{
	ENTER(zeEventCounterBasedGetDeviceAddress);
	NEED(event_check(event));
	NEED_POINTER(value);
	NEED_POINTER(address);
	*value = 1;
	*address = (uintptr_t)event;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle)
{
	ENTER(zeMemPutIpcHandle);
	NEED(object_check(context, KIND_CONTEXT));
	return handle.data[TILE_BYTE] ? ZE_RESULT_SUCCESS : memory_ipc_put(handle);
}

/* As if the memory lay on two tiles: the second handle differs from the first in one byte. */
ze_result_t fake_zexMemGetIpcHandles(ze_context_handle_t context, const void *ptr, uint32_t *count,
				     ze_ipc_mem_handle_t *handles)
{
	ENTER(zexMemGetIpcHandles);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	NEED_POINTER(count);
	if (!*count || *count > TILES)
		*count = TILES;
	for (uint32_t i = 0; handles && i < *count; i++) {
		NEED(memory_ipc_get(ptr, &handles[i]));
		handles[i].data[TILE_BYTE] = (char)i;
	}
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zexMemOpenIpcHandles(ze_context_handle_t context, ze_device_handle_t device,
				      uint32_t count, ze_ipc_mem_handle_t *handles,
				      ze_ipc_memory_flags_t flags, void **out)
{
	ENTER(zexMemOpenIpcHandles);
	NEED_POINTER(handles);
	return count ? fake_zeMemOpenIpcHandle(context, device, handles[0], flags, out) :
		       ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t fake_zeIntelMemMapDeviceMemToHost(ze_context_handle_t context, const void *ptr,
					      void **out, void *next)
{
	ENTER(zeIntelMemMapDeviceMemToHost);
	(void)next;
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	NEED_POINTER(out);
	*out = (void *)ptr;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeMemGetIpcHandleWithProperties(ze_context_handle_t context, const void *ptr,
						 void *next, ze_ipc_mem_handle_t *handle)
{
	ENTER(zeMemGetIpcHandleWithProperties);
	(void)next;
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(ptr);
	NEED_POINTER(handle);
	return memory_ipc_get(ptr, handle);
}

/* The descriptor that an IPC handle holds is the handle's own, and the other way round. */
ze_result_t fake_zeMemGetIpcHandleFromFileDescriptorExp(ze_context_handle_t context, uint64_t fd,
							ze_ipc_mem_handle_t *handle)
{
	ENTER(zeMemGetIpcHandleFromFileDescriptorExp);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(handle);
	memset(handle, 0, sizeof *handle);
	memcpy(handle->data, &fd, sizeof fd);
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeMemGetFileDescriptorFromIpcHandleExp(ze_context_handle_t context,
							ze_ipc_mem_handle_t handle, uint64_t *fd)
{
	ENTER(zeMemGetFileDescriptorFromIpcHandleExp);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(fd);
	memcpy(fd, handle.data, sizeof *fd);
	return ZE_RESULT_SUCCESS;
}

#define DEFINE_RTAS(flavour)                                                                       \
	ze_result_t fake_zeRTASBuilderCreate##flavour(ze_driver_handle_t driver, const void *desc, \
						      void **builder)                              \
	{                                                                                          \
		ENTER(zeRTASBuilderCreate##flavour);                                               \
		NEED(driver_check(driver));                                                        \
		NEED_POINTER(desc);                                                                \
		return plain_new(KIND_RTAS_BUILDER, builder);                                      \
	}                                                                                          \
	ze_result_t fake_zeRTASBuilderDestroy##flavour(void *builder)                              \
	{                                                                                          \
		ENTER(zeRTASBuilderDestroy##flavour);                                              \
		return object_free(builder, KIND_RTAS_BUILDER);                                    \
	}                                                                                          \
	ze_result_t fake_zeRTASParallelOperationCreate##flavour(ze_driver_handle_t driver,         \
								void **operation)                  \
	{                                                                                          \
		ENTER(zeRTASParallelOperationCreate##flavour);                                     \
		NEED(driver_check(driver));                                                        \
		return plain_new(KIND_RTAS_OPERATION, operation);                                  \
	}                                                                                          \
	ze_result_t fake_zeRTASParallelOperationJoin##flavour(void *operation)                     \
	{                                                                                          \
		ENTER(zeRTASParallelOperationJoin##flavour);                                       \
		return object_check(operation, KIND_RTAS_OPERATION);                               \
	}                                                                                          \
	ze_result_t fake_zeRTASParallelOperationDestroy##flavour(void *operation)                  \
	{                                                                                          \
		ENTER(zeRTASParallelOperationDestroy##flavour);                                    \
		return object_free(operation, KIND_RTAS_OPERATION);                                \
	}
DEFINE_RTAS(Exp)
DEFINE_RTAS(Ext)

ze_result_t fake_zeGraphCreateExt(ze_context_handle_t context, const void *next, void **graph)
{
	ENTER(zeGraphCreateExt);
	(void)next;
	NEED(object_check(context, KIND_CONTEXT));
	return plain_new(KIND_GRAPH, graph);
}

/* Nothing is captured: a graph that is passed in counts as the one that was captured into. */
ze_result_t fake_zeCommandListEndGraphCaptureExt(ze_command_list_handle_t list, const void *next,
						 void **graph)
{
	ENTER(zeCommandListEndGraphCaptureExt);
	NEED(object_check(list, KIND_LIST));
	if (!next)
		return plain_new(KIND_GRAPH, graph);
	NEED(object_check((void *)next, KIND_GRAPH));
	*graph = (void *)next;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeGraphInstantiateExt(void *graph, const void *next, void **executable)
{
	ENTER(zeGraphInstantiateExt);
	(void)next;
	NEED(object_check(graph, KIND_GRAPH));
	return plain_new(KIND_EXEC_GRAPH, executable);
}

ze_result_t fake_zeGraphDestroyExt(void *graph)
{
	ENTER(zeGraphDestroyExt);
	return object_free(graph, KIND_GRAPH);
}

ze_result_t fake_zeExecutableGraphDestroyExt(void *executable)
{
	ENTER(zeExecutableGraphDestroyExt);
	return object_free(executable, KIND_EXEC_GRAPH);
}
