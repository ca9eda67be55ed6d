/* SPDX-License-Identifier: MIT */
/*
 * event.c - event pools and events.
 *
 * A pool opened from an IPC handle has the original's size and its own events: nothing is shared
 * between processes but the right to open it.
 */
#include "fake.h"

#include <string.h>
#include <unistd.h>

#include "tables.h"

struct pool {
	struct object base;
	uint32_t count;
};

struct pool_ipc {
	char magic[8];
	uint32_t count;
};

static const char pool_magic[8] = "gtpool";

static ze_result_t pool_check(ze_event_pool_handle_t pool)
{
	ze_result_t rc = object_check(pool, KIND_EVENT_POOL);

	return rc == ZE_RESULT_ERROR_INVALID_ARGUMENT ? object_check(pool, KIND_IPC_POOL) : rc;
}

ze_result_t ZE_APICALL fake_zeEventPoolCreate(ze_context_handle_t context,
					      const ze_event_pool_desc_t *desc,
					      uint32_t device_count, ze_device_handle_t *devices,
					      ze_event_pool_handle_t *out)
{
	struct pool *p;

	ENTER(zeEventPoolCreate);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	if (!desc->count)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	for (uint32_t i = 0; devices && i < device_count; i++)
		NEED(device_check(devices[i]));
	p = object_new(KIND_EVENT_POOL, struct pool);
	if (!p)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	p->count = desc->count;
	*out = (ze_event_pool_handle_t)p;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventPoolDestroy(ze_event_pool_handle_t pool)
{
	ENTER(zeEventPoolDestroy);
	return object_free(pool, KIND_EVENT_POOL);
}

ze_result_t ZE_APICALL fake_zeEventPoolGetIpcHandle(ze_event_pool_handle_t pool,
						    ze_ipc_event_pool_handle_t *handle)
{
	struct pool_ipc ipc = { .count = 0 };

	ENTER(zeEventPoolGetIpcHandle);
	NEED(object_check(pool, KIND_EVENT_POOL));
	NEED_POINTER(handle);
	memcpy(ipc.magic, pool_magic, sizeof(ipc.magic));
	ipc.count = ((struct pool *)pool)->count;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle->data, &ipc, sizeof(ipc));
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventPoolOpenIpcHandle(ze_context_handle_t context,
						     ze_ipc_event_pool_handle_t handle,
						     ze_event_pool_handle_t *out)
{
	struct pool_ipc ipc;
	struct pool *p;

	ENTER(zeEventPoolOpenIpcHandle);
	NEED(object_check(context, KIND_CONTEXT));
	NEED_POINTER(out);
	memcpy(&ipc, handle.data, sizeof(ipc));
	if (memcmp(ipc.magic, pool_magic, sizeof(ipc.magic)))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	p = object_new(KIND_IPC_POOL, struct pool);
	if (!p)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	p->count = ipc.count;
	*out = (ze_event_pool_handle_t)p;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventPoolCloseIpcHandle(ze_event_pool_handle_t pool)
{
	ENTER(zeEventPoolCloseIpcHandle);
	return object_free(pool, KIND_IPC_POOL);
}

ze_result_t event_check(ze_event_handle_t event)
{
	ze_result_t rc = object_check(event, KIND_EVENT);

	return rc == ZE_RESULT_ERROR_INVALID_ARGUMENT ? object_check(event, KIND_IPC_EVENT) : rc;
}

void event_set(ze_event_handle_t event, bool signalled)
{
	struct event *e = (struct event *)event;

	if (signalled)
		atomic_store_explicit(&e->time_ns, now_ns(), memory_order_relaxed);
	atomic_store_explicit(&e->signalled, signalled, memory_order_release);
}

static bool is_signalled(ze_event_handle_t event)
{
	return atomic_load_explicit(&((struct event *)event)->signalled, memory_order_acquire);
}

ze_result_t event_times(ze_event_handle_t event, ze_kernel_timestamp_result_t *out)
{
	uint64_t t;

	NEED(event_check(event));
	if (!is_signalled(event))
		return ZE_RESULT_NOT_READY;
	t = atomic_load_explicit(&((struct event *)event)->time_ns, memory_order_relaxed);
	*out = (ze_kernel_timestamp_result_t){ .global = { t, t + 1 }, .context = { t, t + 1 } };
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
					  ze_event_handle_t *out)
{
	ENTER(zeEventCreate);
	NEED(pool_check(pool));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	if (desc->index >= ((struct pool *)pool)->count)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*out = (ze_event_handle_t)object_new(KIND_EVENT, struct event);
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t ZE_APICALL fake_zeEventDestroy(ze_event_handle_t event)
{
	ENTER(zeEventDestroy);
	return object_free(event, KIND_EVENT);
}

ze_result_t ZE_APICALL fake_zeEventHostSignal(ze_event_handle_t event)
{
	ENTER(zeEventHostSignal);
	NEED(event_check(event));
	event_set(event, true);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout_ns)
{
	uint64_t start = now_ns();

	ENTER(zeEventHostSynchronize);
	NEED(event_check(event));
	while (!is_signalled(event)) {
		if (now_ns() - start >= timeout_ns)
			return ZE_RESULT_NOT_READY;
		usleep(50);
	}
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventQueryStatus(ze_event_handle_t event)
{
	ENTER(zeEventQueryStatus);
	NEED(event_check(event));
	return is_signalled(event) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t ZE_APICALL fake_zeEventHostReset(ze_event_handle_t event)
{
	ENTER(zeEventHostReset);
	NEED(event_check(event));
	event_set(event, false);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeEventQueryKernelTimestamp(ze_event_handle_t event,
							ze_kernel_timestamp_result_t *out)
{
	ENTER(zeEventQueryKernelTimestamp);
	NEED_POINTER(out);
	return event_times(event, out);
}
