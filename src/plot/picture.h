/* SPDX-License-Identifier: MIT */
/*
 * picture.h - the pictures of `gputrack plot`.
 *
 * A picture is drawn on a canvas and accompanied by a few lines of text with its main figures.
 * Names are foreign text: both clean them.
 */
#pragma once

#include "plot/alive_over_time.h"
#include "plot/panel.h"
#include "plot/read_charts.h"
#include "plot/read_monitor.h"
#include "plot/read_smi.h"
#include "plot/read_tracker.h"
#include "plot/read_usage.h"
#include "replay/memory_series.h"
#include "replay/view.h"

/* Default sizes. */
/* clang-format off */
enum {
	GT_TRACKER_WIDTH = 1800, GT_TRACKER_HEIGHT = 1840,
	GT_USAGE_WIDTH = 1400, GT_USAGE_HEIGHT = 700,
	GT_MONITOR_WIDTH = 1400, GT_MONITOR_HEIGHT = 1100,
	GT_RECORDING_WIDTH = 1600, GT_RECORDING_HEIGHT = 1280,
	GT_MEMORY_HEIGHT = 460, /* more, if the chart of the device's memory is drawn */
	GT_CHARTS_WIDTH = 1600, GT_CHARTS_HEAD = 70, GT_CHARTS_ROW = 520, /* each two charts */
};
/* clang-format on */

/* Draws the head of a picture; returns the remaining box. */
struct gt_box gt_picture_head(struct gt_canvas *c, const char *title, const char *subtitle);

/* The n-th of rows × columns equal boxes with a small gap between them. */
struct gt_box gt_picture_cell(struct gt_box box, unsigned rows, unsigned columns, unsigned n);

/* "Skipped: 3 damaged rows, the first is line 4"; nothing for none. */
void gt_picture_damage(FILE *out, uint64_t bad, uint64_t first_line);

/* The unit in which bytes up to `most` are shown, and how many bytes it is. */
const char *gt_picture_unit(double most, double *bytes);

/* The tracker's twelve charts; statistics and leaks. `name`: of the file. */
void gt_tracker_draw(struct gt_canvas *c, struct gt_tracker_table *t, const char *name);
void gt_tracker_text(const struct gt_tracker_table *t, FILE *out, bool utf8);

/* How nvidia-smi's clock was aligned with the other. */
enum gt_alignment {
	GT_ALIGN_CLOCKS, /* both have real time */
	GT_ALIGN_SHAPE,  /* shifted to where both rise and fall together */
	GT_ALIGN_START,  /* neither helps: both begin at 0 */
};

struct gt_overlay {
	struct gt_smi_log *log;
	enum gt_alignment how;
	double shift_s; /* add this to the log's seconds */
	double end_s;   /* of the other; the log is shown a little beyond it */
	char text[192]; /* a sentence about the alignment */
};

/*
 * `start_s`: real time at which the other's seconds begin, 0: unknown; `end_s`: its last second;
 * `usage`: its device memory, the first value of each point.
 */
void gt_overlay_align(struct gt_overlay *o, double start_s, double end_s,
		      const struct gt_trail *usage);
/* Adds the log's curve, in bytes times `by`. */
void gt_overlay_add(struct gt_overlay *o, struct gt_panel *p, const struct gt_canvas *c, double by,
		    char name[96]);
/* The log's main figures, and the alignment. */
void gt_overlay_text(const struct gt_overlay *o, FILE *out, bool utf8);

/* Bytes over time, with nvidia-smi's curve if there is a log. */
void gt_usage_draw(struct gt_canvas *c, struct gt_usage_table *t, struct gt_overlay *overlay,
		   const char *name);
void gt_usage_table_text(const struct gt_usage_table *t, FILE *out);

void gt_monitor_draw(struct gt_canvas *c, struct gt_monitor_table *t, const char *name);
void gt_monitor_text(const struct gt_monitor_table *t, FILE *out, bool utf8);

/* The charts of a table of points; x is logarithmic if it spans two powers of ten. */
double gt_charts_height(const struct gt_chart_table *t);
void gt_charts_draw(struct gt_canvas *c, struct gt_chart_table *t, const char *name);
void gt_charts_text(const struct gt_chart_table *t, FILE *out, bool utf8);

/* Live bytes and objects by kind, the peak, leaks, call sites. */
struct gt_recording_parts {
	struct gt_alive_over_time *history;
	const struct gt_memory_series *memory; /* NULL: not drawn */
	struct gt_overlay *overlay;            /* may be NULL */
	const char *name;
};
void gt_recording_draw(struct gt_canvas *c, const struct gt_view *v,
		       const struct gt_recording_parts *parts);
void gt_recording_text(const struct gt_view *v, FILE *out);

/* The parts of a device's memory over time; of the one that ran out, or was used most. */
void gt_memory_draw(struct gt_canvas *c, const struct gt_view *v, const struct gt_memory_series *s,
		    double end_s, struct gt_box box);
/* The same where it is highest, or ran out, in one line. */
void gt_memory_words(const struct gt_view *v, const struct gt_memory_series *s, FILE *out);
