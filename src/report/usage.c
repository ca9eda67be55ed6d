/* SPDX-License-Identifier: MIT */
/* usage.c - device memory over time: a chart of characters, points, rows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/head.h"
#include "replay/local_time.h"
#include "replay/nsight_words.h"
#include "replay/replay.h"
#include "report/analyses.h"
#include "report/breakdown_text.h"

enum { CHART_ROWS = 12, LABEL = 11, EIGHTHS = 8 };

static const char *const blocks[EIGHTHS + 1] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const plain[EIGHTHS + 1] = { " ", ".", ".", ".", ":", ":", ":", "#", "#" };

/* Heights of the columns in eighths of a row; any value above 0 has at least one. */
static unsigned *heights(const struct gt_timeline *t, unsigned columns, unsigned rows, uint64_t top)
{
	unsigned *high = gt_alloc(columns * sizeof *high);

	for (unsigned i = 0; i < columns; i++) {
		uint64_t from = (uint64_t)((double)t->end_ns * i / columns);
		uint64_t to = (uint64_t)((double)t->end_ns * (i + 1) / columns) + 1;
		uint64_t most = gt_timeline_most(t, from, to);

		high[i] = (unsigned)((double)most / (double)top * rows * EIGHTHS + 0.5);
		if (most && !high[i])
			high[i] = 1;
	}
	return high;
}

static void put_chart_row(struct gt_printer *p, const unsigned *high, unsigned columns,
			  unsigned row)
{
	const char *const *glyphs = p->style.utf8 ? blocks : plain;

	/* no blanks at the end of a line */
	while (columns && high[columns - 1] <= row * EIGHTHS)
		columns--;
	for (unsigned i = 0; i < columns; i++) {
		unsigned above = high[i] > row * EIGHTHS ? high[i] - row * EIGHTHS : 0;

		gt_print_name(p, GT_PLAIN, glyphs[above > EIGHTHS ? EIGHTHS : above], 1);
	}
}

static void put_axis(struct gt_printer *p, const struct gt_timeline *t, unsigned columns)
{
	char text[GT_FORMAT_MAX];

	gt_print_tab(p, LABEL);
	gt_print_name(p, GT_DIM, p->style.utf8 ? "└" : "+", 1);
	for (unsigned i = 0; i < columns; i++)
		gt_print_name(p, GT_DIM, p->style.utf8 ? "─" : "-", 1);
	gt_print_end(p);
	gt_print_tab(p, LABEL + 1);
	gt_print_put(p, GT_DIM, "0 s");
	gt_print_right(p, GT_DIM, gt_format_span(text, t->end_ns / 2), LABEL + 1 + columns / 2);
	gt_print_right(p, GT_DIM, gt_format_span(text, t->end_ns), LABEL + 1 + columns);
	gt_print_end(p);
}

/* `rows` lines high, as wide as the page, with both axes labelled. */
static void put_chart(struct gt_printer *p, const struct gt_timeline *t, unsigned rows)
{
	unsigned columns = p->style.width - LABEL - 2, *high;
	uint64_t top = gt_timeline_most(t, 0, UINT64_MAX);
	char text[GT_FORMAT_MAX];

	high = heights(t, columns, rows, top ? top : 1);
	for (unsigned row = rows; row-- > 0;) {
		if (row + 1 == rows || row + 1 == rows / 2)
			gt_print_right(p, GT_DIM,
				       gt_format_bytes(text, row + 1 == rows ? top : top / 2),
				       LABEL - 1);
		gt_print_tab(p, LABEL);
		gt_print_name(p, GT_DIM, p->style.utf8 ? "│" : "|", 1);
		put_chart_row(p, high, columns, row);
		gt_print_end(p);
	}
	put_axis(p, t, columns);
	free(high);
}

void gt_usage_text(const struct gt_view *v, FILE *out)
{
	const struct gt_timeline *t = v->timeline;
	const struct gt_ledger *l = v->ledger;
	char text[GT_FORMAT_MAX], when[GT_FORMAT_MAX], mean[GT_FORMAT_MAX], end[GT_FORMAT_MAX];
	struct gt_split split;
	struct gt_printer p;

	gt_head_open(&p, out, v);
	gt_print_line(&p, GT_BOLD, "DEVICE MEMORY over time");
	if (!l->peak_bytes) {
		gt_print_wrap(&p, GT_PLAIN, 2, "none allocated");
		return;
	}
	put_chart(&p, t, CHART_ROWS);
	gt_print_end(&p);
	gt_print_wrap(&p, GT_PLAIN, 2, "peak %s at %s, average %s, at the end %s",
		      gt_format_bytes(text, l->peak_bytes),
		      gt_format_span(when, gt_view_elapsed(v, l->peak_ns)),
		      gt_format_bytes(mean, gt_timeline_mean(t)),
		      gt_format_bytes(end, l->device_bytes));
	gt_origins_text(&p, v, l->breakdown.origins_at_peak, "at the peak");
	gt_split_now(&split, v, l);
	gt_split_text(&p, v, &split, "at the end");
	gt_split_fini(&split);
	if (l->host_bytes)
		gt_print_wrap(&p, GT_PLAIN, 2, "host memory at the end: %s",
			      gt_format_bytes(text, l->host_bytes));
}

