/* SPDX-License-Identifier: MIT */
/* growing_sites.c - call sites that hold more and more: how fast, how steadily, since when. */
#include "ledger/growing_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/time_series.h"

/*
 * The test; doc/growth.md states it for users. It judges the second half of the time up to the
 * highest floor: caches and pools have filled by then.
 */
enum {
	LEAST_RISES = 8,           /* periods in which the floor rises: fewer are single events */
	LEAST_RISES_OF_SETUP = 12, /* kinds that a program creates once, perhaps one by one */
	LEAST_STEPS = 3,           /* with changes: a site that has fewer cannot grow */
	LONGEST_PAUSE = 3,         /* at the end, in mean pauses: then it has stopped */
	LONG_PAUSE_PART = 8,       /* of the rise, at its start: not yet the rise */
};

static const double STEADY = 0.9;      /* at most a tenth of the rise is given back */
static const double LATE_PART = 0.5;   /* the later quarter rises this much of the earlier one */
static const double EARLY_PART = 0.25; /* and the earlier one this much of the later */
static const double NEW_PART = 0.5;    /* of the rise, above all that was held before */

/* the floor can rise in a step with a change, and in the one after it */
_Static_assert(2 * LEAST_STEPS <= LEAST_RISES && LEAST_RISES <= LEAST_RISES_OF_SETUP, "see judge");
_Static_assert((int)GT_GROWTH_STEPS == (int)GT_FLOOR_STEPS, "a floor for each step");

struct gt_growth *gt_growth_new(void)
{
	return gt_alloc(sizeof(struct gt_growth));
}

void gt_growth_free(struct gt_growth *g)
{
	if (g)
		gt_site_floors_fini(&g->floors);
	free(g);
}

static bool has_bytes(const struct gt_site *site)
{
	return gt_kind_has_bytes((enum gt_kind)site->kind);
}

/* A program creates these once, though perhaps not before it needs them. */
static bool is_setup(enum gt_kind kind)
{
	enum gt_label label = (enum gt_label)gt_kinds[kind].label;

	return label == GT_LABEL_CONTEXT || label == GT_LABEL_COMMAND_QUEUE ||
	       label == GT_LABEL_MODULE || label == GT_LABEL_KERNEL;
}

static size_t least_rises_of(enum gt_kind kind)
{
	return is_setup(kind) ? LEAST_RISES_OF_SETUP : LEAST_RISES;
}

void gt_growth_end(struct gt_growth *g)
{
	gt_site_floors_end(&g->floors, LEAST_STEPS);
}

/* The rows of one site, in order of time. */
struct rows {
	const struct gt_floor_row *all;
	const uint32_t *numbers;
	size_t count;
};

static const struct gt_floor_row *row_at(const struct rows *rows, size_t i)
{
	return &rows->all[rows->numbers[i]];
}

/* The least that a site held in each step from its first creation to the recording's end. */
struct floors {
	uint64_t floor[GT_GROWTH_STEPS];
	size_t first, last;
	uint64_t step_ns;
};

/* Steps are longer than those of rows by a power of two. */
static struct floors floors_of(const struct rows *rows, unsigned power, uint64_t step_ns,
			       uint64_t end_ns)
{
	struct floors f = { .first = row_at(rows, 0)->step >> power, .step_ns = step_ns << power };
	uint64_t held = 0;

	f.last = f.first;
	for (size_t i = 0; i < rows->count; i++) {
		const struct gt_floor_row *row = row_at(rows, i);

		while (f.last < row->step >> power)
			f.floor[++f.last] = held;
		if (row->low < f.floor[f.last])
			f.floor[f.last] = row->low;
		held = row->last;
	}
	while (f.last < end_ns / f.step_ns)
		f.floor[++f.last] = held;
	return f;
}

/* How much the floor rose and fell over some steps. */
struct climb {
	uint64_t up, down;
	size_t rises, last_rise;
};

static struct climb climb(const uint64_t *floor, size_t from, size_t to)
{
	struct climb c = { 0 };

	for (size_t i = from + 1; i <= to; i++) {
		if (floor[i] <= floor[i - 1]) {
			c.down += floor[i - 1] - floor[i];
			continue;
		}
		c.up += floor[i] - floor[i - 1];
		c.rises++;
		c.last_rise = i;
	}
	return c;
}

static uint64_t most(const uint64_t *floor, size_t from, size_t to)
{
	uint64_t high = 0;

	for (size_t i = from; i <= to; i++)
		high = floor[i] > high ? floor[i] : high;
	return high;
}

