/* SPDX-License-Identifier: MIT */
/* reader.c - reads one trace: its lanes merged into one stream of events in order of time. */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "trace/reader_state.h"

enum { LANES_MAX = 1 << 24, LANES_MORE = 4096, MISSING_MAX = 1 << 30 };

static void report_damage(struct gt_reader *r, const char *what, uint64_t offset)
{
	if (!r->damage[0])
		snprintf(r->damage, sizeof r->damage, "%s at byte %" PRIu64, what, offset);
}

/* Widens the gap: events may be missing from the first moment to the last. */
static void add_gap(struct gt_reader *r, uint64_t first_ns, uint64_t last_ns)
{
	if (!r->gap_first_ns || first_ns < r->gap_first_ns)
		r->gap_first_ns = first_ns ? first_ns : 1;
	if (last_ns > r->gap_last_ns)
		r->gap_last_ns = last_ns;
}

/* What the lane's next records would have said is unknown. */
static void lose_rest(struct gt_reader *r, const struct lane *lane)
{
	add_gap(r, lane->time_ns ? lane->time_ns : r->file.header.start_ns, UINT64_MAX);
}

/* False when there is no block, or its header is damaged. */
static bool read_block_header(struct gt_reader *r, struct gt_block_header *h, uint64_t offset)
{
	if (offset + sizeof *h > r->file.size ||
	    !gt_trace_file_read(&r->file, h, sizeof *h, offset))
		return false;
	if (!h->magic)
		return false; /* reserved space that was not needed */
	if (h->magic != GT_BLOCK_MAGIC || h->size % GT_BLOCK_MIN || !h->size ||
	    h->size > GT_BLOCK_LIMIT || h->used > h->size - sizeof *h || h->lane >= LANES_MAX) {
		report_damage(r, "a damaged block", offset);
		return false;
	}
	return true;
}

static struct lane *lane_at(struct gt_reader *r, uint32_t number)
{
	while (number >= r->lane_count) {
		GT_GROW(r->lanes, r->lane_count, r->lane_room);
		r->lanes[r->lane_count++] = (struct lane){ 0 };
	}
	return &r->lanes[number];
}

static void add_block(struct gt_reader *r, const struct gt_block_header *h, uint64_t offset)
{
	struct lane *lane;
	bool is_missing;

	/*
	 * Lanes are numbered in the order of their first blocks, so a number cannot exceed the
	 * blocks by much. A damaged number must not cost memory; neither must a large file, maybe a
	 * hole.
	 */
	if (h->lane > r->headers_read + LANES_MORE) {
		report_damage(r, "a block of an impossible lane", offset);
		r->misses_blocks = true;
		r->gone_size += h->size;
		return;
	}
	lane = lane_at(r, h->lane);
	is_missing = h->sequence > lane->sequence && h->lane;
	if (h->sequence != lane->sequence)
		report_damage(r, "a block out of sequence", offset);
	r->misses_blocks |= h->sequence != lane->sequence;
	if (lane->broken || (h->sequence != lane->sequence && !is_missing)) {
		lane->broken = true;
		return;
	}
	for (; lane->sequence < h->sequence && r->missing_size < MISSING_MAX; lane->sequence++)
		r->missing_size += gt_block_size(lane->sequence);
	lane->sequence = h->sequence + 1;
	if (!r->misses_blocks && h->time_ns > r->newest_ns)
		r->newest_ns = h->time_ns;
	GT_GROW(lane->blocks, lane->block_count, lane->block_room);
	lane->blocks[lane->block_count++] = (struct block){ offset, h->used, is_missing };
	lane->inflight = h->inflight;
	lane->last_size = h->size;
}

