/* SPDX-License-Identifier: MIT */
/* panel.c - the frame of one chart: ground, title, legend, message. */
#include "plot/panel.h"

#include <math.h>
#include <stdlib.h>

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
 * Names in rows from `box`'s top on, as many as fit a third of its height; the last row says how
 * many are missing. Gives the height taken. One curve that needs no telling apart has no legend.
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
	gt_canvas_note(c, "legend");
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
	gt_canvas_note(c, "message");
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

	gt_canvas_note(c, "panel %s%s", p->title,
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
		gt_bars_draw(c, p, inside, &type);
	else
		gt_curves_draw(c, p, inside, &type);
}
