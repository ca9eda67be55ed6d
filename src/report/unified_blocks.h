/* SPDX-License-Identifier: MIT */
/*
 * unified_blocks.h - the blocks of unified memory of a recording: what moved of each, and how
 * often.
 *
 * A block is followed in chunks. What arrives at the device in a chunk beyond the chunk's own size
 * has been there before: it went back and forth. That is a lower bound, as the pages of a chunk may
 * move separately.
 */
#pragma once

#include "base/containers.h"
#include "replay/view.h"
#include "trace/paging.h"

/* Arrivals at the device from which a block thrashes: it has come back twice. */
enum { GT_UNIFIED_THRASHING = 3 };

/* What became of pages. */
struct gt_unified_moves {
	uint64_t amount[GT_PAGING_EFFECTS]; /* bytes, or faults */
	uint64_t count[GT_PAGING_EFFECTS];  /* migrations */
	uint64_t cause[GT_PAGING_CAUSES];   /* bytes that moved for it */
	uint64_t returned;                  /* bytes to the device that had been there before */
	uint64_t times;                     /* that a chunk came to the device, at most */
};

struct gt_unified_block {
	struct gt_entry entry;
	uint64_t end_ns; /* 0: it was alive at the end */
	struct gt_unified_moves moves;
	uint64_t *arrived;   /* by chunk: bytes that came to the device; NULL: none */
	uint64_t chunk_size; /* in bytes */
	size_t chunk_count;
	size_t index; /* in the list */
};

/* Blocks of one stack and kind that ended without ever having moved. */
struct gt_unified_still {
	uint32_t stack;
	uint16_t function;
	uint64_t count, bytes;
};

struct gt_unified {
	/* Those that moved, and those that were alive at the end. */
	struct gt_unified_block **blocks;
	size_t count, room;
	void *tree;                      /* living blocks by address, of tsearch(3) */
	struct gt_unified_moves total;   /* of all memory */
	struct gt_unified_moves unknown; /* of memory that belongs to no block */
	struct gt_unified_still *still;  /* blocks that are not in the list */
	size_t still_count, still_room;
	struct gt_map still_of; /* stack and kind -> index + 1 */
	size_t chunks_left;     /* that may still be followed */
	bool any;               /* paging was recorded */
	bool any_faults;
};

/* Reads the recording. */
void gt_unified_init(struct gt_unified *u, const struct gt_view *v);
void gt_unified_fini(struct gt_unified *u);

/* Bytes that moved, in whatever direction. */
uint64_t gt_unified_moved(const struct gt_unified_moves *m);
static inline bool gt_unified_thrashes(const struct gt_unified_moves *m)
{
	return m->times >= GT_UNIFIED_THRASHING;
}
/* Adds those of a block to a sum. */
void gt_unified_add(struct gt_unified_moves *sum, const struct gt_unified_moves *one);
