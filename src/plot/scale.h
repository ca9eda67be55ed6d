/* SPDX-License-Identifier: MIT */
/* scale.h - round numbers along an axis, and how they are written. */
#pragma once

enum { GT_REAL_MAX = 64 };

struct gt_scale {
	double low, high; /* low < high */
	double step;      /* between ticks, which are multiples of it */
	int decimals;     /* that a tick needs */
};

/* Ends at ticks; at most `ticks` steps, none less than `least`. Zero is always on it. */
struct gt_scale gt_scale_values(double low, double high, unsigned ticks, double least);
/* Ends where the data do. For time and the like. */
struct gt_scale gt_scale_span(double low, double high, unsigned ticks);

/* A unit in which times up to so many seconds are read. */
struct gt_time_unit {
	const char *name;
	double seconds;
};

struct gt_time_unit gt_time_unit_for(double span_s);

/* The first tick, and the share of the scale at which a value lies. */
double gt_scale_first(const struct gt_scale *s);
double gt_scale_share(const struct gt_scale *s, double value);

/* "-1,234.50", into GT_REAL_MAX bytes; numbers beyond reading as 1.2e+30. */
char *gt_real_format(char *out, double value, int decimals);
/* Decimals with which a value shows at least three digits that count. */
int gt_real_decimals(double value);
