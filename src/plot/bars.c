/* SPDX-License-Identifier: MIT */
/* bars.c - horizontal bars: names on the left, numbers at the bars' ends. */
#include <math.h>
#include <stdlib.h>

#include "plot/panel.h"
#include "plot/scale.h"

/* Room for what stands beside the bars. */
struct margins {
	double names, below, above; /* below: numbers of falls, left of zero */
	double low, high;
	int decimals;
};

static const char *number_of(const struct gt_bar *bar, char text[GT_REAL_MAX], int decimals)
{
	if (bar->words)
		return bar->words;
	/* what is little among much is not nothing */
	if (bar->value != 0 && fabs(bar->value) < 0.5 * pow(10, -decimals))
		decimals = gt_real_decimals(bar->value);
	if (bar->value != 0 && fabs(bar->value) < 0.5 * pow(10, -decimals)) {
		snprintf(text, GT_REAL_MAX, "%.1g", bar->value);
		return text;
	}
	return gt_real_format(text, bar->value, decimals);
}

/* As many decimals as the biggest bar needs to show three digits, and the same for all. */
static int decimals_of(const struct gt_panel *p)
{
	double most = 0;

	for (size_t i = 0; i < p->bar_count; i++)
		most = fmax(most, fabs(p->bars[i].value));
	return p->whole_numbers ? 0 : most >= 1 && most < 1000 ? 2 : gt_real_decimals(most);
}

static struct margins margins_of(struct gt_canvas *c, const struct gt_panel *p, double width,
				 const struct gt_lettering *how)
{
	struct margins m = { .decimals = decimals_of(p) };
	char text[GT_REAL_MAX];

	for (size_t i = 0; i < p->bar_count; i++) {
		double value = p->bars[i].value;
		double number = gt_canvas_measure(c, number_of(&p->bars[i], text, m.decimals), how);

		m.names = fmax(m.names, gt_canvas_measure(c, p->bars[i].name, how));
		m.low = fmin(m.low, value);
		m.high = fmax(m.high, value);
		if (value < 0)
			m.below = fmax(m.below, number);
		else
			m.above = fmax(m.above, number);
	}
	m.names = fmin(m.names, width * 0.55);
	if (m.low == m.high)
		m.high = 1;
	return m;
}

static void draw_bar(struct gt_canvas *c, const struct gt_bar *bar, struct gt_box at, double zero,
		     double per_unit, int decimals, const struct gt_type *type)
{
	struct gt_lettering how = { .size = type->text, .color = c->theme->ink };
	double length = bar->value * per_unit, base = at.y + at.h / 2 + type->text * 0.36;
	char text[GT_REAL_MAX];

	how.anchor = GT_ANCHOR_RIGHT;
	gt_canvas_text(c, at.x + at.w, base, at.w, bar->name, &how);
	c->ops->rect(c, length < 0 ? zero + length : zero, at.y + at.h * 0.15,
		     fmax(1, fabs(length)), at.h * 0.7, &bar->color);
	how.anchor = bar->value < 0 ? GT_ANCHOR_RIGHT : GT_ANCHOR_LEFT;
	how.color = c->theme->faint;
	gt_canvas_text(c, zero + length + (bar->value < 0 ? -type->gap : type->gap), base, 1e6,
		       number_of(bar, text, decimals), &how);
}

void gt_bars_draw(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box,
		  const struct gt_type *type)
{
	struct gt_lettering how = { .size = type->text, .color = c->theme->faint };
	struct margins m = margins_of(c, p, box.w, &how);
	double gap = 2 * type->gap, foot = p->x_label ? type->text * 1.8 : 0;
	double left = box.x + m.names + gap + m.below, height = box.h - foot, row, zero, per_unit;
	size_t fit = (size_t)fmax(1, height / (type->text * 1.15)), count = p->bar_count;

	/* too small for a chart: the title is all that can be read */
	if (height < 1.5 * type->text || box.w < 12 * type->text)
		return;
	/* no row is less high than its letters: the smallest bars are left out */
	count = count < fit ? count : fit;
	row = fmin(height / (double)count, type->text * 3);
	per_unit = fmax(1, box.x + box.w - left - gap - m.above) / (m.high - m.low);
	zero = left - m.low * per_unit;
	gt_canvas_note(c, "bars %zu of %zu", count, p->bar_count);
	for (size_t i = 0; i < count; i++)
		draw_bar(c, &p->bars[i],
			 (struct gt_box){ box.x, box.y + (double)i * row, m.names, row }, zero,
			 per_unit, m.decimals, type);
	c->ops->path(c, (double[]){ zero, box.y, zero, box.y + row * (double)count }, 2,
		     &(struct gt_stroke){ .width = 1, .color = c->theme->faint });
	how.anchor = GT_ANCHOR_MIDDLE;
	if (p->x_label)
		gt_canvas_text(c, (left + box.x + box.w) / 2,
			       box.y + row * (double)count + type->text * 1.5, box.x + box.w - left,
			       p->x_label, &how);
}
