/* SPDX-License-Identifier: MIT */
/* tracker_picture.c - the resource tracker's twelve charts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "plot/picture.h"
#include "plot/scale.h"
#include "plot/tracker_text.h"

enum {
	ROWS = 4,
	COLUMNS = 3,
	TOP_BARS = 10,
	TOP_CURVES = 5,
	DWARFS = 4, /* a curve so many times as high as the others has an axis of its own */
};

static const double mb_per_kb = 1.0 / 1024, s_per_ms = 0.001;

/* The data of the charts. */
struct charts {
	struct gt_canvas *canvas;
	struct gt_tracker_table *table;
	struct gt_bar bars[TOP_BARS];
	char text[128], creep[160];
};

static void put_bars(struct charts *ch, struct gt_panel *p, gt_call_rank *rank, struct gt_hue rise,
		     struct gt_hue fall)
{
	size_t count;
	struct gt_call_stats **list = gt_calls_ranked(ch->table, rank, &count);

	for (size_t i = 0; i < count && i < TOP_BARS; i++) {
		double value = rank(list[i]);

		ch->bars[i] = (struct gt_bar){ .name = list[i]->name,
					       .value = value,
					       .color = value < 0 ? fall : rise };
		p->bar_count = i + 1;
	}
	p->bars = ch->bars;
	if (!p->bar_count)
		p->message = "no call changed the process's memory";
	free(list);
}

/* A curve over the whole time of the table, which all such charts share. */
static struct gt_curve *add_curve(struct charts *ch, struct gt_panel *p, const char *name,
				  enum gt_mark mark, struct gt_trail *trail, double y_by)
{
	struct gt_curve *curve =
		gt_panel_curve(p, name, mark, trail, gt_panel_color(ch->canvas, p->curve_count));

	p->x_label = "Time";
	p->x_is_time = true;
	p->x_high = (ch->table->last_ms - ch->table->first_ms) * s_per_ms;
	curve->x_by = s_per_ms;
	curve->x_from = -ch->table->first_ms;
	curve->y_by = y_by;
	return curve;
}

static void put_unknown(struct charts *ch, struct gt_panel *p)
{
	char megabytes[GT_REAL_MAX], calls[GT_FORMAT_MAX];

	p->message = "Cannot be told from this CSV";
	if (ch->table->rises)
		snprintf(ch->creep, sizeof ch->creep,
			 "%s MB in %s %s since the row before, maybe the program's own",
			 gt_real_format(megabytes, ch->table->rise_kb * mb_per_kb, 2),
			 gt_format_count(calls, ch->table->rises),
			 gt_plural(ch->table->rises, "call", "calls"));
	else
		gt_creep_format(ch->creep, sizeof ch->creep, ch->table->creeps);
	p->subtitle = ch->creep;
}

/* No leak by the rule; all is well only if many small increases do not add up to a big one. */
static void put_no_leak(struct charts *ch, struct gt_panel *p)
{
	if (gt_tracker_cannot_tell(ch->table)) {
		put_unknown(ch, p);
		return;
	}
	if (!ch->table->creeps) {
		/* the rule for deltas does not see what the driver keeps of a creation */
		p->message = ch->table->basis == GT_BASIS_RESIDUE ? "No memory leaks detected" :
								    "No leak events";
		p->tone = GT_TONE_GOOD;
		if (ch->table->residue_kb > 0) {
			snprintf(ch->text, sizeof ch->text, "%g KB left behind by the driver",
				 ch->table->residue_kb);
			p->subtitle = ch->text;
		}
		return;
	}
	snprintf(ch->text, sizeof ch->text, "No single increase above %g KB",
		 ch->table->threshold_kb);
	p->message = ch->text;
	gt_creep_format(ch->creep, sizeof ch->creep, ch->table->creeps);
	p->subtitle = ch->creep;
}

/* The sum of all leaks as the subtitle: `format` takes megabytes, a count and a noun. */
static void put_leak_sum(struct charts *ch, struct gt_panel *p, const char *format)
{
	char megabytes[GT_REAL_MAX], events[GT_FORMAT_MAX];

	snprintf(ch->text, sizeof ch->text, format,
		 gt_real_format(megabytes, ch->table->leak_kb * mb_per_kb, 2),
		 gt_format_count(events, ch->table->leak_events),
		 gt_plural(ch->table->leak_events, "event", "events"));
	p->subtitle = ch->text;
}

static void draw_leaked(struct charts *ch, struct gt_panel *p)
{
	struct gt_curve *curve;

	if (!ch->table->leak_events) {
		put_no_leak(ch, p);
		return;
	}
	p->tone = GT_TONE_ALARM;
	add_curve(ch, p, "cumulative leak", GT_MARK_STEPS, &ch->table->leaked, mb_per_kb)->color =
		ch->canvas->theme->red;
	curve = add_curve(ch, p, "leak event", GT_MARK_DOTS, &ch->table->leaks, mb_per_kb);
	curve->color = ch->canvas->theme->red;
	curve->value = 1;
	put_leak_sum(ch, p, "%s MB leaked in %s %s");
}

