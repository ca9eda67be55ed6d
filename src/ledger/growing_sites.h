/* SPDX-License-Identifier: MIT */
/*
 * growing_sites.h - call sites that hold more and more: how fast, how steadily, since when.
 *
 * A site is judged by its floor: the least that it held in each of a bounded number of steps of
 * time. A cache that fills and empties has a floor that stays; what is never given back raises it.
 * Memory goes by call sites, not by events. For the tool.
 */
#pragma once

#include "ledger/ledger.h"

enum { GT_GROWTH_STEPS = 64 };

struct gt_growth;

struct gt_growth *gt_growth_new(void);
void gt_growth_free(struct gt_growth *g);

/* After the ledger has applied an event of this time. */
void gt_growth_record(struct gt_growth *g, const struct gt_ledger *l, uint64_t time_ns);

/* A site that keeps rising. Values are bytes, or resources where the kind has no bytes. */
struct gt_rise {
	uint32_t site;   /* index in the ledger */
	bool bytes;      /* values are bytes, not resources */
	bool given_back; /* at the end, all at once, as a service that shuts down does */
	double per_second;
	double steadiness;           /* 1: the floor never fell; 0: it fell as much as it rose */
	uint64_t from, to;           /* the floor when the rise began, and when it was highest */
	uint64_t since_ns, until_ns; /* of the rise */
	uint64_t floor[GT_GROWTH_STEPS];
	size_t floor_count; /* up to the recording's end */
};

/* The sites whose floor keeps rising after warm-up, steepest first, bytes first; caller frees. */
struct gt_rise *gt_growth_find(const struct gt_growth *g, const struct gt_ledger *l, size_t *count);
