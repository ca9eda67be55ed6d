/* SPDX-License-Identifier: MIT */
/* cairo.c - PNG, SVG and PDF: the only file that uses Cairo. */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>

#include "base/tool.h"
#include "plot/canvas.h"
#include "plot/png.h"

/* Loaded for a picture (gt_tool_load_functions): it brings twenty libraries along. */
/* clang-format off */
#define FUNCTIONS(F) \
	F(arc) F(clip) F(close_path) F(create) F(destroy) F(fill) F(get_target) \
	F(image_surface_create) F(image_surface_get_data) F(image_surface_get_height) \
	F(image_surface_get_stride) F(image_surface_get_width) F(line_to) F(move_to) \
	F(pdf_surface_create_for_stream) F(rectangle) F(rel_move_to) F(restore) F(rotate) F(save) \
	F(select_font_face) F(set_dash) F(set_font_size) F(set_line_join) F(set_line_width) \
	F(set_source_rgba) F(show_text) F(status) F(stroke) F(surface_destroy) F(surface_finish) \
	F(surface_flush) F(surface_get_type) F(surface_status) F(svg_surface_create_for_stream) \
	F(text_extents)
/* clang-format on */

static struct {
#define F(name) __typeof__(cairo_##name) *name;
	FUNCTIONS(F)
#undef F
} cairo;

int gt_cairo_load(struct gt_error *error)
{
#define F(name) "cairo_" #name,
	static const char *const names[] = { FUNCTIONS(F) };
#undef F
	const struct gt_tool_library library = {
		.file = "libcairo.so.2",
		.user = "a picture",
		.package = "libcairo2, or use -o FILE.txt for a description in words",
		.names = names,
		.count = sizeof names / sizeof *names,
	};

	return gt_tool_load_functions(&library, &cairo, error);
}

static cairo_status_t write_some(void *closure, const unsigned char *data, unsigned size)
{
	return fwrite(data, 1, size, closure) == size ? CAIRO_STATUS_SUCCESS :
							CAIRO_STATUS_WRITE_ERROR;
}

static void set_color(cairo_t *cr, const struct gt_hue *color)
{
	cairo.set_source_rgba(cr, color->red, color->green, color->blue, color->alpha);
}

static void put_rect(struct gt_canvas *c, double x, double y, double w, double h,
		     const struct gt_hue *color)
{
	set_color(c->state, color);
	cairo.rectangle(c->state, x, y, w, h);
	cairo.fill(c->state);
}

static void trace_path(cairo_t *cr, const double *xy, size_t count)
{
	cairo.move_to(cr, xy[0], xy[1]);
	for (size_t i = 1; i < count; i++)
		cairo.line_to(cr, xy[2 * i], xy[2 * i + 1]);
}

/* In pieces: the time for one stroke grows with the square of its joints. */
static void put_path(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_stroke *stroke)
{
	enum { PIECE = 512 };
	cairo_t *cr = c->state;
	double dashes[] = { 5 * stroke->width, 3 * stroke->width }, gone = 0;

	if (count < 2)
		return;
	set_color(cr, &stroke->color);
	cairo.set_line_width(cr, stroke->width);
	cairo.set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
	for (size_t from = 0; from + 1 < count; from += PIECE - 1) {
		size_t some = count - from < PIECE ? count - from : PIECE;

		if (stroke->dashed)
			cairo.set_dash(cr, dashes, 2, gone);
		trace_path(cr, xy + 2 * from, some);
		cairo.stroke(cr);
		for (size_t i = from + 1; stroke->dashed && i < from + some; i++)
			gone += hypot(xy[2 * i] - xy[2 * i - 2], xy[2 * i + 1] - xy[2 * i - 1]);
	}
	cairo.set_dash(cr, NULL, 0, 0);
}

static void put_area(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_hue *color)
{
	if (count < 3)
		return;
	set_color(c->state, color);
	trace_path(c->state, xy, count);
	cairo.close_path(c->state);
	cairo.fill(c->state);
}