static void draw_leaks_by_call(struct charts *ch, struct gt_panel *p)
{
	put_bars(ch, p, gt_call_by_leak, ch->canvas->theme->red, ch->canvas->theme->red);
	if (p->bar_count)
		p->tone = GT_TONE_ALARM;
	else
		put_no_leak(ch, p);
}

static double greatest(const struct gt_trail *t)
{
	double most = 0;

	for (size_t i = 0; i < t->count; i++)
		most = fmax(most, fabs(gt_trail_value(t, i, 0)));
	return most;
}

/* VmSize as dots: address space comes in larger and fewer pieces than memory that is used. */
static void draw_deltas(struct charts *ch, struct gt_panel *p)
{
	double size = greatest(&ch->table->size_deltas), rss = greatest(&ch->table->deltas);
	struct gt_curve *curve;

	curve = gt_panel_curve(p, "delta of VmRSS", GT_MARK_STEMS, &ch->table->deltas,
			       gt_panel_color(ch->canvas, 5));
	p->subtitle = size > 0 ? "decreases point down" : "change of VmRSS; decreases point down";
	p->x_label = "Call number";
	curve->falls = gt_panel_color(ch->canvas, 0);
	curve->y_by = mb_per_kb;
	if (size > 0) {
		curve = gt_panel_curve(p, "delta of VmSize", GT_MARK_DOTS, &ch->table->size_deltas,
				       gt_panel_color(ch->canvas, 3));
		curve->y_by = mb_per_kb;
		curve->on_right = rss > 0 && size > DWARFS * rss;
		curve->name = curve->on_right ? "delta of VmSize (right axis)" : curve->name;
		p->right_label = "Delta of VmSize (MB)";
	}
}

/* A driver may reserve many times the memory that the process uses: 25 GB are normal. */
static void draw_memory(struct charts *ch, struct gt_panel *p)
{
	struct gt_tracker_table *t = ch->table;
	struct gt_curve *size;

	add_curve(ch, p, "VmRSS", GT_MARK_STEPS, &t->curves[GT_CURVE_RSS], mb_per_kb);
	size = add_curve(ch, p, "VmSize", GT_MARK_STEPS, &t->curves[GT_CURVE_SIZE], mb_per_kb);
	if (t->peak[GT_CURVE_SIZE] > DWARFS * fmax(t->peak[GT_CURVE_RSS], t->peak[GT_CURVE_DATA])) {
		size->on_right = true;
		size->name = "VmSize (right axis)";
		p->right_label = "VmSize (MB)";
	}
	add_curve(ch, p, "VmData", GT_MARK_STEPS, &t->curves[GT_CURVE_DATA], mb_per_kb);
}

static void draw_cumulative(struct charts *ch, struct gt_panel *p)
{
	size_t count;
	struct gt_call_stats **list = gt_calls_ranked(ch->table, gt_call_by_impact, &count);

	for (size_t i = 0; i < count && i < TOP_CURVES; i++)
		add_curve(ch, p, list[i]->name, GT_MARK_STEPS, &list[i]->impact, mb_per_kb);
	if (!count)
		p->message = "no call changed the process's memory";
	free(list);
}

static void draw_leak_events(struct charts *ch, struct gt_panel *p)
{
	struct gt_tracker_table *t = ch->table;

	if (!t->leak_events) {
		if (gt_tracker_cannot_tell(t)) {
			put_unknown(ch, p);
			return;
		}
		p->message = "No leak events";
		p->tone = t->creeps ? p->tone : GT_TONE_GOOD;
		return;
	}
	p->tone = GT_TONE_ALARM;
	add_curve(ch, p, "leaked per millisecond", GT_MARK_STEMS, &t->moments, mb_per_kb)->color =
		ch->canvas->theme->red;
	put_leak_sum(ch, p, "Total: %s MB in %s %s");
}

/* A chart: drawn by its own function, or bars of the calls by rank, or columns over time. */
struct chart {
	const char *title, *label; /* label: of the values' axis */
	void (*draw)(struct charts *ch, struct gt_panel *p);
	gt_call_rank *rank; /* of bars */
	struct {
		const char *name;
		enum gt_tracker_curve curve;
	} curves[4];
	double by;
	bool whole_numbers, is_area;
};

