/* SPDX-License-Identifier: MIT */
/* curves.c - curves over two axes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "plot/panel.h"
#include "plot/scale.h"

enum {
	TICKS_MOST = 12,
	POINTS_MARKED = 24, /* a line with at most this many points marks them */
	DOTS_BIG = 100,     /* up to this many dots are big */
	STEM_SHARE = 60,    /* width of a stem in percent of its spacing */
	BAND_COLUMN = 3,    /* pixels of a band that have one lowest and one highest value */
};

static const double band_alpha = 0.22, stem_alpha_least = 0.12;

struct axes {
	struct gt_box plot;
	struct gt_scale x, y;
	double right_by;          /* a tick of the right axis is so many of the left; 0: none */
	struct gt_time_unit time; /* of x, if that is time; otherwise no name, and 1 */
	bool x_is_log;            /* ticks show powers of ten */
	bool has_labels;          /* there is room for labels */
};

static double x_of(const struct gt_curve *curve, size_t point)
{
	return (gt_trail_x(curve->trail, point) + curve->x_from) * curve->x_by;
}

static double y_of(const struct gt_curve *curve, size_t point)
{
	return gt_trail_value(curve->trail, point, curve->value) * curve->y_by;
}

static double to_x(const struct axes *a, double x)
{
	return a->plot.x + gt_scale_share(&a->x, x / a->time.seconds) * a->plot.w;
}

static double to_y(const struct axes *a, double y)
{
	return a->plot.y + (1 - gt_scale_share(&a->y, y)) * a->plot.h;
}

static double curve_to_y(const struct axes *a, const struct gt_curve *curve, double y)
{
	return to_y(a, curve->on_right ? y / a->right_by : y);
}

struct range {
	double x_low, x_high, y_low, y_high;
	double right_low, right_high;
	bool has_right;
	bool has_bodies; /* marks that need room on both sides */
	size_t points;
};

static struct range range_of(const struct gt_panel *p)
{
	struct range r = { .x_low = DBL_MAX, .x_high = -DBL_MAX };

	for (size_t i = 0; i < p->curve_count; i++) {
		const struct gt_curve *curve = &p->curves[i];

		r.has_bodies |= curve->mark == GT_MARK_STEMS || curve->mark == GT_MARK_DOTS;
		for (size_t k = 0; k < curve->trail->count; k++) {
			double x = x_of(curve, k), y = y_of(curve, k);

			r.x_low = fmin(r.x_low, x);
			r.x_high = fmax(r.x_high, x);
			*(curve->on_right ? &r.right_low : &r.y_low) =
				fmin(curve->on_right ? r.right_low : r.y_low, y);
			*(curve->on_right ? &r.right_high : &r.y_high) =
				fmax(curve->on_right ? r.right_high : r.y_high, y);
			r.has_right |= curve->on_right;
			r.points++;
		}
	}
	if (r.points && (p->x_low != 0 || p->x_high != 0)) {
		r.x_low = fmin(r.x_low, p->x_low);
		r.x_high = fmax(r.x_high, p->x_high);
	}
	if (r.has_bodies) {
		double pad = (r.x_high - r.x_low) * 0.02;

		r.x_low -= pad;
		r.x_high += pad;
	}
	/* the text above the highest point needs room */
	if (p->flag.text)
		r.y_high += (r.y_high - r.y_low) * 0.1;
	return r;
}

static char *format_tick(char text[GT_REAL_MAX], double at, const struct gt_scale *s, bool is_log)
{
	if (!is_log)
		return gt_real_format(text, at, s->decimals);
	return gt_real_format(text, pow(10, at), at < 0 ? (int)-at : 0);
}

/* Width of the scale's widest tick label. */
static double tick_width(struct gt_canvas *c, const struct gt_scale *s,
			 const struct gt_lettering *how, bool is_log)
{
	char text[GT_REAL_MAX];
	double widest = 0;

	for (double at = gt_scale_first(s); at <= s->high + s->step * 1e-6; at += s->step)
		widest = fmax(widest, gt_canvas_measure(c, format_tick(text, at, s, is_log), how));
	return widest;
}

