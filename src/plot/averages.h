/* SPDX-License-Identifier: MIT */
/*
 * averages.h - the average of a column over groups of rows, in bounded memory.
 *
 * Groups have the same number of rows, which doubles when there are too many groups. Where a curve
 * has so many points that it would be a solid block, its averages show where it mostly is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GT_AVERAGES_MOST = 128, GT_AVERAGES_DENSE = 32 };

struct gt_averages {
	struct {
		double x, sum; /* x: of the first row */
		uint64_t count;
	} groups[GT_AVERAGES_MOST];
	size_t count;
	uint64_t rows_each; /* 0: 1 */
};

/* In order of x. */
void gt_averages_add(struct gt_averages *a, double x, double value);

/* True when there are too many rows for a line through all of them. */
static inline bool gt_averages_is_dense(const struct gt_averages *a)
{
	return a->rows_each >= GT_AVERAGES_DENSE;
}

static inline double gt_averages_value(const struct gt_averages *a, size_t group)
{
	return a->groups[group].sum / (double)a->groups[group].count;
}
