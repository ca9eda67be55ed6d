/* SPDX-License-Identifier: MIT */
/* rises.c - call sites that hold more and more: how fast, how steadily, since when. */
#include "ledger/rises.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	FIRST_STRETCH_NS = 1000,
	LEAST_STRETCHES = 8, /* fewer are no history */
	LEAST_RISES = 4,     /* fewer steps are a start, not a habit */
	WARM_UP_PART = 8,    /* this part of a site's life does not count */
};

/* A program that grows keeps on growing: by how much of its rise it must have risen lately. */
static const double LATE_SHARE = 0.2, STEADY = 0.8;
/* Few long stretches rise by chance more often than many short ones. */
static const double STEADY_IN_LONGER = 0.95;

struct track {
	uint64_t floor[GT_GROWTH_STRETCHES]; /* where nothing happened: what was held on entering */
	uint64_t now;
	uint32_t level;       /* how often its stretches have been doubled */
	uint16_t first, last; /* stretches with changes */
	bool known;
};

struct gt_growth {
	struct track **tracks; /* by site */
	size_t track_count;
	uint64_t start_ns, now_ns, stretch_ns;
	uint32_t level;
	bool begun;
};

struct gt_growth *gt_growth_new(void)
{
	struct gt_growth *g = gt_alloc(sizeof *g);

	g->stretch_ns = FIRST_STRETCH_NS;
	return g;
}

void gt_growth_free(struct gt_growth *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->track_count; i++)
		free(g->tracks[i]);
	free(g->tracks);
	free(g);
}

/* Carries what was held into the stretches up to `stretch`, in which nothing happened. */
static void carry(struct track *t, size_t stretch)
{
	while (t->last < stretch)
		t->floor[++t->last] = t->now;
}

/* Makes a track's stretches twice as long. */
static void halve(struct track *t)
{
	/* a later stretch begins with what the one before held: the lower half counts */
	for (size_t i = t->first / 2; i <= t->last / 2; i++) {
		uint64_t a = 2 * i >= t->first ? t->floor[2 * i] : 0;
		uint64_t b = 2 * i + 1 <= t->last ? t->floor[2 * i + 1] : a;

		t->floor[i] = a < b ? a : b;
	}
	t->first /= 2;
	t->last /= 2;
	t->level++;
}

/* Makes a track's stretches as long as everybody's. */
static void catch_up(const struct gt_growth *g, struct track *t)
{
	while (t->level < g->level)
		halve(t);
}

static struct track *track_of(struct gt_growth *g, uint32_t site)
{
	if (site >= g->track_count) {
		size_t count = site + 1 > 2 * g->track_count ? site + 1 : 2 * g->track_count;

		g->tracks = gt_realloc(g->tracks, count * sizeof *g->tracks);
		memset(g->tracks + g->track_count, 0, (count - g->track_count) * sizeof *g->tracks);
		g->track_count = count;
	}
	if (!g->tracks[site])
		g->tracks[site] = gt_alloc(sizeof *g->tracks[site]);
	return g->tracks[site];
}

static bool has_bytes(const struct gt_site *site)
{
	return gt_kind_has_bytes((enum gt_kind)site->kind);
}

static void note(struct gt_growth *g, const struct gt_ledger *l, uint32_t site, size_t stretch)
{
	const struct gt_site *s = &l->sites[site];
	struct track *t = track_of(g, site);
	uint64_t value = has_bytes(s) ? s->bytes_live - s->bytes_gone : s->live - s->gone;

	if (!t->known) {
		/* it held nothing before */
		*t = (struct track){ .known = true,
				     .level = g->level,
				     .first = (uint16_t)stretch,
				     .last = (uint16_t)stretch };
	}
	catch_up(g, t);
	carry(t, stretch);
	t->now = value;
	if (value < t->floor[stretch])
		t->floor[stretch] = value;
}

void gt_growth_note(struct gt_growth *g, const struct gt_ledger *l, uint64_t time_ns)
{
	uint64_t time;

	if (!g->begun) {
		g->begun = true;
		g->start_ns = g->now_ns = time_ns;
	}
	/* streams are merged by key: a stray earlier time belongs to the moment before it */
	if (time_ns > g->now_ns)
		g->now_ns = time_ns;
	time = g->now_ns - g->start_ns;
	/* beyond this, doubling would overflow; no boot lasts that long */
	while (time / g->stretch_ns >= GT_GROWTH_STRETCHES && g->stretch_ns < UINT64_MAX / 256) {
		g->stretch_ns *= 2;
		g->level++;
	}
	if (time / g->stretch_ns >= GT_GROWTH_STRETCHES)
		return;
	for (size_t i = 0; i < l->touched_count; i++)
		note(g, l, l->touched[i], time / g->stretch_ns);
}

