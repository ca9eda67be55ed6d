/* SPDX-License-Identifier: MIT */
/* words.c - a picture in words: its texts with their boxes, and how many marks are drawn. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "plot/canvas.h"

/* Marks of one sort that follow each other are one line. */
enum mark { NO_MARK, RECTS, PATHS, AREAS, DOTS };

struct words {
	enum mark mark;
	size_t marks, points;
};

static void flush_marks(struct gt_canvas *c)
{
	static const char *const names[] = {
		[RECTS] = "rectangles", [PATHS] = "paths", [AREAS] = "areas", [DOTS] = "dots"
	};
	struct words *w = c->state;

	if (w->mark == PATHS || w->mark == AREAS)
		fprintf(c->out, "  %s %zu points %zu\n", names[w->mark], w->marks, w->points);
	else if (w->mark)
		fprintf(c->out, "  %s %zu\n", names[w->mark], w->marks);
	*w = (struct words){ 0 };
}

static void add_mark(struct gt_canvas *c, enum mark mark, size_t points)
{
	struct words *w = c->state;

	if (w->mark != mark)
		flush_marks(c);
	w->mark = mark;
	w->marks++;
	w->points += points;
}

static void put_rect(struct gt_canvas *c, double x, double y, double w, double h,
		     const struct gt_hue *color)
{
	add_mark(c, RECTS, 0);
}

static void put_path(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_stroke *stroke)
{
	add_mark(c, PATHS, count);
}

static void put_area(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_hue *color)
{
	add_mark(c, AREAS, count);
}

static void put_dot(struct gt_canvas *c, double x, double y, double radius,
		    const struct gt_hue *color)
{
	add_mark(c, DOTS, 0);
}

/* About as wide as DejaVu Sans is on average. */
static double measure(struct gt_canvas *c, const char *text, const struct gt_lettering *how)
{
	return gt_text_columns(text, true) * how->size * (how->bold ? 0.68 : 0.6);
}

static void put_text(struct gt_canvas *c, double x, double y, const char *text,
		     const struct gt_lettering *how)
{
	static const double shares[] = {
		[GT_ANCHOR_LEFT] = 0, [GT_ANCHOR_MIDDLE] = 0.5, [GT_ANCHOR_RIGHT] = 1
	};
	double width = measure(c, text, how), back = width * shares[how->anchor];

	flush_marks(c);
	/* left, top, width, height: a capital letter is 0.73 of the size high */
	if (how->upwards)
		fprintf(c->out, "  text %.1f %.1f %.1f %.1f %s\n", x - 0.73 * how->size,
			y + back - width, 0.73 * how->size, width, text);
	else
		fprintf(c->out, "  text %.1f %.1f %.1f %.1f %s\n", x - back, y - 0.73 * how->size,
			width, 0.73 * how->size, text);
}

static void clip(struct gt_canvas *c, double x, double y, double w, double h)
{
}

static void unclip(struct gt_canvas *c)
{
}

static void note(struct gt_canvas *c, const char *text)
{
	flush_marks(c);
	gt_text_put(c->out, text, (unsigned)-1, GT_CUT_MIDDLE, true);
	putc('\n', c->out);
}

static int finish(struct gt_canvas *c)
{
	flush_marks(c);
	free(c->state);
	return 0;
}

/* clang-format off */
static const struct gt_canvas_ops ops = {
	.rect = put_rect, .path = put_path, .area = put_area, .dot = put_dot, .text = put_text,
	.measure = measure, .clip = clip, .unclip = unclip, .note = note, .finish = finish,
};
/* clang-format on */

int gt_words_open(struct gt_canvas *c)
{
	c->ops = &ops;
	c->state = gt_alloc(sizeof(struct words));
	fprintf(c->out, "picture %.0f %.0f\n", c->width, c->height);
	return 0;
}
