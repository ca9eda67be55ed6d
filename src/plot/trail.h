/* SPDX-License-Identifier: MIT */
/*
 * trail.h - the points of a picture's curve in bounded memory, whatever their number.
 *
 * A point is x and `width` values. When there are too many, x is divided into columns of equal
 * width. Each column keeps its first and last point, and those with the lowest and highest first
 * value (a total) and last value (the sum of its layers): a picture with that many columns looks
 * the same. For the tool.
 *
 * Not a gt_time_series, which merges the rows of a time step into extremes per channel: the layers
 * of a picture must have been measured together, so points are dropped but never merged. x is a
 * real number of any unit, and columns divide the range from the first x to the last, both of which
 * are known only when the picture is drawn.
 */
#pragma once

#include <stddef.h>

enum { GT_TRAIL_MOST = 16384 };

struct gt_trail {
	double *points; /* x, then the values, for each */
	size_t width, count, room;
	size_t most;   /* points held at any time, at least 64 */
	double column; /* width of the columns when there were too many; 0: never yet */
};

void gt_trail_init(struct gt_trail *t, size_t width, size_t most);
void gt_trail_fini(struct gt_trail *t);

/* In order of x: a smaller x than the last one counts as the last one. */
void gt_trail_add(struct gt_trail *t, double x, const double *values);
/* Drops what lies outside [from, to]; a value that holds across an edge has a point there. */
void gt_trail_window(struct gt_trail *t, double from, double to);
/* Thins out to at most six points for each of `columns`, or four if a point has one value. */
void gt_trail_fit(struct gt_trail *t, size_t columns);

static inline double gt_trail_x(const struct gt_trail *t, size_t point)
{
	return t->points[point * (t->width + 1)];
}

static inline double gt_trail_value(const struct gt_trail *t, size_t point, size_t value)
{
	return t->points[point * (t->width + 1) + 1 + value];
}
