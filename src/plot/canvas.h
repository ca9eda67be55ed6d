/* SPDX-License-Identifier: MIT */
/*
 * canvas.h - the surface for pictures: PNG, SVG and PDF by Cairo, or a description in words.
 *
 * Coordinates are pixels (PNG) or points from the upper left corner. The description lists every
 * axis, text and number of marks; all its letters have the same width, so that it does not depend
 * on the machine's fonts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"

struct gt_hue {
	double red, green, blue, alpha;
};

enum { GT_PALETTE = 8 };

/* Colours by use. The palette is Okabe and Ito's, which colour-blind people can tell apart. */
struct gt_theme {
	struct gt_hue ground, panel, alarm_panel, ink, faint, grid, red, green;
	struct gt_hue palette[GT_PALETTE];
};

enum gt_format { GT_FORMAT_PNG, GT_FORMAT_SVG, GT_FORMAT_PDF, GT_FORMAT_WORDS, GT_FORMAT_NONE };

enum gt_anchor { GT_ANCHOR_LEFT, GT_ANCHOR_MIDDLE, GT_ANCHOR_RIGHT };

struct gt_lettering {
	double size; /* pixels */
	struct gt_hue color;
	enum gt_anchor anchor;
	bool bold, upwards; /* upwards: rotated to read from bottom to top */
};

struct gt_stroke {
	double width;
	struct gt_hue color;
	bool dashed;
};

struct gt_canvas;

/* One of each per format. `xy` are pairs. */
struct gt_canvas_ops {
	void (*rect)(struct gt_canvas *c, double x, double y, double w, double h,
		     const struct gt_hue *color);
	void (*path)(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_stroke *stroke);
	void (*area)(struct gt_canvas *c, const double *xy, size_t count,
		     const struct gt_hue *color);
	void (*dot)(struct gt_canvas *c, double x, double y, double radius,
		    const struct gt_hue *color);
	void (*text)(struct gt_canvas *c, double x, double y, const char *text,
		     const struct gt_lettering *how);
	double (*measure)(struct gt_canvas *c, const char *text, const struct gt_lettering *how);
	void (*clip)(struct gt_canvas *c, double x, double y, double w, double h);
	void (*unclip)(struct gt_canvas *c);
	void (*describe)(struct gt_canvas *c, const char *text); /* may be NULL */
	int (*finish)(struct gt_canvas *c);                      /* 0 or -errno; frees `state` */
};

struct gt_canvas {
	const struct gt_canvas_ops *ops;
	const struct gt_theme *theme;
	double width, height;
	FILE *out;
	void *state;
};

struct gt_canvas_options {
	enum gt_format format;
	double width, height;
	bool dark;
};

/* By the suffix: .png .svg .pdf .txt; GT_FORMAT_NONE for others. */
enum gt_format gt_format_of(const char *path);

/* Writes to `out`, which stays the caller's. Fails if the format is not built in. */
int gt_canvas_open(struct gt_canvas *c, FILE *out, const struct gt_canvas_options *options,
		   struct gt_error *error);
/* Finishes the picture. */
int gt_canvas_close(struct gt_canvas *c, struct gt_error *error);

/* Adds a line to the description; other formats ignore it. */
void gt_canvas_describe(struct gt_canvas *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

double gt_canvas_measure(struct gt_canvas *c, const char *text, const struct gt_lettering *how);
/* Text with its base line at y, cleaned, cut in the middle if it is wider than `most`. */
void gt_canvas_text(struct gt_canvas *c, double x, double y, double most, const char *text,
		    const struct gt_lettering *how);
/* `text` cleaned and cut to `most` pixels; the caller frees it. */
char *gt_canvas_fit(struct gt_canvas *c, double most, const char *text,
		    const struct gt_lettering *how);

/* For gt_canvas_open. Loads Cairo: 0, or -errno if it is not there, or not built in. */
int gt_cairo_load(struct gt_error *error);
/* The same: sets ops and state, once Cairo is loaded. */
int gt_cairo_open(struct gt_canvas *c, enum gt_format format);
