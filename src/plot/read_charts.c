/* SPDX-License-Identifier: MIT */
/* read_charts.c - a table of charts: a row is a point of a curve of a chart. */
#include "plot/read_charts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum field { CHART, CURVE, X_AXIS, Y_AXIS, X, Y, FIELDS };

static const char *const headings[FIELDS] = {
	[CHART] = "chart",   [CURVE] = "curve", [X_AXIS] = "x axis",
	[Y_AXIS] = "y axis", [X] = "x",         [Y] = "y",
};

struct layout {
	size_t at[FIELDS], count;
};

static int find_columns(struct layout *l, const struct gt_rows *r, struct gt_error *error)
{
	l->count = r->count;
	for (int i = 0; i < FIELDS; i++) {
		int at = gt_rows_find(r, headings[i]);

		if (at < 0)
			return gt_error_set(error, -EINVAL, "it has no column \"%s\"", headings[i]);
		l->at[i] = (size_t)at;
	}
	return 0;
}

/* NULL: there are too many. */
static struct gt_chart *chart_of(struct gt_chart_table *t, const struct layout *l,
				 const struct gt_rows *r)
{
	struct gt_chart *chart;

	for (size_t i = 0; i < t->chart_count; i++)
		if (!strcmp(t->charts[i].name, r->fields[l->at[CHART]]))
			return &t->charts[i];
	if (t->chart_count == GT_CHARTS_MOST)
		return NULL;
	chart = &t->charts[t->chart_count++];
	chart->name = gt_strdup(r->fields[l->at[CHART]]);
	chart->x_axis = gt_strdup(r->fields[l->at[X_AXIS]]);
	chart->y_axis = gt_strdup(r->fields[l->at[Y_AXIS]]);
	chart->x_low = INFINITY;
	chart->x_high = -INFINITY;
	chart->x_is_whole = true;
	return chart;
}

/* The number of the chart's curve with this name, GT_CHART_CURVES: there are too many. */
static size_t curve_of(struct gt_chart *chart, const char *name)
{
	size_t i = 0;

	while (i < chart->curve_count && strcmp(chart->curves[i].name, name))
		i++;
	if (i == chart->curve_count && i < GT_CHART_CURVES) {
		chart->curve_count++;
		chart->curves[i].name = gt_strdup(name);
		chart->curves[i].y_low = INFINITY;
		chart->curves[i].y_high = -INFINITY;
		gt_trail_init(&chart->curves[i].points, 1, GT_TRAIL_MOST);
	}
	return i;
}

static bool add_row(struct gt_chart_table *t, const struct layout *l, const struct gt_rows *r)
{
	struct gt_chart *chart;
	size_t curve;
	double x, y;

	if (r->count != l->count || r->cut || !gt_number_parse(r->fields[l->at[X]], &x) ||
	    !gt_number_parse(r->fields[l->at[Y]], &y))
		return false;
	chart = chart_of(t, l, r);
	curve = chart ? curve_of(chart, r->fields[l->at[CURVE]]) : GT_CHART_CURVES;
	if (curve == GT_CHART_CURVES) {
		t->left_out++;
		return true;
	}
	chart->x_low = fmin(chart->x_low, x);
	chart->x_high = fmax(chart->x_high, x);
	chart->x_is_whole &= x == floor(x);
	chart->curves[curve].y_low = fmin(chart->curves[curve].y_low, y);
	chart->curves[curve].y_high = fmax(chart->curves[curve].y_high, y);
	gt_trail_add(&chart->curves[curve].points, x, &y);
	t->rows++;
	return true;
}

int gt_charts_read(struct gt_chart_table **out, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_chart_table *t = gt_alloc(sizeof *t);
	struct layout layout = { 0 };
	int e = gt_rows_next(rows) ? find_columns(&layout, rows, error) : 0;

	while (!e && gt_rows_next(rows))
		if (!add_row(t, &layout, rows) && !t->bad_rows++)
			t->bad_line = rows->number;
	if (!e)
		e = gt_rows_verdict(rows, t->rows, t->bad_rows, "it has no points", error);
	if (e) {
		gt_charts_free(t);
		return e;
	}
	*out = t;
	return 0;
}

void gt_charts_free(struct gt_chart_table *t)
{
	for (size_t i = 0; i < t->chart_count; i++) {
		struct gt_chart *chart = &t->charts[i];

		for (size_t k = 0; k < chart->curve_count; k++) {
			free(chart->curves[k].name);
			gt_trail_fini(&chart->curves[k].points);
		}
		free(chart->name);
		free(chart->x_axis);
		free(chart->y_axis);
	}
	free(t);
}