/* In the order of the original tracker's grid, row by row. */
/* clang-format off */
static const struct chart charts[ROWS * COLUMNS] = {
	{ .title = "Memory Leak Detection Over Time", .label = "Total leaked (MB)",
	  .draw = draw_leaked },
	{ .title = "System Memory Usage Over Time", .label = "Memory (MB)", .draw = draw_memory },
	{ .title = "Memory Leaks by API Call", .label = "Total leaked (MB)",
	  .rank = gt_call_by_leak, .draw = draw_leaks_by_call },
	{ .title = "Memory Deltas Per API Call", .label = "Delta (MB)", .draw = draw_deltas },
	{ .title = "Resource Counts", .label = "Alive", .by = 1, .whole_numbers = true,
	  .curves = { { "Contexts", GT_CURVE_CONTEXTS }, { "Command queues", GT_CURVE_QUEUES },
		      { "Modules", GT_CURVE_MODULES }, { "Kernels", GT_CURVE_KERNELS } } },
	{ .title = "Command Lists and Events", .label = "Alive", .by = 1, .whole_numbers = true,
	  .curves = { { "Command lists", GT_CURVE_LISTS }, { "Event pools", GT_CURVE_POOLS },
		      { "Events", GT_CURVE_EVENTS } } },
	{ .title = "Total Memory Allocations", .label = "Allocated through the API (MB)",
	  .by = 1.0 / (1 << 20), .is_area = true, .curves = { { "allocated", GT_CURVE_MEMORY } } },
	{ .title = "Top 10 Most Frequent API Calls", .label = "Calls", .rank = gt_call_by_count,
	  .whole_numbers = true },
	{ .title = "Top 10 API Calls by Memory Impact", .label = "Sum of deltas (MB)",
	  .rank = gt_call_by_impact },
	{ .title = "Top 10 API Calls by Avg Memory per Call", .label = "Average delta (MB)",
	  .rank = gt_call_by_average },
	{ .title = "Cumulative Memory Impact by Top 5 APIs", .label = "Sum of deltas (MB)",
	  .draw = draw_cumulative },
	{ .title = "Individual Leak Events Timeline", .label = "Leak (MB)",
	  .draw = draw_leak_events },
};
/* clang-format on */

static void draw_chart(struct charts *ch, const struct chart *chart, struct gt_panel *p)
{
	bool counts = chart->curves[0].curve == GT_CURVE_CONTEXTS;

	p->title = counts && ch->table->is_levelzero ? "L0 Resource Counts" : chart->title;
	*(chart->rank ? &p->x_label : &p->y_label) = chart->label;
	p->whole_numbers = chart->whole_numbers;
	if (chart->draw)
		chart->draw(ch, p);
	else if (chart->rank)
		put_bars(ch, p, chart->rank,
			 gt_panel_color(ch->canvas, chart->whole_numbers ? 0 : 5),
			 gt_panel_color(ch->canvas, 0));
	for (size_t i = 0; i < 4 && chart->curves[i].name; i++) {
		struct gt_curve *curve = add_curve(
			ch, p, chart->curves[i].name, chart->is_area ? GT_MARK_AREA : GT_MARK_STEPS,
			&ch->table->curves[chart->curves[i].curve], chart->by);

		if (!chart->whole_numbers)
			continue;
		curve->averages = &ch->table->averages[chart->curves[i].curve];
		if (gt_averages_is_dense(curve->averages))
			p->subtitle = "bands: lowest to highest; lines: averages";
	}
}

/* False for a chart whose columns are missing in the file. */
static bool has_points(const struct gt_panel *p)
{
	for (size_t i = 0; i < p->curve_count; i++)
		if (p->curves[i].trail->count)
			return true;
	return p->bar_count || p->message;
}

/* What is called a leak in this file. */
static void put_rule(char *out, size_t size, const struct gt_tracker_table *t)
{
	switch (t->basis) {
	case GT_BASIS_RESIDUE:
		snprintf(out, size, "a leak is driver residue above %g KB in all", t->threshold_kb);
		break;
	case GT_BASIS_CALL:
		snprintf(out, size,
			 "a leak is a destroying call that raises VmRSS by more than %g KB",
			 t->threshold_kb);
		break;
	case GT_BASIS_NONE:
		snprintf(out, size,
			 "deltas include the program's own memory; leaks need --csv-more");
		break;
	}
}

void gt_tracker_draw(struct gt_canvas *c, struct gt_tracker_table *t, const char *name)
{
	struct charts ch = { .canvas = c, .table = t };
	char rows[GT_FORMAT_MAX], span[GT_FORMAT_MAX], rule[96], head[200];
	struct gt_box box;

	put_rule(rule, sizeof rule, t);
	snprintf(head, sizeof head, "%s tracked %s in %s; %s", gt_format_count(rows, t->rows),
		 gt_plural(t->rows, "call", "calls"),
		 gt_format_span(span, gt_whole((t->last_ms - t->first_ms) * 1e6)), rule);
	box = gt_picture_head(c, name, head);
	for (unsigned i = 0; i < ROWS * COLUMNS; i++) {
		struct gt_panel panel = { 0 };

		draw_chart(&ch, &charts[i], &panel);
		if (!has_points(&panel))
			panel.message = "the file has no columns for this chart";
		gt_panel_draw(c, &panel, gt_picture_cell(box, ROWS, COLUMNS, i));
	}
}
