/* SPDX-License-Identifier: MIT */
/*
 * records.c - writes the records of a trace: definitions under a lock, a thread's events without
 * one.
 */
#include "base/table_memory.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cancellation.h"
#include "trace/writer_state.h"

enum {
	STACKS_MAX = 1 << 22,
	PHASES_MAX = 1 << 20,
	TEXT_MAX = 640, /* of each text of a frame or series: three fit into a record */
};

static void lock_definitions(struct gt_writer *w)
{
	gt_cancellation_hold();
	pthread_mutex_lock(&w->definitions_lock);
}

/* Makes everything up to lane->at part of the trace. */
static void commit(struct gt_lane *lane)
{
	__atomic_store_n(&lane->block->used, (uint32_t)(lane->at - (uint8_t *)(lane->block + 1)),
			 __ATOMIC_RELEASE);
}

/* Puts a record other than an event; the caller has made sure of its space, and commits it. */
static void put_record(struct gt_lane *lane, uint64_t tag, const uint8_t *payload, size_t size)
{
	lane->at = gt_put_varint(lane->at, tag);
	lane->at = gt_put_varint(lane->at, size);
	memcpy(lane->at, payload, size);
	lane->at += size;
}

/* Writes a definition; the caller holds `definitions_lock`. False if that fails. */
static bool define(struct gt_writer *w, enum gt_definition tag, const uint8_t *payload, size_t size)
{
	struct gt_lane *lane = &w->definitions;
	size_t whole = size + 2 * GT_VARINT_MAX;

	if (size > GT_RECORD_MAX || gt_writer_is_lost(w))
		return false;
	if ((size_t)(lane->limit - lane->at) < whole && gt_block_open(lane))
		return false;
	put_record(lane, tag, payload, size);
	commit(lane);
	return true;
}

/* Writes the definition that was made in `record`, and ends at `end`. */
static bool define_made(struct gt_writer *w, enum gt_definition tag, const uint8_t *end)
{
	return define(w, tag, w->record, (size_t)(end - w->record));
}

/* Long text is cut, not refused: half a path says more than none. */
static uint8_t *put_blob(uint8_t *at, const void *data, size_t size, size_t most)
{
	if (size > most)
		size = most;
	at = gt_put_varint(at, size);
	if (size)
		memcpy(at, data, size);
	return at + size;
}

void gt_writer_info(struct gt_writer *w, const char *key, const void *value, size_t size)
{
	uint8_t *at;

	lock_definitions(w);
	at = put_blob(w->record, key, strlen(key), 64);
	at = put_blob(at, value, size, GT_RECORD_MAX - 128);
	define_made(w, GT_DEF_INFO, at);
	pthread_mutex_unlock(&w->definitions_lock);
}

void gt_writer_module(struct gt_writer *w, uint32_t number, const struct gt_module *m)
{
	uint8_t *at = gt_put_varint(w->record, number);

	at = gt_put_varint(at, m->start);
	at = gt_put_varint(at, m->size);
	at = gt_put_varint(at, m->bias);
	at = put_blob(at, m->path, strlen(m->path), GT_RECORD_MAX - 256);
	at = put_blob(at, m->build_id, m->build_id_size, 64);
	at = gt_put_varint(at, m->file_size);
	at = gt_put_varint(at, gt_zigzag(m->mtime_ns));
	define_made(w, GT_DEF_MODULE, at);
}

void gt_writer_unload(struct gt_writer *w, uint32_t number)
{
	uint8_t buffer[GT_VARINT_MAX];

	define(w, GT_DEF_UNLOAD, buffer, (size_t)(gt_put_varint(buffer, number) - buffer));
}

void gt_writer_place(struct gt_writer *w, uint16_t number, enum gt_api api, const char *name)
{
	uint8_t *at;

	lock_definitions(w);
	at = gt_put_varint(w->record, number);
	at = put_blob(at, gt_api_keys[api], strlen(gt_api_keys[api]), 64);
	at = put_blob(at, name, strlen(name), 256);
	define_made(w, GT_DEF_PLACE, at);
	pthread_mutex_unlock(&w->definitions_lock);
}

