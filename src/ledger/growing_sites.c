/* SPDX-License-Identifier: MIT */
/* growing_sites.c - call sites that hold more and more: how fast, how steadily, since when. */
#include "ledger/growing_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/time_series.h"

enum {
	LEAST_STEPS = 8,  /* fewer are too short a history */
	LEAST_RISES = 4,  /* fewer are a start-up, not growth */
	WARM_UP_PART = 8, /* the first 1/8 of a site's life does not count */
};

/* Growth continues: this part of the rise must lie in its second half. */
static const double LATE_SHARE = 0.2, STEADY = 0.8;
/* Few long steps rise by chance more often than many short ones. */
static const double STEADY_IN_LONGER = 0.95;

struct gt_growth {
	struct gt_time_series **sites; /* by site: what it holds; NULL: never changed */
	size_t site_count;
	uint64_t start_ns, now_ns;
	bool begun;
};

struct gt_growth *gt_growth_new(void)
{
	return gt_alloc(sizeof(struct gt_growth));
}

void gt_growth_free(struct gt_growth *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->site_count; i++) {
		if (g->sites[i])
			gt_time_series_fini(g->sites[i]);
		free(g->sites[i]);
	}
	free(g->sites);
	free(g);
}

static struct gt_time_series *series_of(struct gt_growth *g, uint32_t site)
{
	GT_REACH(g->sites, g->site_count, site);
	if (!g->sites[site]) {
		g->sites[site] = gt_alloc(sizeof *g->sites[site]);
		gt_time_series_init(g->sites[site], 1, GT_GROWTH_STEPS, g->start_ns);
	}
	return g->sites[site];
}

static bool has_bytes(const struct gt_site *site)
{
	return gt_kind_has_bytes((enum gt_kind)site->kind);
}

void gt_growth_record(struct gt_growth *g, const struct gt_ledger *l, uint64_t time_ns)
{
	if (!g->begun) {
		g->begun = true;
		g->start_ns = g->now_ns = time_ns;
	}
	/* streams are merged by key: an earlier time counts as the latest so far */
	if (time_ns > g->now_ns)
		g->now_ns = time_ns;
	for (size_t i = 0; i < l->touched_count; i++) {
		const struct gt_site *site = &l->sites[l->touched[i]];
		struct gt_time_series *s = series_of(g, l->touched[i]);

		gt_time_series_advance(s, g->now_ns);
		gt_time_series_set(s, 0,
				   has_bytes(site) ? site->bytes_live - site->bytes_gone :
						     site->live - site->gone);
	}
}

/* The least that a site held in each step from its first creation to the recording's end. */
struct floors {
	uint64_t floor[GT_GROWTH_STEPS];
	size_t first, last;
	uint64_t step_ns;
};

static struct floors floors_of(const struct gt_time_series *s, uint64_t step_ns, uint64_t end_ns)
{
	struct floors f = { .first = s->times[0] / step_ns, .step_ns = step_ns };
	uint64_t held = 0;

	f.last = f.first;
	for (size_t i = 0; i < s->count; i++) {
		const struct gt_extent *e = gt_time_series_at(s, i, 0);

		while (f.last < s->times[i] / step_ns)
			f.floor[++f.last] = held;
		if (e->low < f.floor[f.last])
			f.floor[f.last] = e->low;
		held = e->last;
	}
	while (f.last < end_ns / step_ns)
		f.floor[++f.last] = held;
	return f;
}

/* How much the floor rose and fell over some steps. */
struct climb {
	uint64_t up, down;
	size_t rises;
};

static struct climb climb(const uint64_t *floor, size_t from, size_t to)
{
	struct climb c = { 0 };

	for (size_t i = from + 1; i <= to; i++) {
		if (floor[i] > floor[i - 1]) {
			c.up += floor[i] - floor[i - 1];
			c.rises++;
		} else {
			c.down += floor[i - 1] - floor[i];
		}
	}
	return c;
}

/* The last step at the highest floor: after it the program only cleans up. */
static size_t highest(const struct floors *f)
{
	size_t top = f->last;

	for (size_t i = f->last; i-- > f->first;)
		if (f->floor[i] > f->floor[top])
			top = i;
	return top;
}

/* Value per step by least squares. */
static double slope(const uint64_t *floor, size_t from, size_t to)
{
	double n = (double)(to - from + 1), x = 0, y = 0, xx = 0, xy = 0;

	for (size_t i = from; i <= to; i++) {
		double a = (double)(i - from), b = (double)floor[i];

		x += a;
		y += b;
		xx += a * a;
		xy += a * b;
	}
	return n * xx - x * x > 0 ? (n * xy - x * y) / (n * xx - x * x) : 0;
}

