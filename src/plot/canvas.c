/* SPDX-License-Identifier: MIT */
/* canvas.c - what pictures are drawn on, whichever the format. */
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

/* Yellow cannot be seen on white: its place is the last, and darker. */
/* clang-format off */
static const struct gt_theme light = {
	.ground = RGB(0xf3f5f7), .panel = RGB(0xffffff), .alarm_panel = RGB(0xfdecea),
	.ink = RGB(0x1f2328), .faint = RGB(0x57606a), .grid = RGB(0xe1e4e8),
	.red = RGB(0xc8102e), .green = RGB(0x00734f),
	.palette = { RGB(0x0072b2), RGB(0xe69f00), RGB(0x009e73), RGB(0xcc79a7), RGB(0x56b4e9),
		     RGB(0xd55e00), RGB(0x6e7781), RGB(0xb5a800) },
};

/* clang-format off */
static const struct gt_theme dark = {
	.ground = RGB(0x16191d), .panel = RGB(0x1d2126), .alarm_panel = RGB(0x3a1d20),
	.ink = RGB(0xe6e9ed), .faint = RGB(0xa3abb5), .grid = RGB(0x343a42),
	.red = RGB(0xff6b6b), .green = RGB(0x3ddc97),
	.palette = { RGB(0x56b4e9), RGB(0xe69f00), RGB(0x2fc79a), RGB(0xe08fbd), RGB(0xf0e442),
		     RGB(0xff7f3f), RGB(0xb0b8c1), RGB(0x4c9be8) },
};
/* clang-format on */
/* clang-format on */

enum gt_format gt_format_of(const char *path)
{
	/* clang-format off */
	static const struct {
		const char *end;
		enum gt_format format;
	} formats[] = { { ".png", GT_FORMAT_PNG }, { ".svg", GT_FORMAT_SVG },
			{ ".pdf", GT_FORMAT_PDF }, { ".txt", GT_FORMAT_WORDS } };
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (length > 4 && !strcasecmp(path + length - 4, formats[i].end))
			return formats[i].format;
	return GT_FORMAT_NONE;
}

int gt_canvas_open(struct gt_canvas *c, FILE *out, const struct gt_canvas_options *options,
		   struct gt_error *error)
{
	int e;

	*c = (struct gt_canvas){ .out = out, .width = options->width, .height = options->height,
				 .theme = options->dark ? &dark : &light };
	e = options->format == GT_FORMAT_WORDS ? gt_words_open(c) :
						 gt_cairo_open(c, options->format);
	if (e == -ENOTSUP)
		return gt_error_set(error, e, "this gputrack was built without pictures: build it "
				    "with Cairo (libcairo2-dev, -Dplot=enabled); -o FILE.txt "
				    "describes the picture in words");
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

void gt_canvas_note(struct gt_canvas *c, const char *format, ...)
{
	va_list args;
	char text[512];

	if (!c->ops->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	c->ops->note(c, text);
}

double gt_canvas_measure(struct gt_canvas *c, const char *text, const struct gt_lettering *how)
{
	return c->ops->measure(c, text, how);
}

/* `text` in at most so many columns, cleaned. */
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
	/* the most columns that fit; how wide each is only the font knows */
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

/* clang-format on */