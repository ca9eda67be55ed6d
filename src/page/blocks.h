/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - single blocks of device memory for the page, and the segments of pools that they lie
 * in: each with its address, its life and the call that freed it.
 *
 * However many there are, the page has a bounded number. Blocks are ranked by bytes times time.
 * Those that took the most are in it, then those that took the most of each of a few parts of the
 * time, then of each of many: so whatever part a reader looks at has its biggest blocks. The others
 * are what the matrix of lives (page/life_matrix.h) has beyond these.
 */
#pragma once

#include "base/containers.h"
#include "page/life_matrix.h"

struct gt_page;

enum { GT_BLOCK_LEVELS = 3 };

struct gt_page_block {
	uint64_t handle, size, born_ns;
	uint64_t ended_ns; /* 0: never */
	uint32_t site;     /* the ledger's */
	uint32_t stack, tid, phase;
	uint32_t freed_stack; /* of the call that ended it; 0: unknown, or none */
	uint16_t process, place, function;
	uint8_t ended_by; /* enum gt_ended_by */
	bool has_address; /* the handle is one */
};

/* The biggest blocks of a part of the time. */
struct gt_block_window {
	struct gt_page_block *list;
	size_t count, room;
	struct gt_heap heap; /* of `list`, the smallest first */
};

struct gt_block_level {
	struct gt_block_window *windows;
	size_t window_count, max; /* of each window */
	uint64_t width_ns;        /* of a window */
};

/* Bytes in blocks of a segment, from a moment on. */
struct gt_segment_point {
	uint64_t time_ns, used;
};

struct gt_page_segment {
	uint64_t address; /* 0: unknown */
	uint64_t size, born_ns;
	uint64_t ended_ns; /* 0: never */
	uint32_t site, stack;
	uint16_t process, place, function;
	uint64_t used; /* now */
	struct gt_segment_point *points;
	size_t count, room;
	unsigned shift; /* nanoseconds in a step, as a power of two: each has one point */
};

struct gt_page_blocks {
	uint64_t start_ns, end_ns, now_ns;
	struct gt_block_level levels[GT_BLOCK_LEVELS];
	uint64_t total;               /* blocks in all */
	struct gt_page_block *ending; /* in the event that is being applied */
	size_t ending_count, ending_room;

	struct gt_page_segment **open; /* by slot: a living entry with blocks in it */
	size_t open_count;
	uint32_t closed; /* the slot of a segment that has just ended with blocks; UINT32_MAX */
	struct gt_page_segment *segments;
	size_t segment_count, segment_room, segment_max;
	uint64_t segment_total;
	struct gt_heap segment_heap;
};

struct gt_block_limits {
	uint64_t start_ns, end_ns;       /* of the recording */
	size_t windows[GT_BLOCK_LEVELS]; /* parts of the time */
	size_t blocks[GT_BLOCK_LEVELS];  /* in each part */
	size_t segments;
};
void gt_page_blocks_init(struct gt_page_blocks *b, const struct gt_block_limits *limits);
void gt_page_blocks_fini(struct gt_page_blocks *b);

/* A life that has ended or goes on, or a segment of which blocks have more or less. */
void gt_page_blocks_take(struct gt_page_blocks *b, const struct gt_ledger *l,
			 const struct gt_life *life);
/* The event has been applied: this stack ended what has been taken since. */
void gt_page_blocks_applied(struct gt_page_blocks *b, uint32_t stack);

/* page/segments.c: the same for segments; true if the life was about one. */
bool gt_page_segments_take(struct gt_page_blocks *b, const struct gt_ledger *l,
			   const struct gt_life *life);
void gt_page_segments_fini(struct gt_page_blocks *b);
/* Leaves at most `max` points of it. */
void gt_page_segment_thin(struct gt_page_segment *s, size_t max);

/* The rank of so many bytes for so long, the more the bigger. */
uint64_t gt_page_block_weight(uint64_t bytes, uint64_t from_ns, uint64_t to_ns);

/* page/blocks_json.c: "blocks", as viewer/js/blocks.js reads it. */
void gt_page_blocks_json(struct gt_json *j, const struct gt_page_blocks *b, const struct gt_page *h,
			 const struct gt_page_life_numbers *numbers);
