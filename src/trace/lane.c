/* SPDX-License-Identifier: MIT */
/* lane.c - one thread's events, written without a lock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/file.h"

static struct gt_lane *lane_new(struct gt_writer *w)
{
	struct gt_lane *lane = calloc(1, sizeof *lane);

	if (lane) {
		lane->writer = w;
		lane->time_ns = w->header->start_ns;
		lane->next = w->lanes;
		w->lanes = lane;
	}
	return lane;
}

/* A record that is no event, where there is room for it. */
static void write_record(struct gt_lane *lane, enum gt_tag tag, const uint8_t *payload, size_t size)
{
	lane->at = gt_put_varint(lane->at, tag);
	lane->at = gt_put_varint(lane->at, size);
	memcpy(lane->at, payload, size);
	lane->at += size;
	gt_lane_commit(lane);
}

/* Whose calls follow: a block says it in its head, a lane that changes hands in a record. */
static void write_thread(struct gt_lane *lane, const char *name)
{
	uint8_t payload[64], *at = gt_put_varint(payload, lane->tid);
	size_t size = strnlen(name, 32);

	at = gt_put_varint(at, size);
	memcpy(at, name, size);
	size = (size_t)(at + size - payload);
	if (lane->limit - lane->at < GT_EVENT_MAX && gt_block_open(lane))
		return;
	write_record(lane, GT_TAG_THREAD, payload, size);
}

struct gt_lane *gt_lane_acquire(struct gt_writer *w, uint32_t tid, const char *thread_name)
{
	struct gt_lane *lane;

	if (atomic_load_explicit(&w->error, memory_order_relaxed))
		return NULL;
	pthread_mutex_lock(&w->room);
	lane = w->free_lanes;
	if (lane)
		w->free_lanes = lane->next_free;
	else
		lane = lane_new(w);
	pthread_mutex_unlock(&w->room);
	if (lane) {
		lane->tid = tid;
		lane->call_count = 0;
		write_thread(lane, thread_name);
	}
	return lane;
}

void gt_lane_release(struct gt_lane *lane)
{
	struct gt_writer *w = lane->writer;

	pthread_mutex_lock(&w->room);
	lane->next_free = w->free_lanes;
	w->free_lanes = lane;
	pthread_mutex_unlock(&w->room);
}

static uint32_t number_of(struct gt_writer *w, uint16_t function)
{
	uint32_t number = atomic_load_explicit(&w->functions[function], memory_order_acquire);

	return number ? number : gt_function_define(w, function);
}

/* What an end has beyond others: imports know how much was freed, and where. */
static void write_end_detail(struct gt_lane *lane, const struct gt_event *e)
{
	uint8_t payload[2 * GT_VARINT_MAX], *at = gt_put_varint(payload, e->size);
	size_t size = (size_t)(gt_put_varint(at, e->place) - payload);

	lane->at = gt_put_varint(lane->at, GT_TAG_END_DETAIL);
	lane->at = gt_put_varint(lane->at, size);
	memcpy(lane->at, payload, size);
	lane->at += size;
}

/*
 * tag, time, handle, then what only creations have: size, owner, place; what only failures have:
 * the error code; last the stack. Times, handles and owners are differences to the lane's last.
 */
void gt_lane_event(struct gt_lane *lane, const struct gt_event *e)
{
	struct gt_writer *w = lane->writer;
	uint32_t number;
	uint8_t *at;

	if (w->options.until_ns && e->time_ns > w->options.until_ns)
		gt_writer_stop(w, -ETIME);
	if (atomic_load_explicit(&w->error, memory_order_relaxed)) {
		gt_writer_lose(w, 1);
		return;
	}
	number = number_of(w, e->function);
	if (!number || (lane->limit - lane->at < GT_EVENT_MAX && gt_block_open(lane))) {
		gt_writer_lose(w, 1);
		return;
	}
	if (gt_functions[e->function].effect != GT_CREATE && (e->size || e->place))
		write_end_detail(lane, e);
	at = gt_put_varint(lane->at, GT_TAG_EVENT + 2 * (uint64_t)number + !!e->failed);
	at = gt_put_varint(at, gt_delta(lane->time_ns, e->time_ns));
	at = gt_put_varint(at, gt_delta(lane->handle, e->handle));
	lane->time_ns = e->time_ns;
	lane->handle = e->handle;
	if (gt_functions[e->function].effect == GT_CREATE) {
		at = gt_put_varint(at, e->size);
		at = gt_put_varint(at, gt_delta(lane->owner, e->owner));
		at = gt_put_varint(at, e->place);
		lane->owner = e->owner;
	}
	if (e->failed)
		at = gt_put_varint(at, gt_zigzag(e->result));
	lane->at = gt_put_varint(at, e->stack);
	gt_lane_commit(lane);
}

void gt_lane_sample(struct gt_lane *lane, uint16_t series, uint64_t time_ns, int64_t value)
{
	uint8_t payload[3 * GT_VARINT_MAX], *at = payload;
	struct gt_writer *w = lane->writer;

	if (!series || atomic_load_explicit(&w->error, memory_order_relaxed) ||
	    (lane->limit - lane->at < GT_EVENT_MAX && gt_block_open(lane))) {
		gt_writer_lose(w, 1);
		return;
	}
	at = gt_put_varint(at, gt_delta(lane->time_ns, time_ns));
	at = gt_put_varint(at, series);
	at = gt_put_varint(at, gt_zigzag(value));
	lane->time_ns = time_ns;
	write_record(lane, GT_TAG_SAMPLE, payload, (size_t)(at - payload));
}

void gt_lane_note(struct gt_lane *lane)
{
	struct gt_trace_inflight *inflight = &lane->block->inflight;
	const struct gt_trace_inflight *call;

	__atomic_store_n(&inflight->function, 0, __ATOMIC_RELEASE);
	if (!lane->call_count)
		return;
	call = &lane->calls[lane->call_count - 1].what;
	inflight->handle = call->handle;
	inflight->time_ns = call->time_ns;
	inflight->stack = call->stack;
	/* the function last: it says that the others are there */
	__atomic_store_n(&inflight->function, call->function, __ATOMIC_RELEASE);
}

/* A call and all within it: stacks grow down, so what lies deeper is over, if by a jump. */
static void forget_calls(struct gt_lane *lane, const void *call)
{
	while (lane->call_count &&
	       (uintptr_t)lane->calls[lane->call_count - 1].call <= (uintptr_t)call)
		lane->call_count--;
}

void gt_lane_enter(struct gt_lane *lane, const struct gt_event *e, const void *call)
{
	uint32_t number = number_of(lane->writer, e->function);

	if (!number || !lane->block)
		return;
	forget_calls(lane, call);
	if (lane->call_count == GT_CALLS_MAX) {
		memmove(&lane->calls[0], &lane->calls[1],
			sizeof lane->calls - sizeof lane->calls[0]);
		lane->call_count--;
	}
	lane->calls[lane->call_count].call = call;
	lane->calls[lane->call_count++].what = (struct gt_trace_inflight){
		.function = number, .stack = e->stack, .handle = e->handle, .time_ns = e->time_ns
	};
	gt_lane_note(lane);
}

void gt_lane_leave(struct gt_lane *lane, const void *call)
{
	forget_calls(lane, call);
	if (lane->block)
		gt_lane_note(lane);
}
