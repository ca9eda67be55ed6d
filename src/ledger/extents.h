/* SPDX-License-Identifier: MIT */
/*
 * extents.h - the memory that blocks of pools lie in, by address.
 *
 * Allocators above the driver (PyTorch's, the program's own) take segments from the driver and give
 * out blocks of them. An extent is a piece of such memory: an allocation, or one mapping of
 * physical memory. The bytes of a living block are the block's, and not its segment's: both
 * together are counted once.
 *
 * Built when the first block appears: other programs pay nothing. For the tool.
 */
#pragma once

#include "ledger/live.h"

struct gt_extent {
	uint64_t first, last; /* addresses */
	uint64_t used;        /* bytes of living blocks */
	uint64_t handle;      /* of the entry whose bytes these are … */
	uint8_t kind;         /* … and its kind */
	bool is_mapping;      /* adjacent ones form one range */
	bool is_gone;         /* its process has ended */
	uint16_t process, place;
};

enum { GT_EXTENT_PLACES = 64 }; /* as struct gt_entry numbers them */

/* Free memory of a pool's segments, … */
struct gt_extent_sums {
	uint64_t idle;   /* … in those without a living block */
	uint64_t pinned; /* … in those with one */
};

/* Zeroed is empty. */
struct gt_extents {
	void *tree; /* of tsearch(3) */
	bool is_built;
	void *abandoned; /* likewise, of extents that ended with living blocks */
	struct gt_extent_sums sums[GT_EXTENT_PLACES]; /* of processes that have not ended */
};

void gt_extents_fini(struct gt_extents *x);

/* An entry was born or has ended that may be an extent. */
void gt_extents_born(struct gt_extents *x, const struct gt_live *l, const struct gt_entry *entry);
void gt_extents_ended(struct gt_extents *x, const struct gt_entry *entry);

/* `bytes` are the block's and no longer the segment's, or the reverse if they are negative. */
typedef void gt_extent_move_fn(void *context, struct gt_entry *segment,
			       const struct gt_entry *block, int64_t bytes);

/*
 * A block was born or has ended: calls `move` on each segment that it lies in. A new block is where
 * its segment is.
 */
void gt_extents_block_born(struct gt_extents *x, const struct gt_live *l, struct gt_entry *block,
			   gt_extent_move_fn *move, void *context);
void gt_extents_block_ended(struct gt_extents *x, const struct gt_live *l,
			    const struct gt_entry *block, gt_extent_move_fn *move, void *context);

/* True if the extent of a living block has ended since gt_extents_forget: the block has, too. */
bool gt_extents_lack(const struct gt_extents *x, const struct gt_entry *block);
void gt_extents_forget(struct gt_extents *x);

/* The extent that an address of a process lies in; NULL: none that is known. */
const struct gt_extent *gt_extents_find(const struct gt_extents *x, uint16_t process,
					uint64_t address);

/* A process has ended: the sums do without its extents. */
void gt_extents_process_ended(struct gt_extents *x, uint16_t process);

/* Calls `each` on every extent, in the order of processes and addresses. */
void gt_extents_each(const struct gt_extents *x,
		     void (*each)(void *context, const struct gt_extent *extent), void *context);

/* True for a block of a pool. */
static inline bool gt_entry_is_pooled(const struct gt_entry *entry)
{
	return gt_kinds[gt_entry_kind(entry)].habits & GT_POOLED;
}
