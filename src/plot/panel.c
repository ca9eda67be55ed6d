/* SPDX-License-Identifier: MIT */
/* panel.c - one chart with its title and legend; horizontal bars. */
#include "plot/panel.h"

#include <math.h>
#include <stdlib.h>

#include "plot/scale.h"

/* Room for the text beside the bars. */
struct margins {
	double names, below, above; /* below: numbers of falls, left of zero */
	double low, high;
	int decimals;
};

static const char *number_of(const struct gt_bar *bar, char text[GT_REAL_MAX], int decimals)
{
	if (bar->words)
		return bar->words;
	/* a small value among big ones must not look like zero */
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

static void draw_bars(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box,
		      const struct gt_type *type)
{
	struct gt_lettering how = { .size = type->text, .color = c->theme->faint };
	struct margins m = margins_of(c, p, box.w, &how);
	double gap = 2 * type->gap, foot = p->x_label ? type->text * 1.8 : 0;
	double left = box.x + m.names + gap + m.below, height = box.h - foot, row, zero, per_unit;
	size_t fit = (size_t)fmax(1, height / (type->text * 1.15)), count = p->bar_count;

	/* too small for a chart: only the title can be read */
	if (height < 1.5 * type->text || box.w < 12 * type->text)
		return;
	/* no row is lower than its letters: the smallest bars are left out */
	count = count < fit ? count : fit;
	row = fmin(height / (double)count, type->text * 3);
	per_unit = fmax(1, box.x + box.w - left - gap - m.above) / (m.high - m.low);
	zero = left - m.low * per_unit;
	gt_canvas_describe(c, "bars %zu of %zu", count, p->bar_count);
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

/* Letters smaller than this cannot be read. */
static const double text_least = 8;

struct gt_type gt_type_for(struct gt_box box)
{
	double by = box.w / 600 < box.h / 320 ? box.w / 600 : box.h / 320, text;

	by = by < 0.6 ? 0.6 : by > 1.35 ? 1.35 : by;
	text = 12 * by < text_least ? text_least : 12 * by;
	return (struct gt_type){ .title = text * 1.25, .text = text, .gap = text * 0.5 };
}

struct gt_hue gt_panel_color(const struct gt_canvas *c, size_t number)
{
	return c->theme->palette[number % GT_PALETTE];
}

struct gt_curve *gt_panel_curve(struct gt_panel *p, const char *name, enum gt_mark mark,
				struct gt_trail *trail, struct gt_hue color)
{
	struct gt_curve *curve =
		&p->curves[p->curve_count < GT_CURVES_MOST ? p->curve_count++ : GT_CURVES_MOST - 1];

	*curve = (struct gt_curve){ .name = name,
				    .mark = mark,
				    .trail = trail,
				    .color = color,
				    .falls = color,
				    .x_by = 1,
				    .y_by = 1 };
	return curve;
}

static struct gt_hue tone_color(const struct gt_canvas *c, enum gt_tone tone)
{
	return tone == GT_TONE_ALARM ? c->theme->red :
	       tone == GT_TONE_GOOD  ? c->theme->green :
				       c->theme->faint;
}

static void draw_swatch(struct gt_canvas *c, const struct gt_curve *curve, double x, double y,
			double w, double size)
{
	double line[] = { x, y - size * 0.35, x + w, y - size * 0.35 };

	switch (curve->mark) {
	case GT_MARK_LINE:
	case GT_MARK_STEPS:
		c->ops->path(c, line, 2,
			     &(struct gt_stroke){ .width = size / 6,
						  .color = curve->color,
						  .dashed = curve->dashed });
		break;
	case GT_MARK_DOTS: c->ops->dot(c, x + w / 2, line[1], size / 3, &curve->color); break;
	default: c->ops->rect(c, x + w / 4, y - size * 0.75, w / 2, size * 0.75, &curve->color);
	}
}

static size_t named_count(const struct gt_panel *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->curve_count; i++)
		count += p->curves[i].trail->count > 0;
	return count;
}

/*
 * Names in rows from the top of `box`, as many as fit into a third of its height; the last row says
 * how many are missing. Returns the height used. A single curve needs no legend.
 */
static double draw_legend(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box,
			  const struct gt_type *type)
{
	struct gt_lettering how = { .size = type->text, .color = c->theme->ink };
	double swatch = type->text * 1.8, row = type->text * 1.45, x = box.x, y = box.y;
	double rest = gt_canvas_measure(c, "and 99 more", &how) + 2 * type->gap;
	size_t left = named_count(p);
	char more[32];

	if (left < (p->always_named ? 1 : 2) || box.h < 4 * row)
		return 0;
	gt_canvas_describe(c, "legend");
	for (size_t i = 0; i < p->curve_count && left; i++) {
		const struct gt_curve *curve = &p->curves[i];
		bool is_last = y + 2 * row > box.y + box.h / 3;
		double end = box.x + box.w - (is_last && left > 1 ? rest : 0), width;

		if (!curve->trail->count)
			continue;
		width = gt_canvas_measure(c, curve->name, &how);
		if (x > box.x && (p->one_a_line || x + swatch + type->gap + width > end)) {
			if (is_last) {
				snprintf(more, sizeof more, "and %zu more", left);
				how.color = c->theme->faint;
				gt_canvas_text(c, x, y + type->text, box.x + box.w - x, more, &how);
				break;
			}
			x = box.x;
			y += row;
		}
		width = fmin(width, end - x - swatch - type->gap);
		draw_swatch(c, curve, x, y + type->text, swatch, type->text);
		gt_canvas_text(c, x + swatch + type->gap, y + type->text, width, curve->name, &how);
		x += swatch + type->gap + width + 2 * type->gap;
		left--;
	}
	return y + row + type->gap - box.y;
}

static void draw_message(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box,
			 const struct gt_type *type)
{
	gt_canvas_describe(c, "message");
	gt_canvas_text(c, box.x + box.w / 2, box.y + box.h / 2, box.w, p->message,
		       &(struct gt_lettering){ .size = type->title,
					       .anchor = GT_ANCHOR_MIDDLE,
					       .color = tone_color(c, p->tone) });
}

void gt_panel_draw(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box)
{
	struct gt_type type = gt_type_for(box);
	double pad = type.text, y = box.y + pad + type.title * 0.8;
	struct gt_box inside;

	gt_canvas_describe(c, "panel %s%s", p->title,
			   p->tone == GT_TONE_ALARM ? " (alarm)" :
			   p->tone == GT_TONE_GOOD  ? " (good)" :
						      "");
	c->ops->rect(c, box.x, box.y, box.w, box.h,
		     p->tone == GT_TONE_ALARM ? &c->theme->alarm_panel : &c->theme->panel);
	gt_canvas_text(
		c, box.x + pad, y, box.w - 2 * pad, p->title,
		&(struct gt_lettering){ .size = type.title, .bold = true, .color = c->theme->ink });
	y += type.gap;
	if (p->subtitle && y + (p->tone == GT_TONE_ALARM ? 2 : 9) * type.text < box.y + box.h) {
		y += type.text;
		gt_canvas_text(c, box.x + pad, y, box.w - 2 * pad, p->subtitle,
			       &(struct gt_lettering){ .size = type.text,
						       .color = tone_color(c, p->tone) });
		y += type.gap;
	}
	y += type.gap;
	inside = (struct gt_box){ box.x + pad, y, box.w - 2 * pad, box.y + box.h - pad - y };
	if (p->message) {
		draw_message(c, p, inside, &type);
		return;
	}
	y = draw_legend(c, p, inside, &type);
	inside.y += y;
	inside.h -= y;
	if (p->bars)
		draw_bars(c, p, inside, &type);
	else
		gt_curves_draw(c, p, inside, &type);
}
