/* SPDX-License-Identifier: MIT */
/* usage.c - device memory over time: a chart, points, rows. */
#include "report/usage.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "report/chart.h"
#include "replay/head.h"
#include "replay/nsight_words.h"
#include "report/breakdown_text.h"

enum { CHART_ROWS = 12 };

void gt_usage_text(const struct gt_view *v, FILE *out)
{
	const struct gt_timeline *t = v->timeline;
	const struct gt_ledger *l = v->ledger;
	uint64_t start = gt_recording_start_ns(v->recording);
	char text[GT_FORMAT_MAX], when[GT_FORMAT_MAX], mean[GT_FORMAT_MAX], end[GT_FORMAT_MAX];
	struct gt_split split;
	struct gt_printer p;

	gt_head_open(&p, out, v);
	gt_print_put(&p, GT_BOLD, "DEVICE MEMORY over time");
	gt_print_end(&p);
	if (!l->peak_bytes) {
		gt_print_wrap(&p, GT_PLAIN, 2, "none was allocated");
		return;
	}
	gt_chart_put(&p, t, CHART_ROWS);
	gt_print_end(&p);
	gt_print_wrap(&p, GT_PLAIN, 2, "peak %s at %s, average %s, at the end %s",
		      gt_format_bytes(text, l->peak_bytes),
		      gt_format_span(when, l->peak_ns > start ? l->peak_ns - start : 0),
		      gt_format_bytes(mean, gt_timeline_mean(t)),
		      gt_format_bytes(end, l->device_bytes));
	gt_origins_text(&p, v, l->shares.origins_at_peak, "at the peak");
	gt_split_now(&split, v, l);
	gt_split_text(&p, v, &split, "at the end");
	gt_split_fini(&split);
	if (l->host_bytes)
		gt_print_wrap(&p, GT_PLAIN, 2, "host memory at the end %s",
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

/* The state at the very end is a point too, unless the last stretch's highest moment is it. */
static void points_json(struct gt_json *j, const struct gt_timeline *t)
{
	const struct gt_moment *last = NULL;

	gt_json_array(j, "points");
	for (size_t i = 0; i < t->count; i++)
		if (t->stretches[i].changes) {
			point_json(j, NULL, &t->stretches[i].high);
			last = &t->stretches[i].high;
		}
	if (last && memcmp(last, &t->now, sizeof t->now))
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
		gt_json_uint(&j, gt_origin_names[i], l->shares.origins_at_peak[i]);
	gt_json_end(&j);
	gt_split_now(&split, v, l);
	gt_split_json(&j, v, &split);
	gt_split_fini(&split);
	gt_json_uint(&j, "mean_device_bytes", gt_timeline_mean(v->timeline));
	gt_json_uint(&j, "end_ns", v->timeline->end_ns);
	points_json(&j, v->timeline);
	gt_foot_json(&j, v);
}

void gt_usage_rows_begin(struct gt_usage_rows *rows, FILE *out)
{
	*rows = (struct gt_usage_rows){ .out = out };
	fputs("time(ns)\ttotal (B)\tvalid (B)\tinvalid (B)\tdriver (B)\thost (B)\tobjects\n", out);
}

static void put_row(struct gt_usage_rows *rows)
{
	if (!rows->open)
		return;
	fprintf(rows->out, "%" PRIu64 "\t%" PRIu64, rows->time_ns, rows->device_bytes);
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		fprintf(rows->out, "\t%" PRIu64, rows->origins[i]);
	fprintf(rows->out, "\t%" PRIu64 "\t%" PRIu64 "\n", rows->host_bytes, rows->objects);
	rows->open = false;
}

/* An allocation or a free of device memory, or whatever else changed it. */
static bool concerns_device(const struct gt_usage_rows *rows, const struct gt_ledger *l,
			    const struct gt_event *event)
{
	const struct gt_function *fn = &gt_functions[event->function];

	if (l->device_bytes != rows->device_bytes)
		return true;
	return !event->failed && !event->unfinished &&
	       (fn->effect == GT_CREATE || gt_function_ends(fn)) &&
	       gt_kind_on_device((enum gt_kind)fn->kind);
}

static void add_moment(struct gt_usage_rows *rows, const struct gt_ledger *l, uint64_t time_ns)
{
	uint64_t time;

	if (!rows->begun)
		rows->start_ns = time_ns;
	rows->begun = true;
	time = time_ns > rows->start_ns ? time_ns - rows->start_ns : 0;
	/* streams are merged by key, so a stray earlier time belongs to the moment before it */
	if (time < rows->time_ns)
		time = rows->time_ns;
	if (time != rows->time_ns)
		put_row(rows);
	rows->time_ns = time;
	rows->device_bytes = l->device_bytes;
	rows->host_bytes = l->host_bytes;
	rows->objects = l->live.count - l->gone;
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		rows->origins[i] = l->shares.origins[i].bytes;
	rows->open = true;
}

void gt_usage_rows_add(struct gt_usage_rows *rows, const struct gt_ledger *l,
		       const struct gt_event *event)
{
	if (concerns_device(rows, l, event))
		add_moment(rows, l, event->time_ns);
}

void gt_usage_rows_ended(struct gt_usage_rows *rows, const struct gt_ledger *l, uint64_t time_ns)
{
	if (l->device_bytes != rows->device_bytes)
		add_moment(rows, l, time_ns);
}

void gt_usage_rows_end(struct gt_usage_rows *rows)
{
	put_row(rows);
}
