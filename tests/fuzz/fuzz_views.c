/* SPDX-License-Identifier: MIT */
/* fuzz_views.c - draws every view and writes every export of any bytes taken for a trace. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "ledger/timeline.h"
#include "judge/difference.h"
#include "export/export.h"
#include "page/page.h"
#include "replay/replay.h"
#include "report/usage.h"
#include "judge/verdict.h"
#include "replay/view.h"

static FILE *nowhere;

static void draw(const struct gt_view *v, gt_view_fn *const *views)
{
	for (; *views; views++)
		(*views)(v, nowhere);
}

struct feed {
	struct gt_timeline timeline;
	struct gt_usage_rows rows;
};

static void feed_event(void *context, const struct gt_ledger *l, const struct gt_event *event)
{
	struct feed *f = context;

	gt_timeline_add(&f->timeline, &(struct gt_moment){ .time_ns = event->time_ns,
							   .device_bytes = l->device_bytes,
							   .host_bytes = l->host_bytes,
							   .objects = l->live.count - l->gone });
	gt_usage_rows_add(&f->rows, l, event);
}

static void draw_judged(struct gt_view *v)
{
	static gt_view_fn *const views[] = { gt_summary_text, gt_summary_json,
					     gt_leakage_text, gt_leakage_json,
					     gt_leaks_junit,  gt_leaks_sarif,
					     gt_leaks_github, NULL };
	struct gt_limits limits = { 0 };
	struct gt_error error;
	struct gt_verdict verdict;
	struct gt_diff diff;

	FUZZ_CHECK(!gt_limits_parse(&limits, "memory>1MiB,any", &error));
	gt_verdict_init(&verdict, v, &(struct gt_verdict_options){ .limits = &limits });
	v->verdict = &verdict;
	draw(v, views);
	v->verdict = NULL;
	gt_verdict_fini(&verdict);
	gt_limits_fini(&limits);
	gt_diff_init(&diff, v, v);
	gt_diff_text(&diff, nowhere);
	gt_diff_json(&diff, nowhere);
	gt_diff_fini(&diff);
}

static void draw_reports(struct gt_recording *r, struct gt_frames *frames)
{
	static gt_view_fn *const views[] = {
		gt_summary_text,   gt_summary_json,   gt_summary_tsv,
		gt_leakage_text,   gt_leakage_json,   gt_leakage_tsv,
		gt_watermark_text, gt_watermark_json, gt_watermark_tsv,
		gt_usage_text,     gt_usage_json,     gt_growth_text,
		gt_growth_json,    gt_growth_tsv,     gt_sites_text,
		gt_sites_json,     gt_sites_tsv,      gt_processes_text,
		gt_processes_json, gt_processes_tsv,  NULL
	};
	struct gt_view v = { .recording = r, .frames = frames, .style = { .width = 80 } };
	struct feed *feed = calloc(1, sizeof *feed);
	struct gt_ledger *ledger, *at_peak;
	struct gt_rise *rises;

	FUZZ_CHECK(feed);
	gt_timeline_init(&feed->timeline);
	gt_usage_rows_begin(&feed->rows, nowhere);
	ledger = gt_replay_run(
		r, &(struct gt_replay){
			   .each = feed_event, .context = feed, .samples = true, .growth = true });
	gt_usage_rows_end(&feed->rows);
	gt_timeline_finish(&feed->timeline, 0);
	at_peak = ledger->peak_events ?
			  gt_replay_run(r, &(struct gt_replay){ .until = ledger->peak_events }) :
			  gt_ledger_new();
	rises = gt_growth_find(ledger->growth, ledger, &v.rise_count);
	v.ledger = ledger;
	v.at_peak = at_peak;
	v.timeline = &feed->timeline;
	v.rises = rises;
	draw(&v, views);
	draw_judged(&v);
	free(rises);
	gt_ledger_free(at_peak);
	gt_ledger_free(ledger);
	free(feed);
}

static void write_exports(struct gt_recording *r, struct gt_frames *frames)
{
	static gt_export_fn *const exports[] = { gt_export_tsv,        gt_export_json,
						 gt_export_csv,        gt_export_chrome,
						 gt_export_pprof,      gt_export_collapsed,
						 gt_export_speedscope, gt_export_prometheus };
	struct gt_html *html;

	for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
		gt_recording_rewind(r);
		exports[i](&(struct gt_export){ .recording = r, .frames = frames, .out = nowhere });
	}
	gt_recording_rewind(r);
	html = gt_html_new(r, NULL);
	gt_html_data(html, frames, 100, nowhere);
	gt_html_free(html);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gt_frames_options nameless = { .no_symbols = true };
	const char *path = fuzz_file(data, size);
	struct gt_recording *r;
	struct gt_frames *frames;
	struct gt_error error;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	FUZZ_CHECK(nowhere);
	if (gt_recording_open(&r, path, NULL, &error))
		return 0;
	FUZZ_CHECK(!gt_frames_new(&frames, r, &nameless));
	draw_reports(r, frames);
	write_exports(r, frames);
	gt_frames_free(frames);
	gt_recording_close(r);
	return 0;
}
