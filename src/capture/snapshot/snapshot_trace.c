/* SPDX-License-Identifier: MIT */
/* snapshot_trace.c - the entries of a snapshot's history as events of a trace. */
#include "capture/snapshot/snapshot_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/containers.h"
#include "capture/snapshot/address_set.h"
#include "trace/layout.h"

/* As in a ledger of a live recording. A part of an expandable segment is as good as a segment. */
enum {
	ROW_BLOCK = GT_FN_torchBlock,
	ROW_BLOCK_FREED = GT_FN_torchBlockFreed,
	ROW_OUT_OF_MEMORY = GT_FN_torchOutOfMemory,
	ROW_SEGMENT = GT_FN_cudaPoolSegment,
	ROW_SEGMENT_FREED = GT_FN_cuMemFree_v2,
};

enum { TICK_ENTRIES = 1 << 14 };
enum { HISTORIES_MAX = 1024, OUT_OF_MEMORY = 2 /* cudaErrorMemoryAllocation */ };
/* A snapshot does not say which process it is of. */
enum { PID = 1 };
/* Expandable segments grow and shrink by multiples of this. */
enum { GRANULE = 2 << 20, GRANULES_MAX = 1 << 20 };
/* The start where no entry has a time: not 0, which means "now". */
#define BASE_NS  (1ull << 40)
#define TIME_MAX (UINT64_MAX / 4)

/* The state of a block of the history. */
enum { ALIVE, FREE_REQUESTED, AT_END };

/* A segment, or a mapped part of an expandable one. */
struct part {
	uint64_t address, size;
	uint32_t stack;
	bool is_alive, is_at_end;
};

struct history {
	struct gt_lane *lane;
	struct gt_address_set blocks;
	struct part *parts;
	size_t part_count, part_room;
	struct gt_ranges ranges; /* address -> number of a part */
	uint64_t entries, first_ns, last_ns;
	uint32_t device;
	bool has_device;
};

struct gt_snapshot_trace {
	struct gt_snapshot_import *import;
	struct gt_writer *writer;
	struct history *histories[HISTORIES_MAX];
	uint32_t history_count;
	uint64_t entries;        /* of all */
	struct gt_event *before; /* what was created before the history began */
	size_t before_count, before_room;
	bool is_ended;
	int error;
};

static void stopped(struct gt_writer *w, void *context, int error)
{
	struct gt_snapshot_trace *t = context;

	(void)w;
	t->error = error;
}

static int write_failed(const struct gt_snapshot_trace *t, int e, struct gt_error *error)
{
	return gt_error_set(error, e, "cannot write into %s: %s; choose another place with -o",
			    t->import->folder, strerror(-e));
}

int gt_snapshot_trace_open(struct gt_snapshot_trace **out, struct gt_snapshot_import *import,
			   struct gt_error *error)
{
	struct gt_snapshot_trace *t = gt_alloc(sizeof *t);
	struct gt_writer_options options = { .pid = PID,
					     .start_ns = BASE_NS,
					     .start_real_ns = BASE_NS,
					     .stopped = stopped,
					     .context = t };
	int e;

	t->import = import;
	e = gt_writer_open_in(&t->writer, import->folder, &options);
	if (e) {
		e = write_failed(t, e, error);
		free(t);
		return e;
	}
	*out = t;
	return 0;
}

void gt_snapshot_trace_free(struct gt_snapshot_trace *t)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%.3800s/%.200s", t->import->folder,
		 gt_writer_name_of(t->writer));
	if (!t->is_ended)
		unlink(path);
	gt_writer_free(t->writer);
	for (uint32_t i = 0; i < t->history_count; i++) {
		struct history *h = t->histories[i];

		gt_address_set_fini(&h->blocks);
		gt_ranges_fini(&h->ranges);
		free(h->parts);
		free(h);
	}
	free(t->before);
	free(t);
}

struct gt_writer *gt_snapshot_trace_writer(struct gt_snapshot_trace *t)
{
	return t->writer;
}

int gt_snapshot_trace_history(struct gt_snapshot_trace *t)
{
	struct history *h;

	if (t->history_count == HISTORIES_MAX)
		return -1;
	h = gt_alloc(sizeof *h);
	h->lane = gt_lane_acquire(t->writer, 0, "");
	if (!h->lane) {
		free(h);
		return -1;
	}
	t->histories[t->history_count] = h;
	return (int)t->history_count++;
}