static void put_dot(struct gt_canvas *c, double x, double y, double radius,
		    const struct gt_hue *color)
{
	set_color(c->state, color);
	cairo.arc(c->state, x, y, radius, 0, 2 * M_PI);
	cairo.fill(c->state);
}

static void choose_font(cairo_t *cr, const struct gt_lettering *how)
{
	cairo.select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       how->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo.set_font_size(cr, how->size);
}

static double measure(struct gt_canvas *c, const char *text, const struct gt_lettering *how)
{
	cairo_text_extents_t extents;

	choose_font(c->state, how);
	cairo.text_extents(c->state, text, &extents);
	return extents.x_advance;
}

static void put_text(struct gt_canvas *c, double x, double y, const char *text,
		     const struct gt_lettering *how)
{
	static const double shares[] = {
		[GT_ANCHOR_LEFT] = 0, [GT_ANCHOR_MIDDLE] = 0.5, [GT_ANCHOR_RIGHT] = 1
	};
	cairo_t *cr = c->state;
	double back = measure(c, text, how) * shares[how->anchor];

	cairo.save(cr);
	set_color(cr, &how->color);
	cairo.move_to(cr, x, y);
	if (how->upwards)
		cairo.rotate(cr, -M_PI / 2);
	cairo.rel_move_to(cr, -back, 0);
	cairo.show_text(cr, text);
	cairo.restore(cr);
}

static void clip(struct gt_canvas *c, double x, double y, double w, double h)
{
	cairo.save(c->state);
	cairo.rectangle(c->state, x, y, w, h);
	cairo.clip(c->state);
}

static void unclip(struct gt_canvas *c)
{
	cairo.restore(c->state);
}

static int errno_of(cairo_status_t status)
{
	switch (status) {
	case CAIRO_STATUS_SUCCESS: return 0;
	case CAIRO_STATUS_NO_MEMORY: return -ENOMEM;
	case CAIRO_STATUS_INVALID_SIZE: return -EOVERFLOW;
	default: return -EIO;
	}
}

static int write_png(cairo_surface_t *surface, FILE *out)
{
	struct gt_image image;

	cairo.surface_flush(surface);
	image = (struct gt_image){ .pixels = cairo.image_surface_get_data(surface),
				   .width = (uint32_t)cairo.image_surface_get_width(surface),
				   .height = (uint32_t)cairo.image_surface_get_height(surface),
				   .stride = (size_t)cairo.image_surface_get_stride(surface) };
	return gt_png_write(&image, out);
}

static int finish(struct gt_canvas *c)
{
	cairo_surface_t *surface = cairo.get_target(c->state);
	int e = errno_of(cairo.status(c->state));

	if (!e && cairo.surface_get_type(surface) == CAIRO_SURFACE_TYPE_IMAGE)
		e = write_png(surface, c->out);
	cairo.surface_finish(surface);
	if (!e)
		e = errno_of(cairo.surface_status(surface));
	cairo.destroy(c->state);
	return e;
}

/* clang-format off */
static const struct gt_canvas_ops ops = {
	.rect = put_rect, .path = put_path, .area = put_area, .dot = put_dot, .text = put_text,
	.measure = measure, .clip = clip, .unclip = unclip, .finish = finish,
};
/* clang-format on */

int gt_cairo_open(struct gt_canvas *c, enum gt_format format)
{
	cairo_surface_t *surface;
	int e;

	if (format == GT_FORMAT_SVG)
		surface = cairo.svg_surface_create_for_stream(write_some, c->out, c->width,
							      c->height);
	else if (format == GT_FORMAT_PDF)
		surface = cairo.pdf_surface_create_for_stream(write_some, c->out, c->width,
							      c->height);
	else
		surface = cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)c->width,
						     (int)c->height);
	e = errno_of(cairo.surface_status(surface));
	if (!e) {
		c->ops = &ops;
		c->state = cairo.create(surface);
	}
	cairo.surface_destroy(surface);
	return e;
}
