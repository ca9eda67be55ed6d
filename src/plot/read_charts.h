/* SPDX-License-Identifier: MIT */
/*
 * read_charts.h - a table of charts: a row is a point of a curve of a chart.
 *
 * Columns, in any order: chart, curve, x axis, y axis (texts), x, y (numbers). Points of a curve
 * are in order of x.
 */
#pragma once

#include "plot/read_rows.h"
#include "plot/trail.h"

enum { GT_CHARTS_MOST = 12, GT_CHART_CURVES = 16 };

struct gt_chart {
	char *name, *x_axis, *y_axis; /* the axes' as in its first row */
	double x_low, x_high;
	bool x_is_whole; /* all x are whole numbers */
	struct {
		char *name;
		struct gt_trail points;
		double y_low, y_high;
	} curves[GT_CHART_CURVES];
	size_t curve_count;
};

struct gt_chart_table {
	struct gt_chart charts[GT_CHARTS_MOST];
	size_t chart_count;
	uint64_t rows, bad_rows, bad_line;
	uint64_t left_out; /* rows of charts and curves beyond the limits */
};

int gt_charts_read(struct gt_chart_table **out, struct gt_rows *rows, struct gt_error *error);
void gt_charts_free(struct gt_chart_table *t);
