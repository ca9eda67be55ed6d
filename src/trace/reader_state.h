/* SPDX-License-Identifier: MIT */
/* reader_state.h - a reader on the inside: reader.c finds its blocks, lanes.c decodes and merges
 * their records, unfinished.c finds what was left open. */
#pragma once

#include "trace/origin.h"
#include "trace/reader.h"
#include "trace/trace_file.h"

/* Zeroes behind the records of a block: an event is decoded before its end is checked. */
enum { BEHIND_RECORDS = 64 };

/* Events of a lane that are decoded at once: its records resemble each other, those of others not.
 */
enum { LANE_AHEAD = 16 };

enum step { STEP_ON, STEP_END, STEP_DAMAGE };

/* Where a block lies, and how much of it to read: what it held when it was found. */
struct block {
	uint64_t offset;
	uint32_t used;
	bool is_after_missing; /* the lane's block before it is missing */
};

/* A lane's blocks, read one after another. */
struct lane {
	struct block *blocks;
	size_t block_count, block_room, block_next;
	uint32_t sequence; /* of the next block */
	bool broken;       /* a block is out of place: it and later ones are not read */
	bool is_cut;       /* the file ends within its last block */
	uint8_t *buffer;
	size_t buffer_size;
	struct gt_bytes bytes;
	struct gt_trace_inflight inflight; /* of the last block, when it was found */
	uint32_t last_size;                /* of that block */
	uint64_t time_ns, handle;
	struct gt_origins origins; /* in version 1: only the first */
	uint32_t tid;
	bool has_thread; /* which has not ended */
	struct gt_touches touches;
	uint64_t end_size; /* from GT_TAG_END_DETAIL, for the next event only */
	uint16_t end_place;
	uint64_t duration_ns, since_ns;    /* from GT_TAG_CALL, likewise */
	uint32_t phase;                    /* of the events that follow in this block */
	struct gt_event ahead[LANE_AHEAD]; /* decoded; those before `ahead_next` were returned */
	uint32_t ahead_count, ahead_next;
	uint64_t key; /* time of the next event, but never less than that of the one before */
};

struct gt_reader {
	struct gt_trace_file file;
	struct gt_definitions definitions;
	struct lane *lanes;
	size_t lane_count, lane_room;
	uint64_t headers_read;  /* block headers read so far */
	struct gt_heap heap;    /* lanes by the time of their next event */
	size_t unfinished_next; /* after the events: the next lane with an unfinished call */
	struct gt_trace_arguments arguments; /* of the last one returned */
	uint64_t unknown, gap_first_ns, gap_last_ns;
	uint64_t newest_ns;    /* base of the newest block before the first missing one */
	uint64_t missing_size; /* of blocks that lanes miss */
	uint64_t gone_size;    /* of the room in which no block was found */
	bool misses_blocks;
	bool has_new_gap; /* since gt_reader_read was called */
	char damage[160];
};

void gt_reader_note_damage(struct gt_reader *r, const char *what, uint64_t offset);
/* Widens the gap: events may be missing from the first moment to the last. */
void gt_reader_add_gap(struct gt_reader *r, uint64_t first_ns, uint64_t last_ns);
/* What the lane's next records would have said is unknown. */
void gt_reader_lose_rest(struct gt_reader *r, const struct lane *lane);

/* Reads the records of the lane's next block. */
enum step gt_lane_load_block(struct gt_reader *r, struct lane *lane);
/* Advances all lanes to their first events. */
void gt_lanes_start(struct gt_reader *r);
