/* SPDX-License-Identifier: MIT */
/*
 * rises.h - call sites that hold more and more: how fast, how steadily, since when.
 *
 * Each site keeps the least that it held in each of a fixed number of stretches of time: its floor.
 * A cache that fills and empties has a floor that stays; what is never given back raises it. When
 * time runs past the last stretch, neighbours are merged and all become twice as long, so that
 * memory is by call sites, not by events. For the tool.
 */
#pragma once

#include "ledger/ledger.h"

enum { GT_GROWTH_STRETCHES = 64 };

struct gt_growth;

struct gt_growth *gt_growth_new(void);
void gt_growth_free(struct gt_growth *g);

/* After the ledger has applied an event of this time. */
void gt_growth_note(struct gt_growth *g, const struct gt_ledger *l, uint64_t time_ns);

/* A site that keeps rising. Values are bytes, or resources where the kind has no bytes. */
struct gt_rise {
	uint32_t site;   /* index in the ledger */
	bool bytes;      /* what the values are */
	bool given_back; /* in the end, all at once: what ends a service */
	double per_second;
	double steadiness;           /* 1: the floor never fell; 0: it fell as much as it rose */
	uint64_t from, to;           /* the floor when the rise began, and when it was highest */
	uint64_t since_ns, until_ns; /* of the rise */
	uint64_t floor[GT_GROWTH_STRETCHES];
	size_t floor_count; /* up to the recording's end */
};

/*
 * The sites whose floor keeps rising after warm-up, steepest first, bytes before resources; freed
 * by the caller.
 */
struct gt_rise *gt_growth_find(struct gt_growth *g, const struct gt_ledger *l, size_t *count);
