/* SPDX-License-Identifier: MIT */
/*
 * growing_sites.h - call sites that hold more and more: how fast, how steadily, since when.
 *
 * A site is judged by its floor: the least it held in each of a bounded number of time steps. The
 * floor of a cache that fills and empties stays level; resources that are never released raise it.
 * Memory grows with call sites, not with events. For the tool.
 */
#pragma once

#include "ledger/ledger.h"
#include "ledger/site_floors.h"

enum { GT_GROWTH_STEPS = 64 };

#define GT_GROWTH_MIN_NS 2000000000ull /* a shorter recording has no past to speak of */

struct gt_growth {
	struct gt_site_floors floors;
};

struct gt_growth *gt_growth_new(void);
void gt_growth_free(struct gt_growth *g);

/* Call after the ledger has applied an event, with its time. */
static inline void gt_growth_record(struct gt_growth *g, const struct gt_ledger *l,
				    uint64_t time_ns)
{
	/* streams are merged by key: an earlier time counts as the latest so far */
	gt_site_floors_advance(&g->floors, time_ns);
	for (size_t i = 0; i < l->touched_count; i++) {
		const struct gt_site *site = &l->sites[l->touched[i]];

		gt_site_floors_set(&g->floors, l->touched[i],
				   gt_kind_has_bytes((enum gt_kind)site->kind) ?
					   site->bytes_live - site->bytes_gone :
					   site->live - site->gone);
	}
}

/* After the last change: frees what only further changes would need. */
void gt_growth_end(struct gt_growth *g);

/* A site that keeps rising. Values are bytes, or resources where the kind has no bytes. */
struct gt_rise {
	uint32_t site;   /* index in the ledger */
	bool bytes;      /* values are bytes, not resources */
	bool given_back; /* all at once at the end, as by a service that shuts down */
	double per_second;
	double steadiness;           /* 1: the floor never fell; 0: it fell as much as it rose */
	uint64_t from, to;           /* the floor at the start of the rise, and at its highest */
	uint64_t since_ns, until_ns; /* of the rise */
	uint64_t floor[GT_GROWTH_STEPS];
	size_t floor_count;                 /* steps up to the end of the recording */
	uint64_t created, live, bytes_live; /* of the site, in all and at the end */
};

/* The order of rises, for qsort: bytes first. */
int gt_rise_steepest_first(const void *a, const void *b);

/* The sites whose floor keeps rising after warm-up, steepest first, bytes first; caller frees. */
struct gt_rise *gt_growth_find(struct gt_growth *g, const struct gt_ledger *l, size_t *count);

/*
 * The same test on floors that the caller keeps: the least that was held in each step, oldest
 * first, at most GT_GROWTH_STEPS. Of `r`, what is about the rise is set, with times since the first
 * step.
 */
bool gt_growth_judge_floors(const uint64_t *floor, size_t count, uint64_t step_ns,
			    enum gt_kind kind, struct gt_rise *r);