/* How much a floor rose and fell between two stretches. */
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

/* The last of the highest stretches: what comes after it is a program that cleans up. */
static size_t highest(const struct track *t)
{
	size_t top = t->last;

	for (size_t i = t->last; i-- > t->first;)
		if (t->floor[i] > t->floor[top])
			top = i;
	return top;
}

/* Value per stretch by least squares. */
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
 * Where the steady rise to `top` began: before it the floor was higher, by more than it `fell`
 * on the way, or did not move.
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
	/* a first piece, and then nothing for long, is not yet the rise */
	for (moved = since; moved < top && floor[moved + 1] <= floor[since] + slack;)
		moved++;
	return moved - since > (top - since) / WARM_UP_PART ? moved : since;
}

enum verdict { STAYS, WAVERS, RISES };

/* By a track whose stretches are that long. */
static enum verdict judge(const struct gt_growth *g, const struct track *t, uint64_t stretch_ns,
			  struct gt_rise *r)
{
	size_t top = highest(t), from, middle;
	struct climb all, late;
	double steady;

	from = t->first + (top - t->first) / WARM_UP_PART;
	if (top < from + LEAST_STRETCHES)
		return STAYS;
	all = climb(t->floor, from, top);
	if (all.rises < LEAST_RISES)
		return STAYS;
	steady = stretch_ns > g->stretch_ns ? STEADY_IN_LONGER : STEADY;
	if ((double)(all.up - all.down) < steady * (double)all.up)
		return WAVERS;
	if (top < (t->first + t->last) / 2u)
		return STAYS;
	middle = from + (top - from) / 2;
	late = climb(t->floor, middle, top);
	if ((double)late.up - (double)late.down < LATE_SHARE * (double)(all.up - all.down))
		return STAYS;
	r->steadiness = (double)(all.up - all.down) / (double)all.up;
	from = beginning(t->floor, t->first, top, all.down);
	r->given_back = t->now * 10 < t->floor[top];
	r->from = t->floor[from];
	r->to = t->floor[top];
	r->per_second = slope(t->floor, from, top) * 1e9 / (double)stretch_ns;
	r->since_ns = g->start_ns + from * stretch_ns;
	r->until_ns = g->start_ns + (top + 1) * stretch_ns;
	if (r->until_ns > g->now_ns)
		r->until_ns = g->now_ns;
	return r->per_second > 0 ? RISES : STAYS;
}

/*
 * What a program takes and gives back in each of its rounds hides a rise when a round is longer
 * than a stretch: so longer ones are tried, as long as there are enough of them.
 */
static bool find_rise(const struct gt_growth *g, const struct track *t, struct gt_rise *r)
{
	uint64_t stretch_ns = g->stretch_ns;
	struct track longer = *t;
	enum verdict verdict;

	while ((verdict = judge(g, &longer, stretch_ns, r)) == WAVERS) {
		halve(&longer);
		stretch_ns *= 2; /* three times at most: then there are too few */
	}
	if (verdict != RISES)
		return false;
	memset(r->floor, 0, sizeof r->floor);
	memcpy(r->floor + t->first, t->floor + t->first,
	       (t->last - t->first + 1u) * sizeof *t->floor);
	r->floor_count = t->last + 1u;
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

struct gt_rise *gt_growth_find(struct gt_growth *g, const struct gt_ledger *l, size_t *count)
{
	size_t end = (g->now_ns - g->start_ns) / g->stretch_ns, room = 0;
	struct gt_rise *rises = NULL, r;

	*count = 0;
	if (end >= GT_GROWTH_STRETCHES)
		end = GT_GROWTH_STRETCHES - 1;
	for (size_t i = 0; i < g->track_count && i < l->site_count; i++) {
		struct track *t = g->tracks[i];

		if (!t || !t->known)
			continue;
		catch_up(g, t);
		carry(t, end);
		if (!find_rise(g, t, &r))
			continue;
		r.site = (uint32_t)i;
		r.bytes = has_bytes(&l->sites[i]);
		GT_GROW(rises, *count, room);
		rises[(*count)++] = r;
	}
	if (*count)
		qsort(rises, *count, sizeof *rises, steepest_first);
	return rises;
}
