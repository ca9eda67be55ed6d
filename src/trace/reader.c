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

void gt_reader_note_damage(struct gt_reader *r, const char *what, uint64_t offset)
{
	if (!r->damage[0])
		snprintf(r->damage, sizeof r->damage, "%s at byte %" PRIu64, what, offset);
}

void gt_reader_add_gap(struct gt_reader *r, uint64_t first_ns, uint64_t last_ns)
{
	r->has_new_gap = true;
	if (!r->gap_first_ns || first_ns < r->gap_first_ns)
		r->gap_first_ns = first_ns ? first_ns : 1;
	if (last_ns > r->gap_last_ns)
		r->gap_last_ns = last_ns;
}

void gt_reader_lose_rest(struct gt_reader *r, const struct lane *lane)
{
	gt_reader_add_gap(r, lane->time_ns ? lane->time_ns : r->file.header.start_ns, UINT64_MAX);
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
		gt_reader_note_damage(r, "a damaged block", offset);
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

/* The block before a new one of its lane is full, and may not have been when it was found. */
static void update_used(struct gt_reader *r, struct block *block)
{
	struct gt_block_header h;

	atomic_thread_fence(memory_order_acquire);
	if (read_block_header(r, &h, block->offset))
		block->used = h.used;
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
		gt_reader_note_damage(r, "a block of an impossible lane", offset);
		r->misses_blocks = true;
		r->gone_size += h->size;
		return;
	}
	lane = lane_at(r, h->lane);
	is_missing = h->sequence > lane->sequence && h->lane;
	if (h->sequence != lane->sequence)
		gt_reader_note_damage(r, "a block out of sequence", offset);
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
	if (lane->block_count && r->file.header.state == GT_TRACE_RUNNING)
		update_used(r, &lane->blocks[lane->block_count - 1]);
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

			gt_reader_note_damage(r, "a block is gone", offset);
			r->misses_blocks = true;
			r->gone_size += next - offset;
			offset = next;
		} else {
			break;
		}
	}
	/* blocks that no lane misses were the last of theirs */
	if (r->missing_size != r->gone_size)
		gt_reader_add_gap(r, r->newest_ns, UINT64_MAX);
	if (r->file.header.blocks_end > r->file.size) {
		gt_reader_note_damage(r, "the file was cut", r->file.size);
		gt_reader_add_gap(r, r->newest_ns, UINT64_MAX);
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

/* Reads a block into the lane's buffer, as far as the file goes. */
static enum step read_block(struct gt_reader *r, struct lane *lane, struct gt_block_header *h,
			    uint64_t offset, size_t *available)
{
	if (!read_block_header(r, h, offset))
		return STEP_DAMAGE;
	/* the writer stores `used` after the records: they are read after it */
	atomic_thread_fence(memory_order_acquire);
	if (!lane->buffer || lane->buffer_size < h->used) {
		lane->buffer = gt_realloc(lane->buffer, h->size + BEHIND_RECORDS);
		lane->buffer_size = h->size;
	}
	offset += sizeof *h;
	if (r->file.size - offset < h->used)
		update_size(r);
	*available = r->file.size - offset < h->used ? r->file.size - offset : h->used;
	if (*available < h->used) {
		gt_reader_note_damage(r, "the file was cut", r->file.size);
		lane->is_cut = true;
	}
	if (!gt_trace_file_read(&r->file, lane->buffer, *available, offset)) {
		gt_reader_note_damage(r, "unreadable bytes", offset);
		return STEP_DAMAGE;
	}
	memset(lane->buffer + *available, 0, BEHIND_RECORDS);
	return STEP_ON;
}

static bool has_wrong_hash(const struct lane *lane, const struct gt_block_header *h,
			   size_t available)
{
	return h->hash && available == h->used &&
	       h->hash != gt_block_hash(h, lane->buffer, available);
}

enum step gt_lane_load_block(struct gt_reader *r, struct lane *lane)
{
	const struct block *block;
	struct gt_block_header h;
	size_t available;

	if (lane->block_next == lane->block_count) {
		if (lane->broken || lane->is_cut)
			gt_reader_lose_rest(r, lane);
		return STEP_END;
	}
	block = &lane->blocks[lane->block_next++];
	if (read_block(r, lane, &h, block->offset, &available) != STEP_ON)
		return STEP_DAMAGE;
	/* try again: the writer may have filled and sealed it while we read its header */
	if (has_wrong_hash(lane, &h, available) &&
	    (read_block(r, lane, &h, block->offset, &available) != STEP_ON ||
	     has_wrong_hash(lane, &h, available))) {
		gt_reader_note_damage(r, "changed bytes in a block", block->offset + sizeof h);
		return STEP_DAMAGE;
	}
	available = available < block->used ? available : block->used;
	if (block->is_after_missing) {
		gt_reader_add_gap(r, lane->time_ns ? lane->time_ns : r->file.header.start_ns,
				  h.time_ns);
		lane->has_thread = h.tid;
	}
	lane->bytes = (struct gt_bytes){ .at = lane->buffer, .end = lane->buffer + available };
	lane->time_ns = h.time_ns;
	lane->handle = h.handle;
	gt_origins_begin(&lane->origins, h.owner);
	lane->tid = h.tid;
	lane->end_size = lane->phase = lane->end_place = 0;
	lane->duration_ns = 0;
	lane->touches = (struct gt_touches){ 0 };
	return STEP_ON;
}

static void read_definitions(struct gt_reader *r)
{
	struct lane *lane = &r->lanes[0];

	while (gt_lane_load_block(r, lane) == STEP_ON)
		if (!gt_definitions_add(&r->definitions, lane->bytes.at,
					gt_bytes_left(&lane->bytes))) {
			gt_reader_note_damage(r, "a damaged definition in the block",
					      lane->blocks[lane->block_next - 1].offset);
			return;
		}
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
	gt_lanes_start(r);
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
