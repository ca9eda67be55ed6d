/* SPDX-License-Identifier: MIT */
/*
 * pyramid.h - several values over time in a bounded number of rows, whatever the number of changes.
 *
 * Each row keeps the lowest, highest and last value of every channel, so that rows can be merged
 * into coarser ones without losing a peak. Stretches in which nothing happened have no row. Where
 * the changes are few, every moment is a row of its own. For the tool.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_extent {
	uint64_t low, high, last;
};

struct gt_pyramid {
	size_t channels, count, room;
	uint64_t start_ns, step_ns; /* a row is step_ns long; 1: a moment */
	uint64_t *times;            /* of each row's last change, relative to start_ns */
	struct gt_extent *values;   /* row by row, a channel after the other */
	uint64_t *now;              /* by channel */
};

struct gt_pyramid_shape {
	size_t channels, rows;     /* at most so many */
	uint64_t start_ns, end_ns; /* what is outside counts as the first or last moment */
	uint64_t changes;          /* how many will come: with no more than `rows` all are kept */
};

void gt_pyramid_init(struct gt_pyramid *p, const struct gt_pyramid_shape *shape);
void gt_pyramid_fini(struct gt_pyramid *p);

/* True when a change at this moment begins a row: what is there now is how the last row ends. */
bool gt_pyramid_begins(const struct gt_pyramid *p, uint64_t time_ns);
/* A moment at which something may have changed; an earlier one than the last counts as that. */
void gt_pyramid_moment(struct gt_pyramid *p, uint64_t time_ns);
/* A channel's value at that moment. */
void gt_pyramid_set(struct gt_pyramid *p, size_t channel, uint64_t value);

static inline const struct gt_extent *gt_pyramid_at(const struct gt_pyramid *p, size_t row,
						    size_t channel)
{
	return &p->values[row * p->channels + channel];
}
