/* SPDX-License-Identifier: MIT */
/* canvas.c - the surface for pictures in any format; the description in words. */
#include "plot/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

#define RGB(hex)                                                                                   \
	{                                                                                          \
		((hex) >> 16) / 255.0, ((hex) >> 8 & 255) / 255.0, ((hex)&255) / 255.0, 1          \
	}

/* Yellow is invisible on white: it comes last, and darker. */
/* clang-format off */
static const struct gt_theme light = {
	.ground = RGB(0xf3f5f7), .panel = RGB(0xffffff), .alarm_panel = RGB(0xfdecea),
	.ink = RGB(0x1f2328), .faint = RGB(0x57606a), .grid = RGB(0xe1e4e8),
	.red = RGB(0xc8102e), .green = RGB(0x00734f),
	.palette = { RGB(0x0072b2), RGB(0xe69f00), RGB(0x009e73), RGB(0xcc79a7), RGB(0x56b4e9),
		     RGB(0xd55e00), RGB(0x6e7781), RGB(0xb5a800) },
};

static const struct gt_theme dark = {
	.ground = RGB(0x16191d), .panel = RGB(0x1d2126), .alarm_panel = RGB(0x3a1d20),
	.ink = RGB(0xe6e9ed), .faint = RGB(0xa3abb5), .grid = RGB(0x343a42),
	.red = RGB(0xff6b6b), .green = RGB(0x3ddc97),
	.palette = { RGB(0x56b4e9), RGB(0xe69f00), RGB(0x2fc79a), RGB(0xe08fbd), RGB(0xf0e442),
		     RGB(0xff7f3f), RGB(0xb0b8c1), RGB(0x4c9be8) },
};
/* clang-format on */

/* The description in words: consecutive marks of one sort are one line. */
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

static void put_line(struct gt_canvas *c, const char *text)
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
static const struct gt_canvas_ops description = {
	.rect = put_rect, .path = put_path, .area = put_area, .dot = put_dot, .text = put_text,
	.measure = measure, .clip = clip, .unclip = unclip, .describe = put_line, .finish = finish,
};
/* clang-format on */

static int open_description(struct gt_canvas *c)
{
	c->ops = &description;
	c->state = gt_alloc(sizeof(struct words));
	fprintf(c->out, "picture %.0f %.0f\n", c->width, c->height);
	return 0;
}

#ifndef GT_HAS_CAIRO
int gt_cairo_load(struct gt_error *error)
{
	return gt_error_set(error, -ENOTSUP,
			    "this gputrack was built without pictures: rebuild it with Cairo "
			    "(libcairo2-dev, -Dplot=enabled), or use -o FILE.txt for a description "
			    "in words");
}

int gt_cairo_open(struct gt_canvas *c, enum gt_format format)
{
	(void)c;
	(void)format;
	return -ENOTSUP;
}
#endif

enum gt_format gt_format_of(const char *path)
{
	static const struct {
		const char *end;
		enum gt_format format;
	} formats[] = { { ".png", GT_FORMAT_PNG },
			{ ".svg", GT_FORMAT_SVG },
			{ ".pdf", GT_FORMAT_PDF },
			{ ".txt", GT_FORMAT_WORDS } };
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (length > 4 && !strcasecmp(path + length - 4, formats[i].end))
			return formats[i].format;
	return GT_FORMAT_NONE;
}

int gt_canvas_open(struct gt_canvas *c, FILE *out, const struct gt_canvas_options *options,
		   struct gt_error *error)
{
	bool is_words = options->format == GT_FORMAT_WORDS;
	int e = is_words ? 0 : gt_cairo_load(error);

	if (e)
		return e;
	*c = (struct gt_canvas){ .out = out,
				 .width = options->width,
				 .height = options->height,
				 .theme = options->dark ? &dark : &light };
	e = is_words ? open_description(c) : gt_cairo_open(c, options->format);
	if (e)
		return gt_error_set(error, e, "cannot draw %.0f×%.0f: %s; try a smaller --size",
				    c->width, c->height, strerror(-e));
	c->ops->rect(c, 0, 0, c->width, c->height, &c->theme->ground);
	return 0;
}

int gt_canvas_close(struct gt_canvas *c, struct gt_error *error)
{
	int e = c->ops->finish(c);

	return e ? gt_error_set(error, e, "cannot write the picture: %s", strerror(-e)) : 0;
}

void gt_canvas_describe(struct gt_canvas *c, const char *format, ...)
{
	va_list args;
	char text[512];

	if (!c->ops->describe)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	c->ops->describe(c, text);
}

double gt_canvas_measure(struct gt_canvas *c, const char *text, const struct gt_lettering *how)
{
	return c->ops->measure(c, text, how);
}

/* `text` cut to so many columns, cleaned. */
static char *cut(const char *text, unsigned columns)
{
	char *out = NULL;
	size_t size;
	FILE *file = gt_memstream(&out, &size);

	gt_text_put(file, text, columns, GT_CUT_MIDDLE, true);
	gt_memstream_close(file);
	return out;
}

char *gt_canvas_fit(struct gt_canvas *c, double most, const char *text,
		    const struct gt_lettering *how)
{
	unsigned columns = gt_text_columns(text, true), low = 1, high = columns;
	char *whole = cut(text, columns);

	if (gt_canvas_measure(c, whole, how) <= most)
		return whole;
	/* the most columns that fit: only the font knows how wide each one is */
	while (low < high) {
		unsigned middle = (low + high + 1) / 2;

		free(whole);
		whole = cut(text, middle);
		if (gt_canvas_measure(c, whole, how) <= most)
			low = middle;
		else
			high = middle - 1;
	}
	free(whole);
	return cut(text, low);
}

void gt_canvas_text(struct gt_canvas *c, double x, double y, double most, const char *text,
		    const struct gt_lettering *how)
{
	char *fit;

	if (!*text || most <= 0)
		return;
	fit = gt_canvas_fit(c, most, text, how);
	c->ops->text(c, x, y, fit, how);
	free(fit);
}