void gt_writer_name(struct gt_writer *w, uint64_t time_ns, uint64_t handle, const char *name)
{
	uint8_t *at;

	lock_definitions(w);
	at = gt_put_varint(w->record, time_ns);
	at = gt_put_varint(at, handle);
	at = put_blob(at, name, strlen(name), GT_RECORD_MAX - 64);
	define_made(w, GT_DEF_NAME, at);
	pthread_mutex_unlock(&w->definitions_lock);
}

/* Defines a function unless another thread has done so; 0 if that fails. */
static __attribute__((noinline)) uint32_t define_function(struct gt_writer *w, uint16_t function)
{
	const struct gt_function *fn = &gt_functions[function];
	const char *api = gt_api_keys[fn->api], *kind = gt_kinds[fn->kind].name;
	uint32_t number;
	uint8_t *at;

	lock_definitions(w);
	number = atomic_load(&w->functions[function]);
	if (!number) {
		at = gt_put_varint(w->record, w->functions_defined + 1);
		*at++ = fn->effect;
		at = put_blob(at, api, strlen(api), 64);
		at = put_blob(at, kind, strlen(kind), 64);
		at = put_blob(at, gt_function_names[function], strlen(gt_function_names[function]),
			      256);
		if (define_made(w, GT_DEF_FUNCTION, at)) {
			number = ++w->functions_defined;
			atomic_store(&w->functions[function], number);
		}
	}
	pthread_mutex_unlock(&w->definitions_lock);
	return number;
}

/* Defines a new stack; the caller holds `definitions_lock`. */
static uint32_t define_stack(struct gt_writer *w, const uint64_t *frames, size_t count)
{
	uint8_t *at = w->record, *end = w->record + sizeof w->record;
	uint64_t before = 0;

	if (w->stacks_defined >= STACKS_MAX)
		return 0;
	if (w->options.modules)
		w->options.modules(w, w->options.context);
	for (size_t i = 0; i < count && at + GT_VARINT_MAX < end; i++) {
		at = gt_put_varint(at, gt_delta(before, frames[i]));
		before = frames[i];
	}
	if (!define_made(w, GT_DEF_STACK, at))
		return 0;
	return ++w->stacks_defined;
}

void gt_writer_lose_stack(struct gt_writer *w)
{
	__atomic_add_fetch(&w->header->lost_stacks, 1, __ATOMIC_RELAXED);
}

uint32_t gt_writer_new_stack(struct gt_writer *w, const uint64_t *frames, size_t count)
{
	uint32_t number;

	lock_definitions(w);
	number = define_stack(w, frames, count);
	pthread_mutex_unlock(&w->definitions_lock);
	if (!number)
		gt_writer_lose_stack(w);
	return number;
}

uint32_t gt_writer_stack(struct gt_writer *w, const uint64_t *frames, size_t count)
{
	uint64_t key;
	uint32_t number;

	if (!count)
		return 0;
	if (count > GT_STACK_FRAMES_MAX)
		count = GT_STACK_FRAMES_MAX;
	key = gt_stack_key(frames, count);
	number = gt_stacks_find(&w->stacks, key);
	if (number)
		return number;
	lock_definitions(w);
	number = gt_stacks_find(&w->stacks, key);
	if (!number && !gt_stacks_are_full(&w->stacks)) {
		number = define_stack(w, frames, count);
		/* the number is used up even if adding it fails: the reader counts records */
		if (number && gt_stacks_add(&w->stacks, key, number))
			number = 0;
	}
	pthread_mutex_unlock(&w->definitions_lock);
	if (!number)
		gt_writer_lose_stack(w);
	return number;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	return put_blob(at, text ? text : "", text ? strlen(text) : 0, TEXT_MAX);
}

