/* SPDX-License-Identifier: MIT */
/* tracker_picture.c - the resource tracker's twelve charts, and its statistics in words. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "plot/picture.h"
#include "plot/scale.h"

enum { ROWS = 4, COLUMNS = 3, TOP_BARS = 10, TOP_CURVES = 5 };

static const double mb_per_kb = 1.0 / 1024, s_per_ms = 0.001;

/* The data of the charts. */
struct charts {
	struct gt_canvas *canvas;
	struct gt_tracker_table *table;
	struct gt_bar bars[TOP_BARS];
	char text[128], creep[160];
};

typedef double rank_fn(const struct gt_call_stats *call);

static double by_count(const struct gt_call_stats *call)
{
	return (double)call->count;
}

static double by_impact(const struct gt_call_stats *call)
{
	return call->delta_kb * mb_per_kb;
}

static double by_average(const struct gt_call_stats *call)
{
	return call->delta_kb * mb_per_kb / (double)call->count;
}

static double by_leak(const struct gt_call_stats *call)
{
	return call->leak_kb * mb_per_kb;
}

static int biggest_first(const void *a, const void *b, void *rank)
{
	const struct gt_call_stats *x = *(struct gt_call_stats *const *)a;
	const struct gt_call_stats *y = *(struct gt_call_stats *const *)b;
	double p = fabs((*(rank_fn *const *)rank)(x)), q = fabs((*(rank_fn *const *)rank)(y));

	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The calls by magnitude, without those that are 0; the caller frees the list. */
static struct gt_call_stats **ranked(const struct gt_tracker_table *t, rank_fn *rank, size_t *count)
{
	struct gt_call_stats **list = gt_alloc(t->call_count * sizeof(struct gt_call_stats *));

	*count = 0;
	for (size_t i = 0; i < t->call_count; i++)
		if (rank(&t->calls[i]) != 0)
			list[(*count)++] = &t->calls[i];
	qsort_r(list, *count, sizeof(struct gt_call_stats *), biggest_first, &rank);
	return list;
}

static void put_bars(struct charts *ch, struct gt_panel *p, rank_fn *rank, struct gt_hue rise,
		     struct gt_hue fall)
{
	size_t count;
	struct gt_call_stats **list = ranked(ch->table, rank, &count);

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

/* "zeFenceDestroy: 6.25 MB in 100 calls" */
static void put_creep(char *out, size_t size, const struct gt_call_stats *call)
{
	char megabytes[GT_REAL_MAX], calls[GT_FORMAT_MAX];

	snprintf(out, size, "%.100s: %s MB in %s %s", call->name,
		 gt_real_format(megabytes, gt_call_creep(call) * mb_per_kb, 2),
		 gt_format_count(calls, call->count - call->leaks),
		 gt_plural(call->count - call->leaks, "call", "calls"));
}

/* No leak by the rule; all is well only if many small increases do not add up to a big one. */
static void put_no_leak(struct charts *ch, struct gt_panel *p)
{
	if (!ch->table->creeps) {
		p->message = "No memory leaks detected";
		p->tone = GT_TONE_GOOD;
		return;
	}
	snprintf(ch->text, sizeof ch->text, "No single increase above %g KB",
		 ch->table->threshold_kb);
	p->message = ch->text;
	put_creep(ch->creep, sizeof ch->creep, ch->table->creeps);
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
	put_bars(ch, p, by_leak, ch->canvas->theme->red, ch->canvas->theme->red);
	if (p->bar_count)
		p->tone = GT_TONE_ALARM;
	else
		put_no_leak(ch, p);
}

static void draw_deltas(struct charts *ch, struct gt_panel *p)
{
	struct gt_curve *curve = gt_panel_curve(p, "delta", GT_MARK_STEMS, &ch->table->deltas,
						gt_panel_color(ch->canvas, 5));

	p->subtitle = "change of VmRSS; decreases point down";
	p->x_label = "Call number";
	curve->falls = gt_panel_color(ch->canvas, 0);
	curve->y_by = mb_per_kb;
}

static void draw_cumulative(struct charts *ch, struct gt_panel *p)
{
	size_t count;
	struct gt_call_stats **list = ranked(ch->table, by_impact, &count);

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
	rank_fn *rank; /* of bars */
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
	{ .title = "System Memory Usage Over Time", .label = "Memory (MB)", .by = 1.0 / 1024,
	  .curves = { { "VmRSS", GT_CURVE_RSS }, { "VmSize", GT_CURVE_SIZE },
		      { "VmData", GT_CURVE_DATA } } },
	{ .title = "Memory Leaks by API Call", .label = "Total leaked (MB)", .rank = by_leak,
	  .draw = draw_leaks_by_call },
	{ .title = "Memory Deltas Per API Call", .label = "Delta (MB)", .draw = draw_deltas },
	{ .title = "Resource Counts", .label = "Alive", .by = 1, .whole_numbers = true,
	  .curves = { { "Contexts", GT_CURVE_CONTEXTS }, { "Command queues", GT_CURVE_QUEUES },
		      { "Modules", GT_CURVE_MODULES }, { "Kernels", GT_CURVE_KERNELS } } },
	{ .title = "Command Lists and Events", .label = "Alive", .by = 1, .whole_numbers = true,
	  .curves = { { "Command lists", GT_CURVE_LISTS }, { "Event pools", GT_CURVE_POOLS },
		      { "Events", GT_CURVE_EVENTS } } },
	{ .title = "Total Memory Allocations", .label = "Allocated through the API (MB)",
	  .by = 1.0 / (1 << 20), .is_area = true, .curves = { { "allocated", GT_CURVE_MEMORY } } },
	{ .title = "Top 10 Most Frequent API Calls", .label = "Calls", .rank = by_count,
	  .whole_numbers = true },
	{ .title = "Top 10 API Calls by Memory Impact", .label = "Sum of deltas (MB)",
	  .rank = by_impact },
	{ .title = "Top 10 API Calls by Avg Memory per Call", .label = "Average delta (MB)",
	  .rank = by_average },
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
	for (size_t i = 0; i < 4 && chart->curves[i].name; i++)
		add_curve(ch, p, chart->curves[i].name,
			  chart->is_area ? GT_MARK_AREA : GT_MARK_STEPS,
			  &ch->table->curves[chart->curves[i].curve], chart->by);
}

/* False for a chart whose columns are missing in the file. */
static bool has_points(const struct gt_panel *p)
{
	for (size_t i = 0; i < p->curve_count; i++)
		if (p->curves[i].trail->count)
			return true;
	return p->bar_count || p->message;
}

void gt_tracker_draw(struct gt_canvas *c, struct gt_tracker_table *t, const char *name)
{
	struct charts ch = { .canvas = c, .table = t };
	char rows[GT_FORMAT_MAX], span[GT_FORMAT_MAX], head[160];
	struct gt_box box;

	snprintf(head, sizeof head,
		 "%s tracked %s in %s; a leak is a destroying call that raises VmRSS by more than "
		 "%g KB",
		 gt_format_count(rows, t->rows), gt_plural(t->rows, "call", "calls"),
		 gt_format_span(span, gt_whole((t->last_ms - t->first_ms) * 1e6)), t->threshold_kb);
	box = gt_picture_head(c, name, head);
	for (unsigned i = 0; i < ROWS * COLUMNS; i++) {
		struct gt_panel panel = { 0 };

		draw_chart(&ch, &charts[i], &panel);
		if (!has_points(&panel))
			panel.message = "the file has no columns for this chart";
		gt_panel_draw(c, &panel, gt_picture_cell(box, ROWS, COLUMNS, i));
	}
}

static void put_statistics(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	static const struct {
		const char *name;
		enum gt_tracker_curve curve;
		double by;
	} peaks[] = {
		{ "Peak VmRSS", GT_CURVE_RSS, 1.0 / 1024 },
		{ "Peak VmSize", GT_CURVE_SIZE, 1.0 / 1024 },
		{ "Peak VmData", GT_CURVE_DATA, 1.0 / 1024 },
		{ "Peak memory allocated", GT_CURVE_MEMORY, 1.0 / (1 << 20) },
	};
	char text[GT_REAL_MAX];
	size_t count;
	struct gt_call_stats **list = ranked(t, by_count, &count);

	fputs("=== SUMMARY STATISTICS ===\n", out);
	fprintf(out, "Total API calls: %s\n", gt_format_count(text, t->rows));
	fprintf(out, "Different APIs: %s\n", gt_format_count(text, t->call_count));
	fprintf(out, "Duration: %s ms\n", gt_real_format(text, t->last_ms - t->first_ms, 0));
	for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
		if (t->curves[peaks[i].curve].count)
			fprintf(out, "%s: %s MB\n", peaks[i].name,
				gt_real_format(text, t->peak[peaks[i].curve] * peaks[i].by, 2));
	fprintf(out, "VmRSS, first row to last: %s%s MB\n", t->last_rss > t->first_rss ? "+" : "",
		gt_real_format(text, (t->last_rss - t->first_rss) / 1024, 2));
	fputs("Most frequent: ", out);
	gt_text_put(out, list[0]->name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
	fprintf(out, ", %s %s\n", gt_format_count(text, list[0]->count),
		gt_plural(list[0]->count, "call", "calls"));
	free(list);
	gt_picture_damage(out, t->bad_rows, t->bad_line);
	if (t->unsigned_falls)
		fprintf(out, "Signs restored: %s decreases of VmRSS were written as increases\n",
			gt_format_count(text, t->unsigned_falls));
}

/* "alive at the end: 4 kernels, 12 events, 200 KiB", if anything is; no leak by the rule. */
static void put_alive(const struct gt_tracker_table *t, FILE *out)
{
	static const struct {
		const char *one, *many;
	} words[GT_CURVE_COUNT] = {
		[GT_CURVE_CONTEXTS] = { "context", "contexts" },
		[GT_CURVE_QUEUES] = { "command queue", "command queues" },
		[GT_CURVE_MODULES] = { "module", "modules" },
		[GT_CURVE_KERNELS] = { "kernel", "kernels" },
		[GT_CURVE_POOLS] = { "event pool", "event pools" },
		[GT_CURVE_LISTS] = { "command list", "command lists" },
		[GT_CURVE_EVENTS] = { "event", "events" },
		[GT_CURVE_FENCES] = { "fence", "fences" },
		[GT_CURVE_IMAGES] = { "image", "images" },
		[GT_CURVE_SAMPLERS] = { "sampler", "samplers" },
	};
	const char *before = "alive at the end: ";
	char text[GT_FORMAT_MAX];

	for (int i = 0; i < GT_CURVE_COUNT; i++) {
		uint64_t count = words[i].one ? gt_whole(t->last[i]) : 0;

		if (!count)
			continue;
		fprintf(out, "%s%s %s", before, gt_format_count(text, count),
			gt_plural(count, words[i].one, words[i].many));
		before = ", ";
	}
	if (t->last[GT_CURVE_MEMORY] >= 1) {
		fprintf(out, "%s%s", before,
			gt_format_bytes(text, gt_whole(t->last[GT_CURVE_MEMORY])));
		before = ", ";
	}
	if (*before == ',')
		putc('\n', out);
}

void gt_tracker_text(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	size_t count;
	struct gt_call_stats **list = ranked(t, by_leak, &count);
	char text[GT_REAL_MAX], more[GT_REAL_MAX], creep[160];

	put_statistics(t, out, utf8);
	fputs("\n=== MEMORY LEAK DETECTION ===\n", out);
	if (!t->leak_events && !t->creeps) {
		fprintf(out,
			"%sNo memory leaks detected: no destroying call raised VmRSS by more than "
			"%g KB,\nnor did all calls of one function together\n",
			utf8 ? "✓ " : "", t->threshold_kb);
	} else if (!t->leak_events) {
		fprintf(out,
			"No leak events: no single destroying call raised VmRSS by more than %g KB "
			"(--threshold)\n",
			t->threshold_kb);
	} else {
		fprintf(out, "%sLEAKS DETECTED!\n", utf8 ? "⚠️  " : "");
		fprintf(out, "Total leaked memory: %s MB (%s KB)\n",
			gt_real_format(text, t->leak_kb * mb_per_kb, 2),
			gt_real_format(more, t->leak_kb, 2));
		fprintf(out, "Number of leak events: %s\n\nLeak events by API:\n",
			gt_format_count(text, t->leak_events));
	}
	for (size_t i = 0; i < count; i++) {
		fputs("  ", out);
		gt_text_put(out, list[i]->name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
		fprintf(out, ": %s events, ", gt_format_count(text, list[i]->leaks));
		fprintf(out, "%s MB total, ", gt_real_format(text, by_leak(list[i]), 2));
		fprintf(out, "%s MB avg\n",
			gt_real_format(text, by_leak(list[i]) / (double)list[i]->leaks, 2));
	}
	free(list);
	if (t->creeps) {
		put_creep(creep, sizeof creep, t->creeps);
		fputs("Small increases that add up: ", out);
		gt_text_put(out, creep, UINT32_MAX, GT_CUT_MIDDLE, utf8);
		putc('\n', out);
	}
	put_alive(t, out);
}
