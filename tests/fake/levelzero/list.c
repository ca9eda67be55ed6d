/* SPDX-License-Identifier: MIT */
/*
 * list.c - command lists, queues and fences: recording and running.
 *
 * The device works at once, in order, on the thread that submits. Regular lists keep their
 * commands and can be executed again and again; immediate ones run them as they come.
 */
#include "fake.h"

#include <string.h>

#include "tables.h"

struct list {
	struct object base;
	bool is_immediate, is_closed;
	ze_context_handle_t context;
	ze_device_handle_t device;
	struct command *first, **last;
};

struct queue {
	struct object base;
};

struct fence {
	struct object base;
	_Atomic uint32_t signalled;
};

static void copy_box(char *dst, const char *src, const struct box *b)
{
	for (size_t z = 0; z < b->slices; z++)
		for (size_t y = 0; y < b->rows; y++)
			memmove(dst + z * b->dst_slice + y * b->dst_pitch,
				src + z * b->src_slice + y * b->src_pitch, b->row_bytes);
}

static void query_times(const struct command *c)
{
	ze_event_handle_t *events = c->times.block->events;
	size_t *offsets = (size_t *)(events + c->times.count);

	for (uint32_t i = 0; i < c->times.count; i++) {
		ze_kernel_timestamp_result_t t = { .global = { 0, 0 } };
		size_t at = c->times.has_offsets ? offsets[i] : i * sizeof(t);

		event_times(events[i], &t);
		memcpy((char *)c->dst + at, &t, sizeof(t));
	}
}

static void run(const struct command *c)
{
	uint64_t time_ns;

	switch (c->op) {
	case OP_COPY: memmove(c->dst, c->src, c->size); break;
	case OP_FILL:
		for (size_t at = 0; at < c->fill.size; at++)
			((uint8_t *)c->dst)[at] = c->fill.pattern[at % c->fill.pattern_bytes];
		break;
	case OP_COPY_BOX: copy_box(c->dst, c->src, &c->box); break;
	case OP_GLOBAL_TIME:
		time_ns = now_ns();
		memcpy(c->dst, &time_ns, sizeof(time_ns));
		break;
	case OP_EVENT_RESET:
		if (event_check(c->event) == ZE_RESULT_SUCCESS)
			event_set(c->event, false);
		break;
	case OP_EVENT_TIMES: query_times(c); break;
	case OP_NOTHING: break;
	}
	/* it may be gone by the time a list is executed: then nobody can tell */
	if (c->signal && event_check(c->signal) == ZE_RESULT_SUCCESS)
		event_set(c->signal, true);
}

static void command_drop(const struct command *c)
{
	if (c->op == OP_EVENT_TIMES)
		block_put(c->times.block);
}

static void forget(struct list *l)
{
	while (l->first) {
		struct command *c = l->first;

		l->first = c->next;
		command_drop(c);
		block_put(c);
	}
	l->last = &l->first;
}