/*
 * The step in which the steady rise to `top` began. Before it the floor did not move, or was higher
 * by more than it `fell` during the rise.
 */
static size_t beginning(const uint64_t *floor, size_t from, size_t top, uint64_t fell)
{
	uint64_t slack = (floor[top] - floor[from]) / 50;
	size_t since = top, moved;

	for (size_t i = top; i-- > from;) {
		if (floor[i] > floor[since] + slack + fell)
			break;
		if (floor[i] < floor[since])
			since = i;
	}
	/* a first allocation followed by a long pause is not yet the rise */
	for (moved = since; moved < top && floor[moved + 1] <= floor[since] + slack;)
		moved++;
	return moved - since > (top - since) / WARM_UP_PART ? moved : since;
}

enum verdict { STAYS, WAVERS, RISES };

static enum verdict judge(const struct floors *f, double steady, struct gt_rise *r)
{
	size_t top = highest(f), from, middle;
	struct climb all, late;

	from = f->first + (top - f->first) / WARM_UP_PART;
	if (top < from + LEAST_STEPS)
		return STAYS;
	all = climb(f->floor, from, top);
	if (all.rises < LEAST_RISES)
		return STAYS;
	if ((double)(all.up - all.down) < steady * (double)all.up)
		return WAVERS;
	if (top < (f->first + f->last) / 2)
		return STAYS;
	middle = from + (top - from) / 2;
	late = climb(f->floor, middle, top);
	if ((double)late.up - (double)late.down < LATE_SHARE * (double)(all.up - all.down))
		return STAYS;
	r->steadiness = (double)(all.up - all.down) / (double)all.up;
	from = beginning(f->floor, f->first, top, all.down);
	r->from = f->floor[from];
	r->to = f->floor[top];
	r->per_second = slope(f->floor, from, top) * 1e9 / (double)f->step_ns;
	r->since_ns = from * f->step_ns;
	r->until_ns = (top + 1) * f->step_ns;
	return r->per_second > 0 ? RISES : STAYS;
}

/*
 * A program that allocates and frees in every iteration hides its growth if an iteration is longer
 * than a step. So longer steps are tried, while enough of them remain.
 */
static bool find_rise(const struct gt_growth *g, const struct gt_time_series *s, uint64_t step_ns,
		      uint64_t end_ns, struct gt_rise *r)
{
	struct floors f = floors_of(s, step_ns, end_ns);
	enum verdict verdict;

	memcpy(r->floor, f.floor, sizeof r->floor);
	r->floor_count = f.last + 1;
	/* at most three times: then too few steps remain */
	for (verdict = judge(&f, STEADY, r); verdict == WAVERS;
	     verdict = judge(&f, STEADY_IN_LONGER, r))
		f = floors_of(s, 2 * f.step_ns, end_ns);
	if (verdict != RISES)
		return false;
	r->given_back = gt_time_series_at(s, s->count - 1, 0)->last * 10 < r->to;
	r->since_ns += g->start_ns;
	r->until_ns += g->start_ns;
	if (r->until_ns > g->now_ns)
		r->until_ns = g->now_ns;
	return true;
}

static int steepest_first(const void *a, const void *b)
{
	const struct gt_rise *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes ? -1 : 1;
	if (x->per_second != y->per_second)
		return x->per_second > y->per_second ? -1 : 1;
	return x->site < y->site ? -1 : 1;
}

struct gt_rise *gt_growth_find(const struct gt_growth *g, const struct gt_ledger *l, size_t *count)
{
	uint64_t end_ns = g->now_ns - g->start_ns, step_ns = GT_FIRST_STEP_NS;
	struct gt_rise *growing = NULL, r;
	size_t room = 0;

	*count = 0;
	if (end_ns > GT_TIME_SERIES_MAX_NS)
		end_ns = GT_TIME_SERIES_MAX_NS;
	while (end_ns / step_ns >= GT_GROWTH_STEPS)
		step_ns *= 2;
	for (size_t i = 0; i < g->site_count && i < l->site_count; i++) {
		if (!g->sites[i] || !find_rise(g, g->sites[i], step_ns, end_ns, &r))
			continue;
		r.site = (uint32_t)i;
		r.bytes = has_bytes(&l->sites[i]);
		GT_GROW(growing, *count, room);
		growing[(*count)++] = r;
	}
	if (*count)
		qsort(growing, *count, sizeof *growing, steepest_first);
	return growing;
}
