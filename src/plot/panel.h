/* SPDX-License-Identifier: MIT */
/*
 * panel.h - one chart: a title, a legend, axes, and curves or bars.
 *
 * The legend is between title and chart, where it hides nothing. Sizes derive from the panel's box:
 * letters shrink to the smallest readable size, then lines of text are left out.
 */
#pragma once

#include "plot/averages.h"
#include "plot/canvas.h"
#include "plot/trail.h"

enum { GT_CURVES_MOST = 32 };

struct gt_box {
	double x, y, w, h;
};

enum gt_mark {
	GT_MARK_LINE,
	GT_MARK_STEPS, /* a value holds until the next */
	GT_MARK_AREA,  /* steps, filled down to zero */
	GT_MARK_STEMS, /* a bar from zero for each point; falls in another colour */
	GT_MARK_DOTS,
};

struct gt_curve {
	const char *name;
	enum gt_mark mark;
	struct gt_trail *trail; /* thinned out to what the panel's width can show */
	size_t value;           /* which of the trail's values */
	double x_by, y_by;      /* factors from the trail's units to the axes'; 0: 1 */
	double x_from;          /* added to x before x_by applies */
	struct gt_hue color, falls;
	bool dashed;
	bool wide;     /* so that it shows on both sides of a line drawn over it */
	bool on_right; /* by the axis on the right, whose numbers are a multiple of the left's */
	/*
	 * Of steps: if these are dense, a band from the lowest to the highest value and a line of
	 * averages are drawn instead. May be NULL.
	 */
	const struct gt_averages *averages;
};

/* A horizontal bar with its name on the left and its number at its end. */
struct gt_bar {
	const char *name;
	const char *words; /* instead of the number; may be NULL */
	double value;
	struct gt_hue color;
};

enum gt_tone { GT_TONE_PLAIN, GT_TONE_ALARM, GT_TONE_GOOD };

struct gt_panel {
	const char *title, *subtitle, *message; /* message: instead of a chart */
	enum gt_tone tone; /* colour of subtitle and message; ALARM: of the background too */
	const char *x_label, *y_label, *right_label;
	bool x_is_time; /* in seconds: the axis chooses and names its unit */
	bool x_is_log;  /* x are decimal logarithms: ticks show their powers of ten */
	double x_step;  /* ticks are at least this far apart; 0: any distance */
	struct gt_curve curves[GT_CURVES_MOST];
	size_t curve_count;
	const struct gt_bar *bars;
	size_t bar_count;
	bool whole_numbers;       /* bars or curves are counts */
	bool always_named;        /* a legend even for one curve */
	bool one_a_line;          /* in the legend: names are long */
	double x_low, x_high;     /* the axis covers at least these; both 0: no minimum */
	struct {                  /* a point with text above it */
		const char *text; /* NULL: none */
		double x, y;
		bool is_alarm; /* red */
	} flag;
};

void gt_panel_draw(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box);

/* Adds a curve and returns it to be completed; replaces the last one if there are too many. */
struct gt_curve *gt_panel_curve(struct gt_panel *p, const char *name, enum gt_mark mark,
				struct gt_trail *trail, struct gt_hue color);
/* The n-th colour of the theme's palette. */
struct gt_hue gt_panel_color(const struct gt_canvas *c, size_t number);

/* Sizes of a panel's letters, derived from its box. For the files that draw panels. */
struct gt_type {
	double title, text; /* sizes */
	double gap;         /* between related items */
};

struct gt_type gt_type_for(struct gt_box box);
/* Draws axes, their labels and curves into `box`. */
void gt_curves_draw(struct gt_canvas *c, const struct gt_panel *p, struct gt_box box,
		    const struct gt_type *type);
