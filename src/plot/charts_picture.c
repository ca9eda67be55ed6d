/* SPDX-License-Identifier: MIT */
/* charts_picture.c - the charts of a table of points. */
#include <math.h>

#include "base/format.h"
#include "base/text.h"
#include "plot/picture.h"
#include "plot/scale.h"

/* From this ratio of the largest x to the smallest on, the axis is logarithmic. */
static const double log_from = 100;

static unsigned columns_of(const struct gt_chart_table *t)
{
	return t->chart_count > 1 ? 2 : 1;
}

static unsigned rows_of(const struct gt_chart_table *t)
{
	return (unsigned)(t->chart_count + columns_of(t) - 1) / columns_of(t);
}

double gt_charts_height(const struct gt_chart_table *t)
{
	return GT_CHARTS_HEAD + (double)rows_of(t) * GT_CHARTS_ROW;
}

/* In place: the points' x become their decimal logarithms. */
static void take_logarithms(struct gt_trail *t)
{
	for (size_t i = 0; i < t->count; i++) {
		double *x = &t->points[i * (t->width + 1)];

		*x = log10(*x);
	}
}

static void draw_chart(struct gt_canvas *c, struct gt_chart *chart, struct gt_box box)
{
	struct gt_panel panel = { .title = chart->name,
				  .x_label = chart->x_axis,
				  .y_label = chart->y_axis,
				  .always_named = true };

	panel.x_is_log = chart->x_low > 0 && chart->x_high >= log_from * chart->x_low;
	panel.x_step = panel.x_is_log || chart->x_is_whole ? 1 : 0;
	for (size_t i = 0; i < chart->curve_count; i++) {
		if (panel.x_is_log)
			take_logarithms(&chart->curves[i].points);
		gt_panel_curve(&panel, chart->curves[i].name, GT_MARK_LINE,
			       &chart->curves[i].points, gt_panel_color(c, i))
			->dashed = i >= GT_PALETTE;
	}
	gt_panel_draw(c, &panel, box);
}

void gt_charts_draw(struct gt_canvas *c, struct gt_chart_table *t, const char *name)
{
	char points[GT_FORMAT_MAX], head[64];
	struct gt_box box;

	snprintf(head, sizeof head, "%s %s", gt_format_count(points, t->rows),
		 gt_plural(t->rows, "point", "points"));
	box = gt_picture_head(c, name, head);
	for (size_t i = 0; i < t->chart_count; i++)
		draw_chart(c, &t->charts[i],
			   gt_picture_cell(box, rows_of(t), columns_of(t), (unsigned)i));
}

void gt_charts_text(const struct gt_chart_table *t, FILE *out, bool utf8)
{
	for (size_t i = 0; i < t->chart_count; i++)
		for (size_t k = 0; k < t->charts[i].curve_count; k++) {
			double low = t->charts[i].curves[k].y_low;
			double high = t->charts[i].curves[k].y_high;
			char least[GT_REAL_MAX], most[GT_REAL_MAX];

			gt_text_put(out, t->charts[i].name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
			fputs(", ", out);
			gt_text_put(out, t->charts[i].curves[k].name, UINT32_MAX, GT_CUT_MIDDLE,
				    utf8);
			fprintf(out, ": %s to %s, ",
				gt_real_format(least, low, gt_real_decimals(low)),
				gt_real_format(most, high, gt_real_decimals(high)));
			gt_text_put(out, t->charts[i].y_axis, UINT32_MAX, GT_CUT_MIDDLE, utf8);
			putc('\n', out);
		}
	gt_picture_damage(out, t->bad_rows, t->bad_line);
	if (t->left_out)
		fprintf(out, "Skipped: %llu rows of further charts or curves\n",
			(unsigned long long)t->left_out);
}