static ze_result_t check_append(const struct list *l, ze_event_handle_t signal, uint32_t wait_count,
				ze_event_handle_t *waits)
{
	NEED(object_check(l, KIND_LIST));
	if (l->is_closed)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (signal)
		NEED(event_check(signal));
	if (wait_count && !waits)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	for (uint32_t i = 0; i < wait_count; i++)
		NEED(event_check(waits[i]));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t record(struct list *l, const struct command *c)
{
	struct command *copy = block_get(sizeof(*copy));

	if (!copy)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	/* past the header, whose words belong to the arena */
	memcpy((char *)copy + sizeof(copy->base), (const char *)c + sizeof(c->base),
	       sizeof(*c) - sizeof(c->base));
	copy->next = NULL;
	*l->last = copy;
	l->last = &copy->next;
	return ZE_RESULT_SUCCESS;
}

ze_result_t list_append(ze_command_list_handle_t list, const struct command *wanted,
			ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
	struct list *l = (struct list *)list;
	struct command c = *wanted;
	ze_result_t rc = check_append(l, signal, wait_count, waits);

	c.signal = signal;
	if (rc == ZE_RESULT_SUCCESS && !l->is_immediate) {
		rc = record(l, &c);
		if (rc == ZE_RESULT_SUCCESS)
			return rc;
	} else if (rc == ZE_RESULT_SUCCESS) {
		run(&c);
	}
	command_drop(&c);
	return rc;
}

ze_result_t list_run(ze_command_list_handle_t list)
{
	struct list *l = (struct list *)list;

	NEED(object_check(l, KIND_LIST));
	if (l->is_immediate || !l->is_closed)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	for (struct command *c = l->first; c; c = c->next)
		run(c);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_new(ze_context_handle_t context, ze_device_handle_t device,
			    bool is_immediate, ze_command_list_handle_t *out)
{
	struct list *l;

	NEED(place_check(context, device));
	NEED_POINTER(out);
	l = object_new(KIND_LIST, struct list);
	if (!l)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	l->is_immediate = is_immediate;
	l->context = context;
	l->device = device;
	l->last = &l->first;
	*out = (ze_command_list_handle_t)l;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t command_copy(struct list *to, const struct command *c)
{
	struct command copy = *c;

	if (c->op == OP_EVENT_TIMES) {
		size_t bytes = c->times.count * (sizeof(ze_event_handle_t) + sizeof(size_t));

		copy.times.block = block_get(sizeof(struct event_query) + bytes);
		if (!copy.times.block)
			return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		memcpy(copy.times.block->events, c->times.block->events, bytes);
	}
	return record(to, &copy);
}

ze_result_t list_clone(ze_command_list_handle_t list, ze_command_list_handle_t *out)
{
	const struct list *from = (struct list *)list;
	struct list *to;

	NEED(object_check(list, KIND_LIST));
	NEED_POINTER(out);
	if (from->is_immediate)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	NEED(list_new(from->context, from->device, false, out));
	to = (struct list *)*out;
	to->is_closed = from->is_closed;
	for (const struct command *c = from->first; c; c = c->next)
		if (command_copy(to, c) != ZE_RESULT_SUCCESS) {
			forget(to);
			object_free(to, KIND_LIST);
			return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		}
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeCommandListCreate(ze_context_handle_t context,
						ze_device_handle_t device,
						const ze_command_list_desc_t *desc,
						ze_command_list_handle_t *out)
{
	ENTER(zeCommandListCreate);
	NEED_POINTER(desc);
	return list_new(context, device, false, out);
}

ze_result_t ZE_APICALL fake_zeCommandListCreateImmediate(ze_context_handle_t context,
							 ze_device_handle_t device,
							 const ze_command_queue_desc_t *desc,
							 ze_command_list_handle_t *out)
{
	ENTER(zeCommandListCreateImmediate);
	NEED_POINTER(desc);
	return list_new(context, device, true, out);
}

ze_result_t ZE_APICALL fake_zeCommandListDestroy(ze_command_list_handle_t list)
{
	ENTER(zeCommandListDestroy);
	NEED(object_end(list, KIND_LIST));
	forget((struct list *)list);
	block_put(list);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeCommandListClose(ze_command_list_handle_t list)
{
	ENTER(zeCommandListClose);
	NEED(object_check(list, KIND_LIST));
	((struct list *)list)->is_closed = true;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeCommandListReset(ze_command_list_handle_t list)
{
	ENTER(zeCommandListReset);
	NEED(object_check(list, KIND_LIST));
	forget((struct list *)list);
	((struct list *)list)->is_closed = false;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout)
{
	ENTER(zeCommandListHostSynchronize);
	(void)timeout;
	return object_check(list, KIND_LIST);
}

ze_result_t fake_zeCommandListGetDeviceHandle(ze_command_list_handle_t list,
					      ze_device_handle_t *device)
{
	ENTER(zeCommandListGetDeviceHandle);
	NEED(object_check(list, KIND_LIST));
	NEED_POINTER(device);
	*device = ((struct list *)list)->device;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeCommandListGetContextHandle(ze_command_list_handle_t list,
					       ze_context_handle_t *context)
{
	ENTER(zeCommandListGetContextHandle);
	NEED(object_check(list, KIND_LIST));
	NEED_POINTER(context);
	*context = ((struct list *)list)->context;
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t *immediate)
{
	ENTER(zeCommandListIsImmediate);
	NEED(object_check(list, KIND_LIST));
	NEED_POINTER(immediate);
	*immediate = ((struct list *)list)->is_immediate;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeCommandQueueCreate(ze_context_handle_t context,
						 ze_device_handle_t device,
						 const ze_command_queue_desc_t *desc,
						 ze_command_queue_handle_t *out)
{
	ENTER(zeCommandQueueCreate);
	NEED(place_check(context, device));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	*out = (ze_command_queue_handle_t)object_new(KIND_QUEUE, struct queue);
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t ZE_APICALL fake_zeCommandQueueDestroy(ze_command_queue_handle_t queue)
{
	ENTER(zeCommandQueueDestroy);
	return object_free(queue, KIND_QUEUE);
}

ze_result_t ZE_APICALL fake_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue,
							      uint32_t count,
							      ze_command_list_handle_t *lists,
							      ze_fence_handle_t fence)
{
	ENTER(zeCommandQueueExecuteCommandLists);
	NEED(object_check(queue, KIND_QUEUE));
	NEED_POINTER(lists);
	if (fence)
		NEED(object_check(fence, KIND_FENCE));
	for (uint32_t i = 0; i < count; i++)
		NEED(list_run(lists[i]));
	if (fence)
		atomic_store(&((struct fence *)fence)->signalled, 1);
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeCommandQueueSynchronize(ze_command_queue_handle_t queue,
						      uint64_t timeout)
{
	ENTER(zeCommandQueueSynchronize);
	(void)timeout;
	return object_check(queue, KIND_QUEUE);
}

ze_result_t ZE_APICALL fake_zeFenceCreate(ze_command_queue_handle_t queue,
					  const ze_fence_desc_t *desc, ze_fence_handle_t *out)
{
	struct fence *f;

	ENTER(zeFenceCreate);
	NEED(object_check(queue, KIND_QUEUE));
	NEED_POINTER(desc);
	NEED_POINTER(out);
	f = object_new(KIND_FENCE, struct fence);
	if (!f)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	atomic_store(&f->signalled, !!(desc->flags & ZE_FENCE_FLAG_SIGNALED));
	*out = (ze_fence_handle_t)f;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_zeFenceDestroy(ze_fence_handle_t fence)
{
	ENTER(zeFenceDestroy);
	return object_free(fence, KIND_FENCE);
}

static ze_result_t fence_status(ze_fence_handle_t fence)
{
	NEED(object_check(fence, KIND_FENCE));
	return atomic_load(&((struct fence *)fence)->signalled) ? ZE_RESULT_SUCCESS :
								  ZE_RESULT_NOT_READY;
}

/* All submitted work is done: what is not signalled now will not be by waiting. */
ze_result_t ZE_APICALL fake_zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout)
{
	ENTER(zeFenceHostSynchronize);
	(void)timeout;
	return fence_status(fence);
}

ze_result_t ZE_APICALL fake_zeFenceQueryStatus(ze_fence_handle_t fence)
{
	ENTER(zeFenceQueryStatus);
	return fence_status(fence);
}

ze_result_t ZE_APICALL fake_zeFenceReset(ze_fence_handle_t fence)
{
	ENTER(zeFenceReset);
	NEED(object_check(fence, KIND_FENCE));
	atomic_store(&((struct fence *)fence)->signalled, 0);
	return ZE_RESULT_SUCCESS;
}
