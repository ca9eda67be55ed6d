/* SPDX-License-Identifier: MIT */
/* scale.h - axes with round numbers, and how numbers are formatted. */
#pragma once

enum { GT_REAL_MAX = 64 };

struct gt_scale {
	double low, high; /* low < high */
	double step;      /* between ticks, which are multiples of it */
	int decimals;     /* needed for a tick */
};

/* Ends at ticks; at most `ticks` steps, each at least `least`. Always includes zero. */
struct gt_scale gt_scale_values(double low, double high, unsigned ticks, double least);
/* Ends where the data end, as for time. */
struct gt_scale gt_scale_span(double low, double high, unsigned ticks);

/* The unit for times of such a span. */
struct gt_time_unit {
	const char *name;
	double seconds;
};

struct gt_time_unit gt_time_unit_for(double span_s);

/* The first tick, and a value's position on the scale from 0 to 1. */
double gt_scale_first(const struct gt_scale *s);
double gt_scale_share(const struct gt_scale *s, double value);

/* "-1,234.50", into GT_REAL_MAX bytes; huge numbers as 1.2e+30. */
char *gt_real_format(char *out, double value, int decimals);
/* Decimals that show at least three significant digits. */
int gt_real_decimals(double value);
