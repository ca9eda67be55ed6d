/* SPDX-License-Identifier: MIT */
/* cairo.c - PNG, SVG and PDF: the only file that uses Cairo. */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>

#include "plot/canvas.h"
#include "plot/png.h"

static cairo_status_t write_some(void *closure, const unsigned char *data, unsigned size)
{
	return fwrite(data, 1, size, closure) == size ? CAIRO_STATUS_SUCCESS :
							CAIRO_STATUS_WRITE_ERROR;
}

static void set_color(cairo_t *cr, const struct gt_hue *color)
{
	cairo_set_source_rgba(cr, color->red, color->green, color->blue, color->alpha);
}

static void put_rect(struct gt_canvas *c, double x, double y, double w, double h,
		     const struct gt_hue *color)
{
	set_color(c->state, color);
	cairo_rectangle(c->state, x, y, w, h);
	cairo_fill(c->state);
}

static void trace_path(cairo_t *cr, const double *xy, size_t count)
{
	cairo_move_to(cr, xy[0], xy[1]);
	for (size_t i = 1; i < count; i++)
		cairo_line_to(cr, xy[2 * i], xy[2 * i + 1]);
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
	cairo_set_line_width(cr, stroke->width);
	cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
	for (size_t from = 0; from + 1 < count; from += PIECE - 1) {
		size_t some = count - from < PIECE ? count - from : PIECE;

		if (stroke->dashed)
			cairo_set_dash(cr, dashes, 2, gone);
		trace_path(cr, xy + 2 * from, some);
		cairo_stroke(cr);
		for (size_t i = from + 1; stroke->dashed && i < from + some; i++)
			gone += hypot(xy[2 * i] - xy[2 * i - 2], xy[2 * i + 1] - xy[2 * i - 1]);
	}
	cairo_set_dash(cr, NULL, 0, 0);
}

static void put_area(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_hue *color)
{
	if (count < 3)
		return;
	set_color(c->state, color);
	trace_path(c->state, xy, count);
	cairo_close_path(c->state);
	cairo_fill(c->state);
}

static void put_dot(struct gt_canvas *c, double x, double y, double radius,
		    const struct gt_hue *color)
{
	set_color(c->state, color);
	cairo_arc(c->state, x, y, radius, 0, 2 * M_PI);
	cairo_fill(c->state);
}

static void choose_font(cairo_t *cr, const struct gt_lettering *how)
{
	cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       how->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cr, how->size);
}

static double measure(struct gt_canvas *c, const char *text, const struct gt_lettering *how)
{
	cairo_text_extents_t extents;

	choose_font(c->state, how);
	cairo_text_extents(c->state, text, &extents);
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

	cairo_save(cr);
	set_color(cr, &how->color);
	cairo_move_to(cr, x, y);
	if (how->upwards)
		cairo_rotate(cr, -M_PI / 2);
	cairo_rel_move_to(cr, -back, 0);
	cairo_show_text(cr, text);
	cairo_restore(cr);
}

static void clip(struct gt_canvas *c, double x, double y, double w, double h)
{
	cairo_save(c->state);
	cairo_rectangle(c->state, x, y, w, h);
	cairo_clip(c->state);
}

static void unclip(struct gt_canvas *c)
{
	cairo_restore(c->state);
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

	cairo_surface_flush(surface);
	image = (struct gt_image){ .pixels = cairo_image_surface_get_data(surface),
				   .width = (uint32_t)cairo_image_surface_get_width(surface),
				   .height = (uint32_t)cairo_image_surface_get_height(surface),
				   .stride = (size_t)cairo_image_surface_get_stride(surface) };
	return gt_png_write(&image, out);
}

static int finish(struct gt_canvas *c)
{
	cairo_surface_t *surface = cairo_get_target(c->state);
	int e = errno_of(cairo_status(c->state));

	if (!e && cairo_surface_get_type(surface) == CAIRO_SURFACE_TYPE_IMAGE)
		e = write_png(surface, c->out);
	cairo_surface_finish(surface);
	if (!e)
		e = errno_of(cairo_surface_status(surface));
	cairo_destroy(c->state);
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
		surface = cairo_svg_surface_create_for_stream(write_some, c->out, c->width,
							      c->height);
	else if (format == GT_FORMAT_PDF)
		surface = cairo_pdf_surface_create_for_stream(write_some, c->out, c->width,
							      c->height);
	else
		surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)c->width,
						     (int)c->height);
	e = errno_of(cairo_surface_status(surface));
	if (!e) {
		c->ops = &ops;
		c->state = cairo_create(surface);
	}
	cairo_surface_destroy(surface);
	return e;
}