/* The least of 1, 2, 5, 10, 20, … with which the left scale covers the right one's values. */
static double right_factor(const struct gt_scale *left, const struct range *r)
{
	double least =
		fmax(r->right_high / left->high, left->low < 0 ? r->right_low / left->low : 0);
	double power = pow(10, floor(log10(fmax(least, 1))));

	return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

/* The left scale, times the factor. */
static struct gt_scale right_scale(const struct axes *a)
{
	return (struct gt_scale){ a->y.low * a->right_by, a->y.high * a->right_by,
				  a->y.step * a->right_by, a->right_by > 1 ? 0 : a->y.decimals };
}

/* As many ticks as fit without touching. */
static struct gt_scale x_scale(struct gt_canvas *c, const struct gt_panel *p, const struct range *r,
			       double width, const struct gt_lettering *how)
{
	struct gt_scale s;

	for (unsigned ticks = TICKS_MOST; ticks > 0; ticks--) {
		s = gt_scale_span(r->x_low, r->x_high, ticks);
		if (s.step < p->x_step)
			continue;
		if (tick_width(c, &s, how, p->x_is_log) * 1.5 < s.step / (s.high - s.low) * width)
			break;
	}
	return s;
}

static void place_axes(struct axes *a, struct gt_canvas *c, const struct gt_panel *p,
		       struct gt_box box, const struct gt_type *type,
		       const struct gt_lettering *how)
{
	struct range r = range_of(p);
	double side, edge = type->text;
	struct gt_scale right;
	unsigned ticks;

	a->has_labels = box.h > 7 * type->text;
	box.h -= type->text * (a->has_labels && p->x_label ? 3 : 1.6);
	ticks = (unsigned)fmax(1, fmin(8, box.h / (type->text * 2.4)));
	/* falls on the right need room below zero on the left, too */
	if (r.right_low < 0 && r.y_low >= 0)
		r.y_low = -r.y_high / 4;
	a->y = gt_scale_values(r.y_low, r.y_high, ticks, p->whole_numbers ? 1 : 0);
	a->right_by = r.has_right ? right_factor(&a->y, &r) : 0;
	if (r.has_right) {
		right = right_scale(a);
		edge += tick_width(c, &right, how, false) + type->gap +
			(a->has_labels && p->right_label ? type->text * 1.8 : 0);
	}
	side = tick_width(c, &a->y, how, false) + type->gap +
	       (a->has_labels && p->y_label ? type->text * 1.8 : 0);
	a->plot = (struct gt_box){ box.x + side, box.y + type->text * 0.5, box.w - side - edge,
				   box.h - type->text * 0.5 };
	a->time = (struct gt_time_unit){ NULL, 1 };
	if (p->x_is_time)
		a->time = gt_time_unit_for(fmax(fabs(r.x_low), fabs(r.x_high)));
	r.x_low /= a->time.seconds;
	r.x_high /= a->time.seconds;
	a->x_is_log = p->x_is_log;
	a->x = x_scale(c, p, &r, a->plot.w, how);
}

static void draw_grid(struct gt_canvas *c, const struct axes *a, const struct gt_type *type,
		      struct gt_lettering how)
{
	const struct gt_box *b = &a->plot;
	struct gt_stroke grid = { .width = 1, .color = c->theme->grid };
	char text[GT_REAL_MAX];

	gt_canvas_describe(c, "y axis");
	how.anchor = GT_ANCHOR_RIGHT;
	for (double at = gt_scale_first(&a->y); at <= a->y.high + a->y.step * 1e-6;
	     at += a->y.step) {
		double y = floor(to_y(a, at)) + 0.5, line[] = { b->x, y, b->x + b->w, y };

		c->ops->path(c, line, 2, &grid);
		gt_canvas_text(c, b->x - type->gap, y + type->text * 0.36, b->x,
			       gt_real_format(text, at, a->y.decimals), &how);
	}
	gt_canvas_describe(c, "x axis");
	how.anchor = GT_ANCHOR_MIDDLE;
	for (double at = gt_scale_first(&a->x); at <= a->x.high + a->x.step * 1e-6;
	     at += a->x.step) {
		double x = floor(to_x(a, at * a->time.seconds)) + 0.5, half;
		double line[] = { x, b->y, x, b->y + b->h };

		format_tick(text, at, &a->x, a->x_is_log);
		half = gt_canvas_measure(c, text, &how) / 2;
		c->ops->path(c, line, 2, &grid);
		/* the last power of ten must be there; other labels may be guessed */
		if (a->x_is_log)
			x = fmin(x, b->x + b->w + type->text - half);
		/* a label at the very end would extend beyond the panel */
		if (x + half <= b->x + b->w + type->text * 1.001)
			gt_canvas_text(c, x, b->y + b->h + type->text * 1.3, b->w, text, &how);
	}
}

static void draw_right_ticks(struct gt_canvas *c, const struct axes *a, const struct gt_type *type,
			     struct gt_lettering how)
{
	struct gt_scale right = right_scale(a);
	char text[GT_REAL_MAX];

	gt_canvas_describe(c, "right axis");
	how.anchor = GT_ANCHOR_LEFT;
	for (double at = gt_scale_first(&right); at <= right.high + right.step * 1e-6;
	     at += right.step)
		gt_canvas_text(c, a->plot.x + a->plot.w + type->gap,
			       to_y(a, at / a->right_by) + type->text * 0.36, a->plot.w,
			       gt_real_format(text, at, right.decimals), &how);
}

static void draw_labels(struct gt_canvas *c, const struct gt_panel *p, const struct axes *a,
			struct gt_box box, const struct gt_type *type, struct gt_lettering how)
{
	char x_label[80];

	if (!a->has_labels)
		return;
	how.anchor = GT_ANCHOR_MIDDLE;
	if (p->x_label) {
		snprintf(x_label, sizeof x_label, a->time.name ? "%s (%s)" : "%s", p->x_label,
			 a->time.name);
		gt_canvas_text(c, a->plot.x + a->plot.w / 2, box.y + box.h, a->plot.w, x_label,
			       &how);
	}
	how.upwards = true;
	if (p->y_label)
		gt_canvas_text(c, box.x + type->text * 0.8, a->plot.y + a->plot.h / 2, a->plot.h,
			       p->y_label, &how);
	if (p->right_label && a->right_by > 0)
		gt_canvas_text(c, box.x + box.w - type->text * 0.2, a->plot.y + a->plot.h / 2,
			       a->plot.h, p->right_label, &how);
}

/* The curve's points in pixels, with the corners of steps; the caller frees them. */
static double *to_pixels(const struct axes *a, const struct gt_curve *curve, size_t *count)
{
	bool steps = curve->mark == GT_MARK_STEPS || curve->mark == GT_MARK_AREA;
	double *xy = gt_alloc((curve->trail->count * 2 + 2) * 2 * sizeof *xy);
	size_t used = 0;

	for (size_t i = 0; i < curve->trail->count; i++) {
		double x = to_x(a, x_of(curve, i)), y = curve_to_y(a, curve, y_of(curve, i));

		if (steps && used) {
			xy[2 * used] = x;
			xy[2 * used + 1] = xy[2 * used - 1];
			used++;
		}
		xy[2 * used] = x;
		xy[2 * used + 1] = y;
		used++;
	}
	*count = used;
	return xy;
}

static void draw_line(struct gt_canvas *c, const struct axes *a, const struct gt_curve *curve,
		      const struct gt_type *type)
{
	struct gt_stroke stroke = { .width = fmax(1, type->text / 7) * (curve->wide ? 3 : 1),
				    .color = curve->color,
				    .dashed = curve->dashed };
	size_t count;
	double *xy = to_pixels(a, curve, &count);

	c->ops->path(c, xy, count, &stroke);
	if (curve->trail->count == 1 ||
	    (curve->mark == GT_MARK_LINE && curve->trail->count <= POINTS_MARKED))
		for (size_t i = 0; i < count; i++)
			c->ops->dot(c, xy[2 * i], xy[2 * i + 1], type->text / 4.5, &curve->color);
	free(xy);
}

/* The lowest and highest value of each column of pixels, as an area; the caller frees it. */
static double *to_band(const struct axes *a, const struct gt_curve *curve, size_t *count)
{
	size_t columns = (size_t)(a->plot.w / BAND_COLUMN) + 1, next = 0;
	double *xy = gt_alloc(4 * columns * sizeof *xy), value = y_of(curve, 0);

	*count = 2 * columns;
	for (size_t i = 0; i < columns; i++) {
		double x = a->plot.x + (double)i * BAND_COLUMN, low = value, high = value;

		for (; next < curve->trail->count && to_x(a, x_of(curve, next)) < x + BAND_COLUMN;
		     next++) {
			value = y_of(curve, next);
			low = fmin(low, value);
			high = fmax(high, value);
		}
		xy[2 * i] = xy[2 * (2 * columns - 1 - i)] = fmin(x, a->plot.x + a->plot.w);
		xy[2 * i + 1] = curve_to_y(a, curve, high);
		xy[2 * (2 * columns - 1 - i) + 1] = curve_to_y(a, curve, low);
	}
	return xy;
}

static void draw_band(struct gt_canvas *c, const struct axes *a, const struct gt_curve *curve,
		      const struct gt_type *type)
{
	const struct gt_averages *averages = curve->averages;
	struct gt_stroke stroke = { .width = fmax(1, type->text / 7), .color = curve->color };
	struct gt_hue pale = curve->color;
	size_t count;
	double *xy = to_band(a, curve, &count);

	pale.alpha *= band_alpha;
	c->ops->area(c, xy, count, &pale);
	free(xy);
	xy = gt_alloc(2 * averages->count * sizeof *xy);
	for (size_t i = 0; i < averages->count; i++) {
		xy[2 * i] = to_x(a, (averages->groups[i].x + curve->x_from) * curve->x_by);
		xy[2 * i + 1] = curve_to_y(a, curve, gt_averages_value(averages, i) * curve->y_by);
	}
	c->ops->path(c, xy, averages->count, &stroke);
	free(xy);
}

static void draw_area(struct gt_canvas *c, const struct axes *a, const struct gt_curve *curve,
		      const struct gt_type *type)
{
	const struct gt_stroke edge = { .width = fmax(1, type->text / 12), .color = curve->color };
	size_t count;
	double *xy = to_pixels(a, curve, &count), ground = to_y(a, 0);

	if (count == 1) {
		c->ops->rect(c, xy[0] - type->text / 2, fmin(xy[1], ground), type->text,
			     fabs(ground - xy[1]), &curve->color);
	} else if (count) {
		xy[2 * count] = xy[2 * count - 2];
		xy[2 * count + 1] = ground;
		xy[2 * count + 2] = xy[0];
		xy[2 * count + 3] = ground;
		c->ops->area(c, xy, count + 2, &curve->color);
		/* at least a pixel wide, so that it is visible */
		c->ops->path(c, xy, count, &edge);
	}
	free(xy);
}

static void draw_stems(struct gt_canvas *c, const struct axes *a, const struct gt_curve *curve,
		       const struct gt_type *type)
{
	double ground = to_y(a, 0), wide = a->plot.w / ((double)curve->trail->count + 1);
	struct gt_hue rises = curve->color, falls = curve->falls;

	/* where several share a pixel, they are pale: the darker, the more there are */
	if (wide < 1) {
		rises.alpha *= fmax(stem_alpha_least, sqrt(wide));
		falls.alpha *= fmax(stem_alpha_least, sqrt(wide));
	}
	wide = fmax(1, fmin(type->text, wide * STEM_SHARE / 100));
	for (size_t i = 0; i < curve->trail->count; i++) {
		double value = y_of(curve, i), y = curve_to_y(a, curve, value);

		if (value != 0)
			c->ops->rect(c, to_x(a, x_of(curve, i)) - wide / 2, fmin(y, ground), wide,
				     fmax(1, fabs(ground - y)), value < 0 ? &falls : &rises);
	}
}

static void draw_dots(struct gt_canvas *c, const struct axes *a, const struct gt_curve *curve,
		      const struct gt_type *type)
{
	/* dots that overlap would look like a line */
	double radius = type->text / (curve->trail->count > DOTS_BIG ? 5 : 3);

	for (size_t i = 0; i < curve->trail->count; i++)
		c->ops->dot(c, to_x(a, x_of(curve, i)), curve_to_y(a, curve, y_of(curve, i)),
			    radius, &curve->color);
}

static void describe_curve(struct gt_canvas *c, const struct gt_curve *curve)
{
	double low = y_of(curve, 0), high = low;

	for (size_t i = 1; i < curve->trail->count; i++) {
		low = fmin(low, y_of(curve, i));
		high = fmax(high, y_of(curve, i));
	}
	gt_canvas_describe(c, "curve %s: x %.9g to %.9g, y %.9g to %.9g", curve->name,
			   x_of(curve, 0), x_of(curve, curve->trail->count - 1), low, high);
}

static void draw_curve(struct gt_canvas *c, const struct axes *a, const struct gt_curve *curve,
		       const struct gt_type *type)
{
	gt_trail_fit(curve->trail, (size_t)fmax(16, a->plot.w));
	describe_curve(c, curve);
	if (curve->averages && gt_averages_is_dense(curve->averages)) {
		gt_canvas_describe(c, "band, with averages of %llu rows",
				   (unsigned long long)curve->averages->rows_each);
		draw_band(c, a, curve, type);
		return;
	}
	switch (curve->mark) {
	case GT_MARK_LINE:
	case GT_MARK_STEPS: draw_line(c, a, curve, type); break;
	case GT_MARK_AREA: draw_area(c, a, curve, type); break;
	case GT_MARK_STEMS: draw_stems(c, a, curve, type); break;
	case GT_MARK_DOTS: draw_dots(c, a, curve, type); break;
	}
}

static void draw_flag(struct gt_canvas *c, const struct gt_panel *p, const struct axes *a,
		      const struct gt_type *type)
{
	struct gt_lettering how = {
		.size = type->text,
		.bold = true,
		.color = p->flag.is_alarm ? c->theme->red : c->theme->ink,
		.anchor = GT_ANCHOR_MIDDLE,
	};
	struct gt_hue ground = c->theme->panel;
	double x = to_x(a, p->flag.x), y = to_y(a, p->flag.y), half;

	ground.alpha = 0.85;
	gt_canvas_describe(c, "flag");
	half = fmin(gt_canvas_measure(c, p->flag.text, &how), a->plot.w) / 2;
	c->ops->dot(c, x, y, type->text / 2.6, &how.color);
	x = fmin(fmax(x, a->plot.x + half), a->plot.x + a->plot.w - half);
	/* a line may lie just above the peak: the capacity of a device that is nearly full */
	c->ops->rect(c, x - half - 3, y - type->text * 1.7, 2 * half + 6, type->text * 1.15,
		     &ground);
	gt_canvas_text(c, x, y - type->text * 0.8, a->plot.w, p->flag.text, &how);
}

void gt_curves_draw(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box,
		    const struct gt_type *type)
{
	struct gt_lettering how = { .size = type->text, .color = c->theme->faint };
	struct axes a;
	double zero[4];

	place_axes(&a, c, p, box, type, &how);
	/* too small for a chart: only the title can be read */
	if (a.plot.w < 2 * type->text || a.plot.h < 2 * type->text)
		return;
	draw_grid(c, &a, type, how);
	if (a.right_by > 0)
		draw_right_ticks(c, &a, type, how);
	draw_labels(c, p, &a, box, type, how);
	c->ops->clip(c, a.plot.x - 2, a.plot.y - 2, a.plot.w + 4, a.plot.h + 4);
	for (size_t i = 0; i < p->curve_count; i++)
		if (p->curves[i].trail->count)
			draw_curve(c, &a, &p->curves[i], type);
	c->ops->unclip(c);
	gt_canvas_describe(c, "zero");
	zero[0] = a.plot.x;
	zero[2] = a.plot.x + a.plot.w;
	zero[1] = zero[3] = floor(to_y(&a, 0)) + 0.5;
	c->ops->path(c, zero, 2, &(struct gt_stroke){ .width = 1, .color = c->theme->faint });
	if (p->flag.text)
		draw_flag(c, p, &a, type);
}
