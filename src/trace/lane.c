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

void gt_lane_enter(struct gt_lane *lane, const struct gt_event *e)
{
	struct gt_trace_inflight *inflight;
	uint32_t number = number_of(lane->writer, e->function);

	if (!number || !lane->block)
		return;
	inflight = &lane->block->inflight;
	inflight->handle = e->handle;
	inflight->time_ns = e->time_ns;
	inflight->stack = e->stack;
	/* the function last: it says that the others are there */
	__atomic_store_n(&inflight->function, number, __ATOMIC_RELEASE);
}

void gt_lane_leave(struct gt_lane *lane)
{
	if (lane->block)
		__atomic_store_n(&lane->block->inflight.function, 0, __ATOMIC_RELEASE);
}