/*
 * A definition that is identified by its bytes lies in `record` behind the space for its number,
 * and ends at `end`. Its number; defines it at its first use.
 */
static uint32_t number_text(struct gt_writer *w, enum gt_definition tag, const uint8_t *end,
			    uint32_t *defined, uint32_t most)
{
	uint8_t *payload = w->record + GT_VARINT_MAX, text[GT_VARINT_MAX];
	uint64_t key = gt_hash_bytes(payload, (size_t)(end - payload)) ^ tag;
	uint32_t number;
	size_t size;

	key += !key;
	number = gt_stacks_find(&w->texts, key);
	if (number || *defined >= most || gt_stacks_are_full(&w->texts))
		return number;
	size = (size_t)(gt_put_varint(text, *defined + 1) - text);
	memcpy(payload - size, text, size);
	if (!define(w, tag, payload - size, (size_t)(end - payload) + size))
		return 0;
	++*defined;
	return gt_stacks_add(&w->texts, key, *defined) ? 0 : *defined;
}

uint64_t gt_writer_text_frame(struct gt_writer *w, const struct gt_text_frame *frame)
{
	uint32_t number;
	uint8_t *at;

	lock_definitions(w);
	at = put_text(w->record + GT_VARINT_MAX, frame->function);
	at = put_text(at, frame->file);
	at = gt_put_varint(at, frame->line);
	at = put_text(at, frame->module);
	number = number_text(w, GT_DEF_TEXT_FRAME, at, &w->text_frames_defined, STACKS_MAX);
	pthread_mutex_unlock(&w->definitions_lock);
	return number ? GT_TEXT_FRAMES + number : 0;
}

uint16_t gt_writer_series(struct gt_writer *w, const struct gt_series *series)
{
	uint32_t number;
	uint8_t *at;

	lock_definitions(w);
	at = put_text(w->record + GT_VARINT_MAX, series->name);
	at = put_text(at, series->unit);
	at = put_text(at, series->subject);
	number = number_text(w, GT_DEF_SERIES, at, &w->series_defined, UINT16_MAX);
	pthread_mutex_unlock(&w->definitions_lock);
	return (uint16_t)number;
}

uint32_t gt_writer_work(struct gt_writer *w, const struct gt_work *work)
{
	uint32_t number;
	uint8_t *at;

	lock_definitions(w);
	at = gt_put_varint(w->record + GT_VARINT_MAX, work->kind);
	at = gt_put_varint(at, work->is_blind);
	at = put_text(at, work->function);
	at = put_text(at, work->name);
	number = number_text(w, GT_DEF_WORK, at, &w->works_defined, STACKS_MAX);
	pthread_mutex_unlock(&w->definitions_lock);
	return number;
}

static uint8_t *put_range_text(uint8_t *at, const char *text)
{
	return put_blob(at, text ? text : "", text ? strlen(text) : 0, GT_RANGE_TEXT);
}

uint32_t gt_writer_phase(struct gt_writer *w, uint32_t parent, const struct gt_range *range)
{
	uint32_t number;
	uint8_t *at;

	lock_definitions(w);
	at = gt_put_varint(w->record + GT_VARINT_MAX, parent);
	at = put_range_text(at, range->name);
	at = put_range_text(at, range->domain);
	at = put_range_text(at, range->category);
	number = number_text(w, GT_DEF_PHASE, at, &w->phases_defined, PHASES_MAX);
	pthread_mutex_unlock(&w->definitions_lock);
	return number;
}

void gt_writer_forget_stacks(struct gt_writer *w)
{
	lock_definitions(w);
	gt_stacks_clear(&w->stacks);
	atomic_fetch_add(&w->generation, 1);
	pthread_mutex_unlock(&w->definitions_lock);
}

static struct gt_lane *lane_new(struct gt_writer *w)
{
	struct gt_lane *lane = gt_table_alloc(sizeof *lane);

