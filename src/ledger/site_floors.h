/* SPDX-License-Identifier: MIT */
/*
 * site_floors.h - the least that each call site held in each of a bounded number of time steps.
 *
 * All sites have the same steps. They start short, and double in length whenever time runs past the
 * last one. A change only marks its site; rows are written when a step is over. Memory grows with
 * the sites and with the steps in which each changed, not with changes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GT_FLOOR_STEPS = 64 };

/* A step in which a site changed. */
struct gt_floor_row {
	uint32_t site, step;
	uint64_t low, last; /* low includes what it held when the step began */
};

/* What a site holds, and what it held in the step in which it last changed. */
struct gt_floor_now {
	uint64_t low, last;
	uint32_t turn; /* of struct gt_site_floors; 0: it never changed */
};

/* Zeroed is empty. */
struct gt_site_floors {
	uint64_t start_ns, now_ns;
	uint64_t step_ns, step_end_ns; /* the current step's length, and its end since the start */
	uint32_t step;                 /* number of the current one */
	uint32_t turn;                 /* how often rows were written, from 1 */
	struct gt_floor_now *sites;
	size_t site_count;
	uint32_t *changed; /* sites, in this turn */
	size_t changed_count, changed_room;
	struct gt_floor_row *rows; /* in order of time, by site in no order */
	size_t row_count, row_room;
};

void gt_site_floors_fini(struct gt_site_floors *f);

/* The rare parts of the next two: the step is over, or a site changes for the first time in it. */
void gt_site_floors_next_step(struct gt_site_floors *f);
void gt_site_floors_begin_site(struct gt_site_floors *f, uint32_t site);

/* Moves on to a moment; never moves back. */
static inline void gt_site_floors_advance(struct gt_site_floors *f, uint64_t time_ns)
{
	if (!f->turn)
		f->start_ns = f->now_ns = time_ns;
	if (time_ns > f->now_ns)
		f->now_ns = time_ns;
	/* as it is, too, before the first moment */
	if (f->now_ns - f->start_ns >= f->step_end_ns)
		gt_site_floors_next_step(f);
}

/* What a site holds from that moment on. */
static inline void gt_site_floors_set(struct gt_site_floors *f, uint32_t site, uint64_t held)
{
	struct gt_floor_now *now;

	if (site >= f->site_count || f->sites[site].turn != f->turn)
		gt_site_floors_begin_site(f, site);
	now = &f->sites[site];
	now->last = held;
	now->low = held < now->low ? held : now->low;
}

/* Begins to fetch what it takes to set a site. */
static inline __attribute__((always_inline)) void gt_site_floors_prefetch(
	const struct gt_site_floors *f, uint32_t site)
{
	if (site < f->site_count)
		__builtin_prefetch(&f->sites[site], 1);
}

/* Writes the rows of the current step; it may go on. */
void gt_site_floors_flush(struct gt_site_floors *f);
/* After the last change: drops sites with fewer rows, and what only further changes would need. */
void gt_site_floors_end(struct gt_site_floors *f, size_t least_rows);
/*
 * The numbers of all rows, in order of sites, each site's in order of time; the caller frees. The
 * rows of a site are ends[site - 1] (0 for the first) to ends[site]; *ends has `sites` elements,
 * and the caller frees it, too.
 */
uint32_t *gt_site_floors_by_site(const struct gt_site_floors *f, size_t sites, uint32_t **ends);
