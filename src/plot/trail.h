/* SPDX-License-Identifier: MIT */
/*
 * trail.h - values over x in bounded memory, whatever the number of points.
 *
 * A point is x and `width` values. When there are too many, x is divided into columns of equal
 * width and each keeps its first and its last point, and the lowest and the highest by its first
 * and by its last value (a whole, and the sum of its layers): nothing that a picture of that many
 * columns shows of these is lost. For the tool.
 */
#pragma once

#include <stddef.h>

enum { GT_TRAIL_MOST = 16384 };

struct gt_trail {
	double *points; /* x, then the values, for each */
	size_t width, count, room;
	size_t most; /* points held at any time; at least 64 */
};

void gt_trail_init(struct gt_trail *t, size_t width, size_t most);
void gt_trail_fini(struct gt_trail *t);

/* In order of x: an x that is less than the last one counts as that. */
void gt_trail_add(struct gt_trail *t, double x, const double *values);
/* What holds in [from, to], as steps: a value that goes on beyond an edge has a point there. */
void gt_trail_window(struct gt_trail *t, double from, double to);
/* At most six points for each of `columns`; four where a point has one value. */
void gt_trail_fit(struct gt_trail *t, size_t columns);

static inline double gt_trail_x(const struct gt_trail *t, size_t point)
{
	return t->points[point * (t->width + 1)];
}

static inline double gt_trail_value(const struct gt_trail *t, size_t point, size_t value)
{
	return t->points[point * (t->width + 1) + 1 + value];
}