void gt_snapshot_trace_set_device(struct gt_snapshot_trace *t, uint32_t history, uint32_t device)
{
	t->histories[history]->device = device;
	t->histories[history]->has_device = true;
}

bool gt_snapshot_trace_has_devices(const struct gt_snapshot_trace *t)
{
	for (uint32_t i = 0; i < t->history_count; i++)
		if (!t->histories[i]->has_device)
			return false;
	return true;
}

/* The history of a device; one without entries if it has none. NULL: there are too many. */
static struct history *history_of(struct gt_snapshot_trace *t, uint32_t device, uint32_t *number)
{
	int made;

	for (*number = 0; *number < t->history_count; ++*number)
		if (t->histories[*number]->device == device)
			return t->histories[*number];
	made = gt_snapshot_trace_history(t);
	if (made < 0)
		return NULL;
	gt_snapshot_trace_set_device(t, (uint32_t)made, device);
	return t->histories[made];
}

/* Events. */

static void write_event(struct gt_snapshot_trace *t, uint32_t number, struct gt_event e)
{
	struct history *h = t->histories[number];

	e.time_ns = h->last_ns;
	e.place = (uint16_t)(number + 1);
	gt_lane_event(h->lane, &e);
}

/* Something that is freed, or there at the end, although nothing has created it. */
static void add_before(struct gt_snapshot_trace *t, uint32_t number, struct gt_event e)
{
	e.place = (uint16_t)(number + 1);
	GT_GROW(t->before, t->before_count, t->before_room);
	t->before[t->before_count++] = e;
	if (e.function == ROW_BLOCK) {
		t->import->before++;
		t->import->before_bytes += e.size;
		t->import->before_named += e.stack != 0;
	}
}

static void allocate(struct gt_snapshot_trace *t, uint32_t number,
		     const struct gt_snapshot_entry *entry)
{
	struct history *h = t->histories[number];
	uint8_t *state = gt_address_set_find(&h->blocks, entry->address);

	/* its end must be missing: no two blocks have one address */
	if (state && *state == ALIVE)
		write_event(
			t, number,
			(struct gt_event){ .function = ROW_BLOCK_FREED, .handle = entry->address });
	if (state)
		*state = ALIVE;
	else
		gt_address_set_add(&h->blocks, entry->address, ALIVE);
	write_event(t, number,
		    (struct gt_event){ .function = ROW_BLOCK,
				       .handle = entry->address,
				       .size = entry->size,
				       .stack = entry->stack });
	t->import->allocations++;
	t->import->stacks += entry->stack != 0;
}

/* The program gives a block back when it requests that; the pool may have to wait for a stream. */
static void release(struct gt_snapshot_trace *t, uint32_t number,
		    const struct gt_snapshot_entry *entry)
{
	struct history *h = t->histories[number];
	uint8_t *state = gt_address_set_find(&h->blocks, entry->address);
	bool is_request = entry->action == GT_ACTION_FREE_REQUESTED;

	if (!state) {
		add_before(t, number,
			   (struct gt_event){ .function = ROW_BLOCK,
					      .handle = entry->address,
					      .size = entry->size });
		gt_address_set_add(&h->blocks, entry->address, ALIVE);
		state = gt_address_set_find(&h->blocks, entry->address);
	}
	if (*state == ALIVE) {
		write_event(t, number,
			    (struct gt_event){ .function = ROW_BLOCK_FREED,
					       .handle = entry->address,
					       .stack = entry->stack });
		t->import->frees++;
	}
	if (is_request)
		*state = FREE_REQUESTED;
	else
		gt_address_set_remove(&h->blocks, state);
}

/* The part that holds an address; NULL: none. */
static struct part *part_at(struct history *h, uint64_t address)
{
	uint32_t number;

	if (!gt_ranges_find(&h->ranges, address, &number) || !h->parts[number].is_alive)
		return NULL;
	return &h->parts[number];
}

static void note_part(struct history *h, uint64_t address, uint64_t size, uint32_t stack)
{
	GT_GROW(h->parts, h->part_count, h->part_room);
	gt_ranges_put(&h->ranges, address, size, (uint32_t)h->part_count);
	h->parts[h->part_count++] = (struct part){ address, size, stack, true, false };
}

static struct gt_event segment_event(uint64_t address, uint64_t size, uint32_t stack)
{
	return (struct gt_event){
		.function = ROW_SEGMENT, .handle = address, .size = size, .stack = stack
	};
}