	if (lane) {
		lane->writer = w;
		lane->time_ns = w->header->start_ns;
		lane->next = w->lanes;
		w->lanes = lane;
	}
	return lane;
}

/* Names the thread of the following events: a block's header cannot when a lane is reused. */
static void write_thread(struct gt_lane *lane, const char *name)
{
	uint8_t payload[64], *at = gt_put_varint(payload, lane->tid);
	size_t size = strnlen(name, 32);

	at = gt_put_varint(at, size);
	memcpy(at, name, size);
	size = (size_t)(at + size - payload);
	if (lane->limit - lane->at < GT_EVENT_MAX && gt_block_open(lane))
		return;
	put_record(lane, GT_TAG_THREAD, payload, size);
	commit(lane);
}

struct gt_lane *gt_lane_acquire(struct gt_writer *w, uint32_t tid, const char *thread_name)
{
	struct gt_lane *lane;

	if (atomic_load_explicit(&w->error, memory_order_relaxed))
		return NULL;
	gt_cancellation_hold();
	pthread_mutex_lock(&w->space_lock);
	lane = w->free_lanes;
	if (lane)
		w->free_lanes = lane->next_free;
	else
		lane = lane_new(w);
	pthread_mutex_unlock(&w->space_lock);
	if (lane) {
		lane->tid = tid;
		lane->phase = 0; /* readers take a new thread to have none */
		lane->call_count = 0;
		write_thread(lane, thread_name);
	}
	return lane;
}

/* Without it, the thread counts as running when the process ended. */
static void write_thread_end(struct gt_lane *lane)
{
	uint8_t payload[GT_VARINT_MAX], *at = gt_put_varint(payload, lane->tid);

	if (atomic_load_explicit(&lane->writer->error, memory_order_relaxed) ||
	    (lane->limit - lane->at < GT_EVENT_MAX && gt_block_open(lane)))
		return;
	put_record(lane, GT_TAG_THREAD_END, payload, (size_t)(at - payload));
	commit(lane);
}

void gt_lane_release(struct gt_lane *lane)
{
	struct gt_writer *w = lane->writer;

	/* a thread that ends inside a call is over, and the call with it */
	lane->call_count = 0;
	if (lane->block && !gt_writer_is_lost(w))
		gt_lane_publish_call(lane);
	write_thread_end(lane);
	pthread_mutex_lock(&w->space_lock);
	lane->next_free = w->free_lanes;
	w->free_lanes = lane;
	pthread_mutex_unlock(&w->space_lock);
}

uint32_t gt_writer_function(struct gt_writer *w, uint16_t function)
{
	uint32_t number = atomic_load_explicit(&w->functions[function], memory_order_acquire);

	return number ? number : define_function(w, function);
}

/* Size and place of an ending, committed with it: imports know how much was freed, and where. */
static __attribute__((noinline)) void put_end_detail(struct gt_lane *lane, const struct gt_event *e)
{
	uint8_t payload[2 * GT_VARINT_MAX], *at = gt_put_varint(payload, e->size);

	at = gt_put_varint(at, e->place);
	put_record(lane, GT_TAG_END_DETAIL, payload, (size_t)(at - payload));
}

/* Says the phase of the next event, and of a call in flight, where it is another than the last's.
 */
static __attribute__((noinline)) void put_phase(struct gt_lane *lane, uint32_t phase)
{
	uint8_t payload[GT_VARINT_MAX], *at = gt_put_varint(payload, phase);

	put_record(lane, GT_TAG_PHASE, payload, (size_t)(at - payload));
	lane->phase = phase;
}

/* How long the call took and when it began, committed with its event. Only imports know it. */
static __attribute__((noinline)) void put_call(struct gt_lane *lane, const struct gt_event *e)
{
	uint8_t payload[2 * GT_VARINT_MAX], *at = gt_put_varint(payload, e->duration_ns);

	at = gt_put_varint(at, e->time_ns - e->start_ns);
	put_record(lane, GT_TAG_CALL, payload, (size_t)(at - payload));
}

