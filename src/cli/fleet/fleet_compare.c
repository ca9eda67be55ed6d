/* SPDX-License-Identifier: MIT */
/* fleet_compare.c - the places of a fleet at two moments: which grow, which no longer do. */
#include <stdlib.h>

#include "cli/fleet/fleet_show.h"

/* A process's share has changed if it differs by a tenth, and by a megabyte. */
enum { SHARE = 10, LEAST = 1 << 20 };

static bool grows(const struct gt_fleet_place *p)
{
	return p && (p->growth_bytes > 0 || p->growth_objects > 0);
}

/* Bytes per process: the number of processes may have changed as well. */
static double share(const struct gt_fleet_place *p)
{
	return p && p->processes ? (double)p->held_bytes / (double)p->processes : 0;
}

/* GT_FLEET_CHANGES: none. */
static enum gt_fleet_change change_of(const struct gt_fleet_difference *d)
{
	double before = share(d->before), after = share(d->after);
	double larger = before > after ? before : after;

	if (grows(d->after))
		return grows(d->before) ? GT_FLEET_GROWS : GT_FLEET_NEW;
	if (grows(d->before))
		return GT_FLEET_GONE;
	if (before == after || (larger - (before + after - larger)) * SHARE < larger ||
	    larger - (before + after - larger) < LEAST)
		return GT_FLEET_CHANGES;
	return after > before ? GT_FLEET_MORE : GT_FLEET_LESS;
}

/* Growth, or the change of a process's share, whichever the group is about. */
static double weight(const struct gt_fleet_difference *d)
{
	const struct gt_fleet_place *p = d->change == GT_FLEET_GONE ? d->before : d->after;
	double by = share(d->after) - share(d->before);

	if (d->change < GT_FLEET_MORE)
		return p->growth_bytes;
	return by < 0 ? -by : by;
}

static int biggest_first(const void *a, const void *b)
{
	const struct gt_fleet_difference *x = a, *y = b;
	const struct gt_fleet_place *p = x->after ? x->after : x->before;
	const struct gt_fleet_place *q = y->after ? y->after : y->before;

	if (x->change != y->change)
		return x->change < y->change ? -1 : 1;
	if (weight(x) != weight(y))
		return weight(x) > weight(y) ? -1 : 1;
	if (p->growth_objects != q->growth_objects)
		return p->growth_objects > q->growth_objects ? -1 : 1;
	return p->key < q->key ? -1 : p->key > q->key;
}

void gt_fleet_compare(struct gt_fleet_comparison *d, const struct gt_fleet_answer *before,
		      const struct gt_fleet_answer *after)
{
	size_t room = 0, i = 0, j = 0;

	*d = (struct gt_fleet_comparison){ .before = before, .after = after };
	/* both are in the order of their keys */
	while (i < before->count || j < after->count) {
		const struct gt_fleet_place *p = &before->places[i], *q = &after->places[j];
		struct gt_fleet_difference one = { 0 };

		if (j == after->count || (i < before->count && p->key <= q->key))
			one.before = p;
		if (i == before->count || (j < after->count && q->key <= p->key))
			one.after = q;
		i += one.before != NULL;
		j += one.after != NULL;
		one.change = change_of(&one);
		if (one.change == GT_FLEET_CHANGES)
			continue;
		d->counts[one.change]++;
		GT_GROW(d->list, d->count, room);
		d->list[d->count++] = one;
	}
	if (d->count)
		qsort(d->list, d->count, sizeof *d->list, biggest_first);
}