static void add_part(struct gt_snapshot_trace *t, uint32_t number, uint64_t address, uint64_t size,
		     uint32_t stack)
{
	write_event(t, number, segment_event(address, size, stack));
	note_part(t->histories[number], address, size, stack);
}

static void remove_part(struct gt_snapshot_trace *t, uint32_t number, struct part *part,
			uint32_t stack)
{
	write_event(t, number,
		    (struct gt_event){ .function = ROW_SEGMENT_FREED,
				       .handle = part->address,
				       .stack = stack });
	part->is_alive = false;
}

/*
 * What of a range no known part covers, from `at` on: its length. `known` receives the part that
 * begins there instead, if one does.
 */
static uint64_t unknown_at(struct history *h, uint64_t at, uint64_t end, struct part **known)
{
	uint64_t next = at;

	*known = part_at(h, at);
	if (*known)
		return 0;
	for (int i = 0; i < GRANULES_MAX && next < end && !part_at(h, next); i++)
		next = end - next > GRANULE ? next + GRANULE : end;
	return (next < end && part_at(h, next) ? next : end) - at;
}

/* Ends what lies in a range; parts that reach beyond it are cut. */
static void remove_range(struct gt_snapshot_trace *t, uint32_t number,
			 const struct gt_snapshot_entry *entry)
{
	struct history *h = t->histories[number];
	uint64_t end = entry->address + entry->size;

	for (uint64_t at = entry->address; at < end;) {
		struct part *known, cut;
		uint64_t size = unknown_at(h, at, end, &known);

		if (!known) {
			add_before(t, number, segment_event(at, size, 0));
			note_part(h, at, size, 0);
			continue;
		}
		cut = *known;
		remove_part(t, number, known, entry->stack);
		if (cut.address < at)
			add_part(t, number, cut.address, at - cut.address, cut.stack);
		at = cut.address + cut.size;
		if (at > end)
			add_part(t, number, end, at - end, cut.stack);
	}
}

static void run_out(struct gt_snapshot_trace *t, uint32_t number,
		    const struct gt_snapshot_entry *entry)
{
	write_event(t, number,
		    (struct gt_event){ .function = ROW_OUT_OF_MEMORY,
				       .size = entry->size,
				       .stack = entry->stack,
				       .result = OUT_OF_MEMORY,
				       .failed = true });
	t->import->shortages++;
}

static void advance(struct gt_snapshot_trace *t, struct history *h, uint64_t time_us)
{
	uint64_t ns = time_us && time_us < TIME_MAX / 1000 ? time_us * 1000 :
							     BASE_NS + 1000 * (h->entries + 1);

	t->import->has_times |= time_us != 0;
	if (!h->entries++)
		h->first_ns = ns;
	/* no lane goes back in time */
	h->last_ns = ns > h->last_ns ? ns : h->last_ns;
}

void gt_snapshot_trace_entry(struct gt_snapshot_trace *t, uint32_t history,
			     const struct gt_snapshot_entry *entry)
{
	bool has_range =
		entry->address && entry->size && entry->address + entry->size > entry->address;

	t->import->has_history = true;
	if (++t->entries % TICK_ENTRIES == 0 && t->import->tick)
		t->import->tick(t->entries);
	advance(t, t->histories[history], entry->time_us);
	switch (entry->action) {
	case GT_ACTION_ALLOC:
		if (entry->address)
			allocate(t, history, entry);
		return;
	case GT_ACTION_FREE_REQUESTED:
	case GT_ACTION_FREE_COMPLETED:
		if (entry->address)
			release(t, history, entry);
		return;
	case GT_ACTION_SEGMENT_ALLOC:
	case GT_ACTION_SEGMENT_MAP:
		if (has_range)
			add_part(t, history, entry->address, entry->size, entry->stack);
		return;
	case GT_ACTION_SEGMENT_FREE:
	case GT_ACTION_SEGMENT_UNMAP:
		if (has_range)
			remove_range(t, history, entry);
		return;
	case GT_ACTION_OOM: run_out(t, history, entry); return;
	case GT_ACTION_SNAPSHOT: return;
	case GT_ACTION_COUNT: break;
	}
	t->import->unknown++;
}

/* The state at the end. */