static __attribute__((noinline)) void put_call_phase(struct gt_lane *lane, uint32_t phase)
{
	if (!lane->block || lane->limit - lane->at < GT_EVENT_MAX)
		return;
	put_phase(lane, phase);
	commit(lane);
}

void gt_lane_phase(struct gt_lane *lane, uint32_t phase)
{
	if (lane->phase != phase)
		put_call_phase(lane, phase);
}

static __attribute__((noinline)) void lose_event(struct gt_writer *w, const struct gt_event *e)
{
	gt_writer_lose_between(w, 1, e->time_ns, e->time_ns);
}

/* Flags, then what differs from the last creation by this function, and a size. */
static inline uint8_t *put_origin(struct gt_lane *lane, uint8_t *at, uint32_t number,
				  const struct gt_event *e)
{
	struct gt_origins *o = &lane->origins;
	unsigned origin = gt_origin_of(number);
	uint8_t *first = at++, flags = 0;

	if (e->size) {
		flags = GT_HAS_SIZE;
		at = gt_put_varint(at, e->size);
	}
	if (e->owner != o->owners[origin]) {
		flags |= GT_HAS_OWNER;
		at = gt_put_varint(at, gt_delta(o->owners[origin], e->owner));
		o->owners[origin] = lane->owner = e->owner;
	}
	if (e->place != o->places[origin]) {
		flags |= GT_HAS_PLACE;
		at = gt_put_varint(at, e->place);
		o->places[origin] = e->place;
	}
	*first = flags;
	return at;
}

/*
 * Fields: tag, time, handle; size, owner and place of creations only; the error code of failures
 * only; the stack. Times and handles are differences from the lane's last.
 */
void gt_lane_event(struct gt_lane *lane, const struct gt_event *e)
{
	struct gt_writer *w = lane->writer;
	const int most = GT_EVENT_MAX + (e->duration_ns ? GT_CALL_MAX : 0);
	uint32_t number;
	uint8_t *at;

	if (w->options.until_ns && e->time_ns > w->options.until_ns)
		gt_writer_stop(w, -ETIME);
	number = atomic_load_explicit(&w->error, memory_order_relaxed) ?
			 0 :
			 gt_writer_function(w, e->function);
	if (!number || (lane->limit - lane->at < most && gt_block_open(lane))) {
		lose_event(w, e);
		return;
	}
	if (e->phase != lane->phase)
		put_phase(lane, e->phase);
	if (__builtin_expect(e->duration_ns != 0, 0))
		put_call(lane, e);
	if (gt_functions[e->function].effect != GT_CREATE && (e->size || e->place))
		put_end_detail(lane, e);
	at = gt_put_varint(lane->at, GT_TAG_EVENT + 2 * (uint64_t)number + !!e->failed);
	at = gt_put_varint(at, gt_delta(lane->time_ns, e->time_ns));
	at = gt_put_varint(at, gt_delta(lane->handle, e->handle));
	lane->time_ns = e->time_ns;
	lane->handle = e->handle;
	if (gt_functions[e->function].effect == GT_CREATE)
		at = put_origin(lane, at, number, e);
	if (e->failed)
		at = gt_put_varint(at, gt_zigzag(e->result));
	lane->at = gt_put_varint(at, e->stack);
	commit(lane);
}

/* True if there is room for a record that is no call; otherwise it is counted as lost. */
static bool has_room(struct gt_lane *lane, uint64_t time_ns)
{
	struct gt_writer *w = lane->writer;

	if (!atomic_load_explicit(&w->error, memory_order_relaxed) &&
	    (lane->limit - lane->at >= GT_EVENT_MAX || !gt_block_open(lane)))
		return true;
	gt_writer_lose_between(w, 1, time_ns, time_ns);
	return false;
}

