/* SPDX-License-Identifier: MIT */
/*
 * breakdown.h - device memory by how much is known of where it was allocated, by process, by place.
 *
 * Kept as a ledger replays; a free is charged to what its allocation was counted under.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct gt_entry;

struct gt_share {
	uint64_t bytes;               /* now */
	uint64_t peak_bytes, peak_ns; /* its own peak, not the whole's */
	uint64_t created;             /* allocations of device memory ever */
};

struct gt_shares {
	struct gt_share origins[GT_ORIGIN_COUNT];
	uint64_t origins_at_peak[GT_ORIGIN_COUNT]; /* bytes at the whole's peak */
	struct gt_share *processes, *places;       /* by number; place 0: unknown */
	size_t process_count, place_count;
	/* How an entry is classed; NULL: by whether it has a stack. */
	enum gt_origin (*origin)(const void *context, uint16_t function, uint32_t stack);
	const void *context;
};

void gt_shares_fini(struct gt_shares *s);
enum gt_origin gt_shares_origin(const struct gt_shares *s, const struct gt_entry *e);

/* So many bytes of device memory more, or fewer, of this entry. */
void gt_shares_born(struct gt_shares *s, const struct gt_entry *e, uint64_t bytes);
void gt_shares_ended(struct gt_shares *s, const struct gt_entry *e, uint64_t bytes);
/* The whole is at a new peak. */
void gt_shares_peak(struct gt_shares *s);
