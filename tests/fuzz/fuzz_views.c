/* SPDX-License-Identifier: MIT */
/* fuzz_views.c - draws every view and writes every export of any bytes taken for a trace. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "judge/difference.h"
#include "export/export.h"
#include "page/page.h"
#include "replay/replay.h"
#include "report/analyses.h"
#include "report/tests.h"
#include "judge/verdict.h"

static FILE *nowhere;

/* A recording twice, as runs of one test. */
static void draw_tests(const struct gt_view *v)
{
	struct gt_views twice = { (const struct gt_view *[]){ v, v }, 2 };
	struct gt_tests tests;

	gt_tests_init(&tests, &twice);
	gt_tests_text(&tests, &twice, true, nowhere);
	gt_tests_json(&tests, &twice, nowhere);
	for (int form = GT_FORM_JUNIT; form < GT_FORM_COUNT; form++)
		gt_analysis_write_ci((enum gt_form)form, &twice, nowhere);
	gt_tests_fini(&tests);
}

static void draw_judged(const struct gt_analysis *a, struct gt_view *v)
{
	struct gt_limits limits = { 0 };
	struct gt_error error;
	struct gt_verdict verdict;

	FUZZ_CHECK(!gt_limits_parse(&limits, "memory>1MiB,any", &error));
	gt_verdict_init(&verdict, v, &(struct gt_verdict_options){ .limits = &limits });
	v->verdict = &verdict;
	for (int form = 0; form < GT_FORM_COUNT; form++)
		gt_analysis_write(a, (enum gt_form)form, v, nowhere);
	draw_tests(v);
	v->verdict = NULL;
	gt_verdict_fini(&verdict);
	gt_limits_fini(&limits);
}

static void draw_analysis(const struct gt_analysis *a, struct gt_view *v)
{
	struct gt_replayed replayed;

	for (int form = 0; form <= GT_FORM_TSV; form++) {
		gt_analysis_replay(&replayed, a, (enum gt_form)form, v);
		gt_analysis_write(a, (enum gt_form)form, v, nowhere);
		if (form == GT_FORM_TEXT && a->traits & GT_LISTS_LEAKS)
			draw_judged(a, v);
		gt_analysis_fini(&replayed);
	}
}

static void draw_diff(struct gt_view *v)
{
	struct gt_ledger *ledger =
		gt_replay_run(v->recording, &(struct gt_replay){ .growth = true });
	struct gt_views views = { (const struct gt_view *[]){ v, v }, 1 };
	struct gt_diff *diff;

	v->ledger = ledger;
	for (; views.count <= 2; views.count++) {
		diff = gt_diff_new();
		gt_diff_take(diff, GT_DIFF_OF_OLD, "old", &views);
		gt_diff_take(diff, GT_DIFF_OF_NEW, "new", &views);
		gt_diff_compare(diff, NULL);
		gt_diff_text(diff, nowhere);
		gt_diff_json(diff, nowhere);
		gt_diff_free(diff);
	}
	gt_ledger_free(ledger);
}

static void draw_reports(struct gt_recording *r, struct gt_frames *frames)
{
	struct gt_view v = { .recording = r, .frames = frames, .style = { .width = 80 } };

	for (int i = 0; i < GT_ANALYSIS_COUNT; i++)
		draw_analysis(&gt_analyses[i], &v);
	draw_diff(&v);
}

static void write_exports(struct gt_recording *r, struct gt_frames *frames)
{
	static gt_export_fn *const exports[] = { gt_export_tsv,        gt_export_json,
						 gt_export_csv,        gt_export_chrome,
						 gt_export_pprof,      gt_export_collapsed,
						 gt_export_speedscope, gt_export_prometheus };
	struct gt_page *page;

	for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
		gt_recording_rewind(r);
		exports[i](&(struct gt_export){ .recording = r, .frames = frames, .out = nowhere });
	}
	gt_recording_rewind(r);
	page = gt_page_new(r, frames, NULL, NULL);
	gt_page_data(page, 100, nowhere);
	gt_page_free(page);
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