void gt_lane_sample(struct gt_lane *lane, uint16_t series, uint64_t time_ns, int64_t value)
{
	uint8_t payload[3 * GT_VARINT_MAX], *at = payload;

	if (!series) {
		gt_writer_lose_between(lane->writer, 1, time_ns, time_ns);
		return;
	}
	if (!has_room(lane, time_ns))
		return;
	at = gt_put_varint(at, gt_delta(lane->time_ns, time_ns));
	at = gt_put_varint(at, series);
	at = gt_put_varint(at, gt_zigzag(value));
	lane->time_ns = time_ns;
	put_record(lane, GT_TAG_SAMPLE, payload, (size_t)(at - payload));
	commit(lane);
}

void gt_lane_paging(struct gt_lane *lane, const struct gt_paging *paging)
{
	uint8_t payload[5 * GT_VARINT_MAX], *end;

	if (!has_room(lane, paging->time_ns))
		return;
	end = gt_paging_put(payload, paging, lane->time_ns, lane->handle);
	lane->time_ns = paging->time_ns;
	lane->handle = paging->address;
	put_record(lane, GT_TAG_PAGING, payload, (size_t)(end - payload));
	commit(lane);
}

void gt_writer_lose_touch(struct gt_writer *w)
{
	atomic_fetch_add(&w->touches_lost, 1);
}

/* Touches that could not be written before this one: number 0, and how many. */
static __attribute__((noinline)) void put_lost_touches(struct gt_lane *lane)
{
	uint8_t payload[3 * GT_VARINT_MAX], *at = gt_put_varint(payload, 0);

	*at++ = 0;
	at = gt_put_varint(at, atomic_exchange(&lane->writer->touches_lost, 0));
	put_record(lane, GT_TAG_TOUCH, payload, (size_t)(at - payload));
}

void gt_lane_end_touches(struct gt_lane *lane)
{
	struct gt_writer *w = lane->writer;

	if (!atomic_load(&w->touches_lost) || atomic_load(&w->error) ||
	    (lane->limit - lane->at < GT_EVENT_MAX && gt_block_open(lane)))
		return;
	put_lost_touches(lane);
	commit(lane);
}

/* Straight into the block: the program's stack may be small. */
void gt_lane_touch(struct gt_lane *lane, uint32_t work, enum gt_work_kind kind, uint64_t time_ns,
		   const struct gt_naming *named)
{
	enum { LONGEST = 3 * GT_VARINT_MAX + GT_TOUCHED_MAX * GT_TOUCH_BYTES_MAX };
	struct gt_writer *w = lane->writer;
	uint8_t *payload, *at;
	size_t size;

	if (w->options.until_ns && time_ns > w->options.until_ns)
		gt_writer_stop(w, -ETIME);
	if (!work || atomic_load_explicit(&w->error, memory_order_relaxed) ||
	    (lane->limit - lane->at < LONGEST + GT_EVENT_MAX && gt_block_open(lane))) {
		gt_writer_lose_touch(w);
		return;
	}
	if (__builtin_expect(atomic_load_explicit(&w->touches_lost, memory_order_relaxed) != 0, 0))
		put_lost_touches(lane);
	/* its length takes one byte if it is below 128, two otherwise */
	payload = at = lane->at + 3;
	at = gt_put_varint(at, gt_delta(lane->time_ns, time_ns));
	lane->time_ns = time_ns;
	at = gt_put_varint(at, (uint64_t)work << 1 | named->is_more);
	for (size_t i = 0; i < named->count; i++)
		at = gt_touch_put(&lane->touched, at, &named->ranges[i], gt_work_has_sizes(kind));
	size = (size_t)(at - payload);
	*lane->at++ = GT_TAG_TOUCH;
	lane->at = gt_put_varint(lane->at, size);
	if (lane->at != payload)
		memmove(lane->at, payload, size);
	lane->at += size;
	commit(lane);
}