void gt_snapshot_trace_segment(struct gt_snapshot_trace *t, const struct gt_snapshot_segment *s)
{
	uint64_t at = s->address, end = s->address + s->size;
	uint32_t number;
	struct history *h = history_of(t, s->device, &number);

	t->import->segments++;
	t->import->segment_bytes += s->size;
	while (h && at && at < end) {
		struct part *known;
		uint64_t size = unknown_at(h, at, end, &known);

		if (known) {
			known->is_at_end = true;
			at = known->address + known->size;
			continue;
		}
		add_before(t, number, segment_event(at, size, s->stack));
		note_part(h, at, size, s->stack);
	}
}

void gt_snapshot_trace_block(struct gt_snapshot_trace *t, const struct gt_snapshot_segment *block)
{
	uint32_t number;
	struct history *h = history_of(t, block->device, &number);
	uint8_t *state = h ? gt_address_set_find(&h->blocks, block->address) : NULL;

	t->import->alive++;
	t->import->alive_bytes += block->size;
	if (!h || !block->address)
		return;
	if (!state) {
		gt_address_set_add(&h->blocks, block->address, AT_END);
		add_before(t, number,
			   (struct gt_event){ .function = ROW_BLOCK,
					      .handle = block->address,
					      .size = block->size,
					      .stack = block->stack });
		return;
	}
	*state = AT_END;
}

/* The segments say what is alive at the end, not a history that may miss frees. */
static void end_rest(struct gt_snapshot_trace *t, uint32_t number)
{
	struct history *h = t->histories[number];
	const struct gt_address_set *blocks = &h->blocks;

	for (size_t i = 0; i < blocks->size; i++)
		if (blocks->addresses[i] && blocks->states[i] == ALIVE)
			write_event(t, number,
				    (struct gt_event){ .function = ROW_BLOCK_FREED,
						       .handle = blocks->addresses[i] });
	for (size_t i = 0; i < h->part_count; i++)
		if (h->parts[i].is_alive && !h->parts[i].is_at_end)
			remove_part(t, number, &h->parts[i], 0);
}

static void write_before(struct gt_snapshot_trace *t, uint64_t start_ns)
{
	struct gt_lane *lane = gt_lane_acquire(t->writer, 0, "");

	/* blocks lie in segments that exist */
	for (int blocks = 0; lane && blocks < 2; blocks++)
		for (size_t i = 0; i < t->before_count; i++) {
			t->before[i].time_ns = start_ns;
			if ((t->before[i].function == ROW_BLOCK) == blocks)
				gt_lane_event(lane, &t->before[i]);
		}
}

/* The time of the first entry, less a moment in which everything before it is created. */
static uint64_t start_of(const struct gt_snapshot_trace *t, uint64_t *end_ns)
{
	uint64_t first = 0;

	*end_ns = 0;
	for (uint32_t i = 0; i < t->history_count; i++) {
		const struct history *h = t->histories[i];

		if (h->entries && (!first || h->first_ns < first))
			first = h->first_ns;
		*end_ns = h->last_ns > *end_ns ? h->last_ns : *end_ns;
	}
	first = first > 1000 ? first - 1000 : BASE_NS;
	*end_ns = *end_ns > first ? *end_ns : first;
	return first;
}

static void name_places(struct gt_snapshot_trace *t)
{
	char name[32];

	for (uint32_t i = 0; i < t->history_count; i++) {
		snprintf(name, sizeof name, "GPU %u", t->histories[i]->device);
		gt_writer_place(t->writer, (uint16_t)(i + 1), GT_CUDA, name);
	}
}

int gt_snapshot_trace_end(struct gt_snapshot_trace *t, bool has_state, struct gt_error *error)
{
	struct gt_snapshot_import *import = t->import;
	uint64_t end_ns, start_ns = start_of(t, &end_ns);

	import->devices = t->history_count;
	import->start_real_ns = import->has_times ? start_ns : 0;
	import->duration_ns = end_ns - start_ns;
	name_places(t);
	for (uint32_t i = 0; has_state && i < t->history_count; i++)
		end_rest(t, i);
	write_before(t, start_ns);
	/* the program ran on */
	gt_writer_info(t->writer, "went_on", "1", 1);
	gt_writer_info(t->writer, "snapshot", "1", 1);
	gt_writer_start_at(t->writer, start_ns, import->start_real_ns);
	gt_writer_end_at(t->writer, end_ns);
	if (t->error)
		return write_failed(t, t->error, error);
	t->is_ended = true;
	return 0;
}