/* The offset of the next data: skips a hole of any size at once. */
static uint64_t next_data(struct gt_reader *r, uint64_t offset)
{
	off_t data = lseek(gt_trace_file_descriptor(&r->file), (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? r->file.size : offset;
	return (uint64_t)data - ((uint64_t)data - r->file.header.header_size) % GT_BLOCK_MIN;
}

/*
 * First pass: finds the blocks of each lane. Blocks start at multiples of GT_BLOCK_MIN, so that the
 * next one can be found after a damaged one. Returns the end of the last block.
 */
static uint64_t find_blocks(struct gt_reader *r)
{
	uint64_t offset = r->file.header.header_size, end = r->file.header.blocks_end;
	struct gt_block_header h;

	end = end < r->file.size ? end : r->file.size;
	while (offset < r->file.size) {
		r->headers_read++;
		if (read_block_header(r, &h, offset)) {
			add_block(r, &h, offset);
			offset += h.size;
		} else if (offset < end) {
			uint64_t next = next_data(r, offset + GT_BLOCK_MIN);

			report_damage(r, "a block is gone", offset);
			r->misses_blocks = true;
			r->gone_size += next - offset;
			offset = next;
		} else {
			break;
		}
	}
	/* blocks that no lane misses were the last of theirs */
	if (r->missing_size != r->gone_size)
		add_gap(r, r->newest_ns, UINT64_MAX);
	if (r->file.header.blocks_end > r->file.size) {
		report_damage(r, "the file was cut", r->file.size);
		add_gap(r, r->newest_ns, UINT64_MAX);
	}
	return offset;
}

/* A trace that is being written may have grown since its size was taken. */
static void update_size(struct gt_reader *r)
{
	struct stat st;

	if (!fstat(gt_trace_file_descriptor(&r->file), &st) && (uint64_t)st.st_size > r->file.size)
		r->file.size = (uint64_t)st.st_size;
}

/*
 * Second pass, for a trace that is being written. Definitions are written before the events that
 * use them, so all that the events found so far refer to is defined by now: some of it in blocks
 * that have grown since they were found, or in new blocks. Events written since the first pass may
 * refer to definitions that we do not read, so they are left to the next reader.
 */
static void find_definitions(struct gt_reader *r, uint64_t offset)
{
	struct lane *lane = &r->lanes[0];
	struct gt_block_header h;

	if (r->damage[0])
		return;
	atomic_thread_fence(memory_order_acquire);
	update_size(r);
	for (size_t i = 0; i < lane->block_count; i++)
		if (read_block_header(r, &h, lane->blocks[i].offset))
			lane->blocks[i].used = h.used;
	for (; read_block_header(r, &h, offset); offset += h.size)
		if (!h.lane)
			add_block(r, &h, offset);
}

enum step { STEP_ON, STEP_END, STEP_DAMAGE };

/* Reads a block into the lane's buffer, as far as the file goes. */
static enum step read_block(struct gt_reader *r, struct lane *lane, struct gt_block_header *h,
			    uint64_t offset, size_t *available)
{
	if (!read_block_header(r, h, offset))
		return STEP_DAMAGE;
	/* the writer stores `used` after the records: they are read after it */
	atomic_thread_fence(memory_order_acquire);
	if (!lane->buffer || lane->buffer_size < h->used) {
		lane->buffer = gt_realloc(lane->buffer, h->size);
		lane->buffer_size = h->size;
	}
	offset += sizeof *h;
	if (r->file.size - offset < h->used)
		update_size(r);
	*available = r->file.size - offset < h->used ? r->file.size - offset : h->used;
	if (*available < h->used) {
		report_damage(r, "the file was cut", r->file.size);
		lane->is_cut = true;
	}
	if (!gt_trace_file_read(&r->file, lane->buffer, *available, offset)) {
		report_damage(r, "unreadable bytes", offset);
		return STEP_DAMAGE;
	}
	return STEP_ON;
}

static bool has_wrong_hash(const struct lane *lane, const struct gt_block_header *h,
			   size_t available)
{
	return h->hash && available == h->used &&
	       h->hash != gt_block_hash(h, lane->buffer, available);
}

/* Reads the records of the next block. */
static enum step load_block(struct gt_reader *r, struct lane *lane)
{
	const struct block *block;
	struct gt_block_header h;
	size_t available;

	if (lane->block_next == lane->block_count) {
		if (lane->broken || lane->is_cut)
			lose_rest(r, lane);
		return STEP_END;
	}
	block = &lane->blocks[lane->block_next++];
	if (read_block(r, lane, &h, block->offset, &available) != STEP_ON)
		return STEP_DAMAGE;
	/* try again: the writer may have filled and sealed it while we read its header */
	if (has_wrong_hash(lane, &h, available) &&
	    (read_block(r, lane, &h, block->offset, &available) != STEP_ON ||
	     has_wrong_hash(lane, &h, available))) {
		report_damage(r, "changed bytes in a block", block->offset + sizeof h);
		return STEP_DAMAGE;
	}
	available = available < block->used ? available : block->used;
	if (block->is_after_missing) {
		add_gap(r, lane->time_ns ? lane->time_ns : r->file.header.start_ns, h.time_ns);
		lane->has_thread = h.tid;
	}
	lane->bytes = (struct gt_bytes){ .at = lane->buffer, .end = lane->buffer + available };
	lane->time_ns = h.time_ns;
	lane->handle = h.handle;
	lane->owner = h.owner;
	lane->tid = h.tid;
	lane->end_size = lane->phase = lane->end_place = 0;
	lane->duration_ns = 0;
	lane->touches = (struct gt_touches){ 0 };
	return STEP_ON;
}

static void read_definitions(struct gt_reader *r)
{
	struct lane *lane = &r->lanes[0];

	while (load_block(r, lane) == STEP_ON)
		if (!gt_definitions_add(&r->definitions, lane->bytes.at,
					gt_bytes_left(&lane->bytes))) {
			report_damage(r, "a damaged definition in the block",
				      lane->blocks[lane->block_next - 1].offset);
			return;
		}
}

/* Decodes an event after its tag; false when it is incomplete or refers to nothing defined. */
static bool decode_event(struct gt_reader *r, struct lane *lane, uint64_t tag, struct gt_event *e)
{
	const struct gt_definitions *d = &r->definitions;
	struct gt_bytes *b = &lane->bytes;
	uint64_t number = (tag - GT_TAG_EVENT) / 2, stack, place = 0;

	if (!number || number > d->function_count)
		return false;
	*e = (struct gt_event){ .function = d->functions[number - 1], .failed = tag & 1 };
	e->time_ns = gt_advance(lane->time_ns, gt_get_varint(b));
	e->handle = gt_advance(lane->handle, gt_get_varint(b));
	if (d->effects[number - 1] == GT_CREATE) {
		e->size = gt_get_varint(b);
		e->owner = gt_advance(lane->owner, gt_get_varint(b));
		place = gt_get_varint(b);
		e->place = (uint16_t)place;
	} else {
		e->size = lane->end_size;
		e->place = lane->end_place;
	}
	if (lane->duration_ns) {
		e->duration_ns = lane->duration_ns;
		e->start_ns = e->time_ns - lane->since_ns;
		lane->duration_ns = 0;
	}
	lane->end_size = lane->end_place = 0;
	if (e->failed)
		e->result = (int32_t)gt_unzigzag(gt_get_varint(b));
	stack = gt_get_varint(b);
	if (b->bad || stack > d->stack_count || place > UINT16_MAX)
		return false;
	e->stack = (uint32_t)stack;
	e->tid = lane->tid;
	e->phase = lane->phase;
	lane->time_ns = e->time_ns;
	lane->handle = e->handle;
	if (d->effects[number - 1] == GT_CREATE)
		lane->owner = e->owner;
	return true;
}

static bool decode_sample(struct gt_reader *r, struct lane *lane, struct gt_bytes *record)
{
	uint64_t time = gt_advance(lane->time_ns, gt_get_varint(record));
	uint64_t series = gt_get_varint(record);
	int64_t value = gt_unzigzag(gt_get_varint(record));

	if (record->bad || !series || series > r->definitions.series_count)
		return false;
	lane->time_ns = time;
	lane->next = (struct gt_event){
		.time_ns = time, .tid = lane->tid, .handle = series, .size = (uint64_t)value
	};
	return true;
}

static bool decode_other(struct gt_reader *r, struct lane *lane, uint64_t tag)
{
	size_t size;
	const uint8_t *payload = gt_get_blob(&lane->bytes, &size);
	struct gt_bytes record = { .at = payload };

	if (!payload || tag == GT_TAG_END)
		return false;
	record.end = payload + size;
	if (tag == GT_TAG_SAMPLE)
		return decode_sample(r, lane, &record);
	if (tag == GT_TAG_PAGING) {
		bool is_whole = gt_paging_get(&lane->next, &record, lane->time_ns, lane->handle);

		lane->time_ns = lane->next.time_ns;
		lane->handle = lane->next.owner;
		return is_whole;
	}
	if (tag == GT_TAG_TOUCH) {
		lane->next = (struct gt_event){ .time_ns = lane->time_ns, .tid = lane->tid };
		record.bad =
			!gt_touches_begin(&lane->touches, &r->definitions, &record, &lane->next);
		lane->time_ns = lane->next.time_ns;
	}
	if (tag == GT_TAG_THREAD)
		lane->tid = (uint32_t)gt_get_varint(&record);
	if (tag == GT_TAG_THREAD || tag == GT_TAG_PHASE)
		lane->phase = tag == GT_TAG_PHASE ? (uint32_t)gt_get_varint(&record) : 0;
	if (tag == GT_TAG_THREAD || tag == GT_TAG_THREAD_END)
		lane->has_thread = tag == GT_TAG_THREAD;
	if (tag == GT_TAG_END_DETAIL) {
		lane->end_size = gt_get_varint(&record);
		lane->end_place = (uint16_t)gt_get_varint(&record);
	}
	if (tag == GT_TAG_CALL) {
		lane->duration_ns = gt_get_varint(&record);
		lane->since_ns = gt_get_varint(&record);
	}
	return !record.bad && lane->phase <= r->definitions.phase_count;
}

/* Advances a lane to its next event. */
static enum step step_on(struct gt_reader *r, struct lane *lane)
{
	for (;;) {
		const uint8_t *from;
		uint64_t tag = GT_TAG_TOUCH;
		bool is_good;

		while (!gt_bytes_left(&lane->bytes) && !gt_bytes_left(&lane->touches.left)) {
			enum step step = load_block(r, lane);

			if (step != STEP_ON)
				return step;
		}
		from = lane->bytes.at;
		if (gt_bytes_left(&lane->touches.left))
			is_good = gt_touches_next(&lane->touches, &lane->next);
		else if ((tag = gt_get_varint(&lane->bytes)) >= GT_TAG_EVENT)
			is_good = decode_event(r, lane, tag, &lane->next);
		else
			is_good = !lane->bytes.bad && decode_other(r, lane, tag);
		if (!is_good) {
			report_damage(r, "a damaged record",
				      lane->blocks[lane->block_next - 1].offset +
					      sizeof(struct gt_block_header) +
					      (uint64_t)(from - lane->buffer));
			return STEP_DAMAGE;
		}
		if (tag < GT_TAG_EVENT && tag != GT_TAG_SAMPLE && tag != GT_TAG_PAGING &&
		    tag != GT_TAG_TOUCH)
			continue;
		if (tag >= GT_TAG_EVENT && lane->next.function == GT_FN_NONE) {
			r->unknown++;
			add_gap(r, lane->next.time_ns, lane->next.time_ns);
			continue;
		}
		if (lane->next.time_ns > lane->key)
			lane->key = lane->next.time_ns;
		return STEP_ON;
	}
}

static enum step advance(struct gt_reader *r, struct lane *lane)
{
	enum step step = step_on(r, lane);

	if (step == STEP_DAMAGE)
		lose_rest(r, lane);
	return step;
}

static void start_lanes(struct gt_reader *r)
{
	for (size_t i = 1; i < r->lane_count; i++)
		if (advance(r, &r->lanes[i]) == STEP_ON)
			gt_heap_push(&r->heap, r->lanes[i].key, (uint32_t)i);
}

int gt_reader_next(struct gt_reader *r, struct gt_event *event)
{
	struct lane *lane;

	if (r->ended || !r->heap.count) {
		r->ended = true;
		return gt_reader_unfinished(r, event);
	}
	lane = &r->lanes[r->heap.items[0].item];
	*event = lane->next;
	if (advance(r, lane) == STEP_ON)
		gt_heap_rekey(&r->heap, lane->key);
	else
		gt_heap_pop(&r->heap);
	return 1;
}

int gt_reader_open(struct gt_reader **out, const char *path, struct gt_error *error)
{
	struct gt_reader *r = gt_alloc(sizeof *r);
	int e = gt_trace_file_open(&r->file, path, error);

	if (e) {
		free(r);
		return e;
	}
	lane_at(r, 0);
	find_definitions(r, find_blocks(r));
	read_definitions(r);
	start_lanes(r);
	*out = r;
	return 0;
}

void gt_reader_close(struct gt_reader *r)
{
	for (size_t i = 0; i < r->lane_count; i++) {
		free(r->lanes[i].blocks);
		free(r->lanes[i].buffer);
	}
	gt_definitions_free(&r->definitions);
	free(r->lanes);
	gt_heap_fini(&r->heap);
	gt_trace_file_close(&r->file);
	free(r);
}

struct gt_definitions *gt_reader_definitions(struct gt_reader *r)
{
	return &r->definitions;
}

const char *gt_reader_damage(const struct gt_reader *r)
{
	return r->damage[0] ? r->damage : NULL;
}

uint64_t gt_reader_unknown(const struct gt_reader *r)
{
	return r->unknown;
}

bool gt_reader_gap(const struct gt_reader *r, uint64_t *first_ns, uint64_t *last_ns)
{
	*first_ns = r->gap_first_ns;
	*last_ns = r->gap_last_ns;
	return r->gap_first_ns;
}

uint32_t gt_reader_threads(const struct gt_reader *r, bool *has_main)
{
	uint32_t count = 0;

	*has_main = false;
	for (size_t i = 1; i < r->lane_count; i++) {
		count += r->lanes[i].has_thread;
		*has_main |= r->lanes[i].has_thread && r->lanes[i].tid == r->file.header.pid;
	}
	return count;
}
