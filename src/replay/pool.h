/* SPDX-License-Identifier: MIT */
/*
 * pool.h - the pools above the driver at a moment: segments, the blocks in them, and what lies
 * between.
 *
 * Works on any ledger: a finished one shows the end, one that was replayed up to the peak or to a
 * time (struct gt_replay) that moment. A ledger counts each byte once (ledger/extents.h): here
 * segments have their whole size again.
 */
#pragma once

#include "ledger/ledger.h"

/* What the pool can give back: an allocation, or one mapping of an expandable segment. */
struct gt_pool_segment {
	uint64_t address, size;
	uint64_t live, cached; /* bytes of blocks, and the rest */
	size_t run;
	size_t first_block, block_count; /* of the blocks that lie in it, also in part */
	uint32_t stack;                  /* that allocated it */
	uint16_t process, place;
};

/* Adjacent mappings, in which one block can lie; an allocation is a run of its own. */
struct gt_pool_run {
	uint64_t address, size;
	uint64_t largest_free;
	size_t free_pieces;
	uint16_t process, place;
};

struct gt_pool_block {
	const struct gt_entry *entry; /* borrowed from the ledger */
	bool is_loose;                /* lies in no known segment */
	uint64_t pinned;              /* cached bytes of the segments that it lies in … */
	uint64_t pinned_alone;        /* … of those in which no other block is alive */
};

struct gt_pools {
	/* all in the order of processes and addresses */
	struct gt_pool_segment *segments;
	size_t segment_count, segment_room;
	struct gt_pool_run *runs;
	size_t run_count, run_room;
	struct gt_pool_block *blocks;
	size_t block_count, block_room;

	uint64_t reserved, live, cached; /* of segments: reserved = live + cached */
	uint64_t fragmented;             /* the part of `cached` in segments with a living block */
	uint64_t loose;                  /* bytes of blocks in no known segment, not in `live` */
	uint64_t largest_free, free_pieces;
};

void gt_pools_init(struct gt_pools *p, const struct gt_ledger *l);
void gt_pools_fini(struct gt_pools *p);

/* What the blocks of a call site keep the pool from giving back. */
struct gt_pool_pin {
	const struct gt_site *site;
	uint64_t blocks, bytes; /* in segments with cached bytes */
	uint64_t pinned;        /* cached bytes of the segments that they lie in … */
	uint64_t pinned_alone;  /* … of those in which no other site has a block */
};

/* Who pins cached memory, the most first; the caller frees `*pins`. Returns their number. */
size_t gt_pools_pins(const struct gt_pools *p, const struct gt_ledger *l,
		     struct gt_pool_pin **pins);
