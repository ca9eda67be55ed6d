/* SPDX-License-Identifier: MIT */
/* trail.c - the points of a picture's curve in bounded memory, whatever their number. */
#include "plot/trail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void gt_trail_init(struct gt_trail *t, size_t width, size_t most)
{
	*t = (struct gt_trail){ .width = width, .most = most };
}

void gt_trail_fini(struct gt_trail *t)
{
	free(t->points);
	*t = (struct gt_trail){ 0 };
}

/* Moves a point down to the end of those kept so far. */
static void keep(struct gt_trail *t, size_t *kept, size_t point)
{
	size_t words = t->width + 1;

	if (*kept != point)
		memmove(t->points + *kept * words, t->points + point * words,
			words * sizeof *t->points);
	++*kept;
}

/* The points of [from, to) where a value is first lowest and first highest. */
static void extremes(const struct gt_trail *t, size_t from, size_t to, size_t value, size_t out[2])
{
	double low = gt_trail_value(t, from, value), high = low;

	out[0] = out[1] = from;
	for (size_t i = from + 1; i < to; i++) {
		double at = gt_trail_value(t, i, value);

		if (at < low) {
			low = at;
			out[0] = i;
		}
		if (at > high) {
			high = at;
			out[1] = i;
		}
	}
}

/* A handful, hundreds of thousands of times: without a call for each comparison. */
static void sort_few(size_t *points, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		size_t point = points[i], at = i;

		for (; at && points[at - 1] > point; at--)
			points[at] = points[at - 1];
		points[at] = point;
	}
}

/* Keeps the first, the last and the extremes of [from, to), in their order. */
static void keep_some(struct gt_trail *t, size_t *kept, size_t from, size_t to)
{
	size_t points[] = { from, to - 1, from, from, from, from };

	extremes(t, from, to, 0, points + 2);
	if (t->width > 1)
		extremes(t, from, to, t->width - 1, points + 4);
	sort_few(points, sizeof points / sizeof *points);
	for (size_t i = 0; i < sizeof points / sizeof *points; i++)
		if (!i || points[i] != points[i - 1])
			keep(t, kept, points[i]);
}

void gt_trail_window(struct gt_trail *t, double from, double to)
{
	size_t first = 0, end, kept = 0;

	/* the last point before the window says what holds when it begins; likewise at its end */
	while (first + 1 < t->count && gt_trail_x(t, first + 1) <= from)
		first++;
	for (end = first; end < t->count && gt_trail_x(t, end) <= to; end++)
		;
	for (size_t i = first; i < end; i++)
		keep(t, &kept, i);
	if (kept && end < t->count) {
		keep(t, &kept, kept - 1);
		t->points[(kept - 1) * (t->width + 1)] = to;
	}
	t->count = kept;
	if (kept && t->points[0] < from)
		t->points[0] = from;
}

/* Points that a column keeps at most. */
static size_t points_each(const struct gt_trail *t)
{
	return t->width > 1 ? 6 : 4;
}

/* Where the column of x ends. */
static double end_of_column(double x, double first, double per_column)
{
	return per_column > 0 ? first + (floor((x - first) / per_column) + 1) * per_column :
				INFINITY;
}

void gt_trail_fit(struct gt_trail *t, size_t columns)
{
	double first, per_column;
	size_t kept = 0;

	if (!columns || t->count <= points_each(t) * columns)
		return;
	first = gt_trail_x(t, 0);
	per_column = (gt_trail_x(t, t->count - 1) - first) / (double)columns;
	t->column = per_column;
	for (size_t from = 0, to; from < t->count; from = to) {
		double end = end_of_column(gt_trail_x(t, from), first, per_column);

		for (to = from + 1; to < t->count; to++)
			if (gt_trail_x(t, to) >= end)
				break;
		keep_some(t, &kept, from, to);
	}
	t->count = kept;
}

void gt_trail_add(struct gt_trail *t, double x, const double *values)
{
	size_t words = t->width + 1;

	if (t->count && x < gt_trail_x(t, t->count - 1))
		x = gt_trail_x(t, t->count - 1);
	if (t->count == t->most)
		gt_trail_fit(t, t->most / (2 * points_each(t)) - 1);
	if (t->count == t->room) {
		t->room = t->room ? t->room * 2 : 16;
		if (t->room > t->most)
			t->room = t->most;
		t->points = gt_realloc(t->points, t->room * words * sizeof *t->points);
	}
	t->points[t->count * words] = x;
	memcpy(t->points + t->count * words + 1, values, t->width * sizeof *values);
	t->count++;
}