static double net(const uint64_t *floor, size_t from, size_t to)
{
	return (double)floor[to] - (double)floor[from];
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
 * The first step from which the floor follows the straight line of its second half: a pool that
 * filled before rose faster.
 */
static size_t same_slope(const uint64_t *floor, size_t first, size_t middle, size_t top)
{
	double each = net(floor, middle, top) / (double)(top - middle);
	double slack = net(floor, middle, top) / 4;
	size_t i = middle;

	while (i > first) {
		double off = net(floor, i - 1, middle) - each * (double)(middle - i + 1);

		if (off > slack || off < -slack)
			break;
		i--;
	}
	return i;
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
	return moved - since > (top - since) / LONG_PAUSE_PART ? moved : since;
}

enum verdict { STAYS, WAVERS, RISES };

/* A pool that is full, or a program that has done its work: the floor stays near its highest. */
static bool has_stopped(const struct floors *f, size_t middle, size_t top, const struct climb *c)
{
	size_t i = f->last;

	while (f->floor[i] < f->floor[top] - (f->floor[top] - f->floor[middle]) / 2)
		i--;
	return (i - c->last_rise) * c->rises >= LONGEST_PAUSE * (c->last_rise - middle);
}

/* The rise lasts through both quarters, and is neither a single step nor one of many tides. */
static bool is_even(const uint64_t *floor, size_t middle, size_t top)
{
	double rise = net(floor, middle, top), early = net(floor, middle, (middle + top) / 2);
	double late = rise - early;

	return late >= LATE_PART * early && early >= EARLY_PART * late &&
	       (double)floor[top] - (double)most(floor, 0, middle) >= NEW_PART * rise;
}

static enum verdict judge(const struct floors *f, size_t least_rises, struct gt_rise *r)
{
	size_t top = highest(f), middle = (top + 1) / 2, from;
	struct climb c = climb(f->floor, middle, top);

	/* in the last quarter: what follows is the program's shutdown */
	if (4 * (top + 1) < 3 * (f->last + 1) || c.rises < least_rises)
		return STAYS;
	if ((double)(c.up - c.down) < STEADY * (double)c.up)
		return WAVERS;
	if (!is_even(f->floor, middle, top) || has_stopped(f, middle, top, &c))
		return STAYS;
	r->steadiness = (double)(c.up - c.down) / (double)c.up;
	from = same_slope(f->floor, f->first, middle, top);
	from = beginning(f->floor, from, top, c.down);
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
static bool find_rise(const struct gt_site_floors *all, const struct rows *rows,
		      const struct gt_site *site, uint64_t end_ns, struct gt_rise *r)
{
	struct floors f = floors_of(rows, 0, all->step_ns, end_ns);
	size_t least_rises = least_rises_of((enum gt_kind)site->kind);
	enum verdict verdict;

	memcpy(r->floor, f.floor, sizeof r->floor);
	r->floor_count = f.last + 1;
	verdict = judge(&f, least_rises, r);
	/* at most three times: then too few steps remain */
	for (unsigned power = 1; verdict == WAVERS; power++) {
		f = floors_of(rows, power, all->step_ns, end_ns);
		verdict = judge(&f, least_rises, r);
	}
	if (verdict != RISES)
		return false;
	r->given_back = row_at(rows, rows->count - 1)->last * 10 < r->to;
	r->since_ns += all->start_ns;
	r->until_ns += all->start_ns;
	if (r->until_ns > all->now_ns)
		r->until_ns = all->now_ns;
	return true;
}

bool gt_growth_judge_floors(const uint64_t *floor, size_t count, uint64_t step_ns,
			    enum gt_kind kind, struct gt_rise *r)
{
	struct floors f = { .last = count - 1, .step_ns = step_ns };
	enum verdict verdict;

	*r = (struct gt_rise){ .bytes = gt_kind_has_bytes(kind), .floor_count = count };
	memcpy(f.floor, floor, count * sizeof *floor);
	memcpy(r->floor, f.floor, sizeof r->floor);
	while ((verdict = judge(&f, least_rises_of(kind), r)) == WAVERS) {
		for (size_t i = 0; i <= f.last / 2; i++) {
			size_t second = 2 * i < f.last ? 2 * i + 1 : 2 * i;

			f.floor[i] =
				f.floor[2 * i] < f.floor[second] ? f.floor[2 * i] : f.floor[second];
		}
		f.last /= 2;
		f.step_ns *= 2;
	}
	return verdict == RISES;
}

int gt_rise_steepest_first(const void *a, const void *b)
{
	const struct gt_rise *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes ? -1 : 1;
	if (x->per_second != y->per_second)
		return x->per_second > y->per_second ? -1 : 1;
	return x->site < y->site ? -1 : 1;
}

struct gt_rise *gt_growth_find(struct gt_growth *g, const struct gt_ledger *l, size_t *count)
{
	const struct gt_site_floors *f = &g->floors;
	uint64_t end_ns = f->now_ns - f->start_ns;
	struct gt_rise *growing = NULL, r;
	uint32_t *numbers, *ends;
	size_t room = 0;

	*count = 0;
	if (end_ns < GT_GROWTH_MIN_NS)
		return NULL;
	if (end_ns > GT_TIME_SERIES_MAX_NS)
		end_ns = GT_TIME_SERIES_MAX_NS;
	gt_site_floors_flush(&g->floors);
	numbers = gt_site_floors_by_site(f, l->site_count, &ends);
	for (size_t i = 0; i < l->site_count; i++) {
		uint32_t first = i ? ends[i - 1] : 0;
		struct rows rows = { f->rows, numbers + first, ends[i] - first };

		if (rows.count < LEAST_STEPS || !find_rise(f, &rows, &l->sites[i], end_ns, &r))
			continue;
		r.site = (uint32_t)i;
		r.bytes = has_bytes(&l->sites[i]);
		r.created = l->sites[i].created;
		r.live = l->sites[i].live;
		r.bytes_live = l->sites[i].bytes_live;
		GT_GROW(growing, *count, room);
		growing[(*count)++] = r;
	}
	free(numbers);
	free(ends);
	if (*count)
		qsort(growing, *count, sizeof *growing, gt_rise_steepest_first);
	return growing;
}
