/* SPDX-License-Identifier: MIT */
/* pyramid.c - several values over time in a bounded number of rows. */
#include "ledger/pyramid.h"

#include <stdlib.h>

#include "base/mem.h"

void gt_pyramid_init(struct gt_pyramid *p, const struct gt_pyramid_shape *shape)
{
	uint64_t range = shape->end_ns > shape->start_ns ? shape->end_ns - shape->start_ns : 0;

	*p = (struct gt_pyramid){ .channels = shape->channels,
				  .start_ns = shape->start_ns,
				  .room = shape->rows,
				  .step_ns = 1 };
	if (shape->changes > shape->rows)
		p->step_ns = range / shape->rows + 1;
	else
		p->room = shape->changes ? (size_t)shape->changes : 1;
	p->times = gt_alloc(p->room * sizeof *p->times);
	p->values = gt_alloc(p->room * p->channels * sizeof *p->values);
	p->now = gt_alloc(p->channels * sizeof *p->now);
}

void gt_pyramid_fini(struct gt_pyramid *p)
{
	free(p->times);
	free(p->values);
	free(p->now);
	*p = (struct gt_pyramid){ 0 };
}

/* Relative, and never before the last one. */
static uint64_t relative(const struct gt_pyramid *p, uint64_t time_ns)
{
	uint64_t time = time_ns > p->start_ns ? time_ns - p->start_ns : 0;

	return p->count && time < p->times[p->count - 1] ? p->times[p->count - 1] : time;
}

bool gt_pyramid_begins(const struct gt_pyramid *p, uint64_t time_ns)
{
	if (!p->count)
		return true;
	/* more changes than were announced end in the last row */
	return p->count < p->room &&
	       relative(p, time_ns) / p->step_ns != p->times[p->count - 1] / p->step_ns;
}

void gt_pyramid_moment(struct gt_pyramid *p, uint64_t time_ns)
{
	uint64_t time = relative(p, time_ns);

	if (gt_pyramid_begins(p, time_ns)) {
		struct gt_extent *row = &p->values[p->count * p->channels];

		/* what was there on entering was there for a part of the row */
		for (size_t i = 0; i < p->channels; i++)
			row[i] = (struct gt_extent){ p->now[i], p->now[i], p->now[i] };
		p->count++;
	}
	p->times[p->count - 1] = time;
}

void gt_pyramid_set(struct gt_pyramid *p, size_t channel, uint64_t value)
{
	struct gt_extent *e;

	if (!p->count)
		return;
	e = &p->values[(p->count - 1) * p->channels + channel];
	p->now[channel] = value;
	e->last = value;
	if (value < e->low)
		e->low = value;
	if (value > e->high)
		e->high = value;
}