static void point_json(struct gt_json *j, const char *key, const struct gt_moment *m)
{
	gt_json_line(j, key);
	gt_json_uint(j, "time_ns", m->time_ns);
	gt_json_uint(j, "device_bytes", m->device_bytes);
	gt_json_uint(j, "host_bytes", m->host_bytes);
	gt_json_uint(j, "objects", m->objects);
	gt_json_end(j);
}

/* The state at the very end is a point too, unless it is the highest moment of the last row. */
static void points_json(struct gt_json *j, const struct gt_timeline *t)
{
	struct gt_moment peak = t->now;

	gt_json_array(j, "points");
	for (size_t i = 0; i < t->series.count; i++) {
		peak = gt_timeline_peak(t, i);
		point_json(j, NULL, &peak);
	}
	if (memcmp(&peak, &t->now, sizeof peak))
		point_json(j, NULL, &t->now);
	gt_json_end(j);
}

void gt_usage_json(const struct gt_view *v, FILE *out)
{
	const struct gt_ledger *l = v->ledger;
	struct gt_tally total = gt_ledger_total(l);
	struct gt_split split;
	struct gt_json j;

	gt_head_json(&j, out, v, "usage");
	gt_totals_json(&j, total.live, total.bytes_live);
	gt_json_line(&j, "peak");
	gt_json_int(&j, "time_ns", l->peak_bytes ? gt_view_time(v, l->peak_ns) : 0);
	gt_json_uint(&j, "device_bytes", l->peak_bytes);
	gt_json_uint(&j, "objects", l->peak_live);
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		gt_json_uint(&j, gt_origin_names[i], l->breakdown.origins_at_peak[i]);
	gt_json_end(&j);
	gt_split_now(&split, v, l);
	gt_split_json(&j, v, &split);
	gt_split_fini(&split);
	gt_json_uint(&j, "mean_device_bytes", gt_timeline_mean(v->timeline));
	gt_json_uint(&j, "end_ns", v->timeline->end_ns);
	points_json(&j, v->timeline);
	gt_foot_json(&j, v);
}

/*
 * Rows are written while the recording is replayed, for there are as many as events. Each is a
 * moment at which device memory was allocated or freed, timed from the first: Nsight's columns,
 * then host memory and objects at that moment. The first row has the wall clock, too.
 */
struct rows {
	FILE *out;
	const struct gt_recording *recording;
	uint64_t start_ns; /* of the first row */
	uint64_t time_ns;  /* of the row that is still open, from then on */
	uint64_t device_bytes, host_bytes, objects;
	uint64_t origins[GT_ORIGIN_COUNT];
	bool begun, open;
};

static void put_row(struct rows *rows)
{
	char clock[GT_LOCAL_TIME];

	if (!rows->open)
		return;
	fprintf(rows->out, "%" PRIu64 "\t%" PRIu64, rows->time_ns, rows->device_bytes);
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		fprintf(rows->out, "\t%" PRIu64, rows->origins[i]);
	fprintf(rows->out, "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", rows->host_bytes, rows->objects,
		rows->time_ns ? "-" : gt_local_time(clock, rows->recording, rows->start_ns));
	rows->open = false;
}

/* True when the event allocated or freed device memory, or changed it in any other way. */
static bool concerns_device(const struct rows *rows, const struct gt_ledger *l,
			    const struct gt_event *event)
{
	const struct gt_function *fn = &gt_functions[event->function];

	if (l->device_bytes != rows->device_bytes)
		return true;
	return !event->failed && !event->unfinished &&
	       (fn->effect == GT_CREATE || gt_function_ends(fn)) &&
	       gt_kind_on_device((enum gt_kind)fn->kind);
}

static void add_moment(struct rows *rows, const struct gt_ledger *l, uint64_t time_ns)
{
	uint64_t time;

	if (!rows->begun)
		rows->start_ns = time_ns;
	rows->begun = true;
	time = time_ns > rows->start_ns ? time_ns - rows->start_ns : 0;
	/* streams are merged by key: an earlier time that strays in belongs to the open row */
	if (time < rows->time_ns)
		time = rows->time_ns;
	if (time != rows->time_ns)
		put_row(rows);
	rows->time_ns = time;
	rows->device_bytes = l->device_bytes;
	rows->host_bytes = l->host_bytes;
	rows->objects = l->live.count - l->gone;
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		rows->origins[i] = l->breakdown.origins[i].bytes;
	rows->open = true;
}

static void add_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		      uint32_t process)
{
	struct rows *rows = context;

	if (concerns_device(rows, l, event))
		add_moment(rows, l, event->time_ns);
}

/* The memory of a process goes with it. */
static void process_ended(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct rows *rows = context;

	if (l->device_bytes != rows->device_bytes)
		add_moment(rows, l, time_ns);
}

void gt_usage_tsv(const struct gt_view *v, FILE *out)
{
	struct rows rows = { .out = out, .recording = v->recording };

	fputs("time(ns)\ttotal (B)\tvalid (B)\tinvalid (B)\tdriver (B)\thost (B)\tobjects"
	      "\tlocal time\n",
	      out);
	gt_ledger_free(gt_replay_run(v->recording, &(struct gt_replay){ .each = add_event,
									.ended = process_ended,
									.context = &rows,
									.tick = v->tick }));
	put_row(&rows); /* the last moment */
}
