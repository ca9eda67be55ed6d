/* SPDX-License-Identifier: MIT */
/* report_tests.c - gputrack report of several recordings: one verdict on all of them. */
#include "cli/report_tests.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "replay/replay.h"
#include "report/tests.h"

/* The recordings, replayed and judged. */
struct all {
	struct gt_loaded *loaded;
	struct gt_verdict *verdicts;
	const struct gt_view **list;
	struct gt_views views;
	struct gt_tests tests;
};

static void judge_all(struct all *all, const struct gt_report_tests *how, FILE *out)
{
	size_t count = how->found->count;

	all->verdicts = gt_alloc(count * sizeof *all->verdicts);
	all->list = gt_alloc(count * sizeof *all->list);
	for (size_t i = 0; i < count; i++) {
		struct gt_loaded *one = &all->loaded[i];
		struct gt_view *v = &one->view;

		v->style = gt_terminal_style(out, (enum gt_color)how->color);
		v->top = how->top;
		gt_fail_options_apply(how->fail, v);
		v->ledger = one->ledger = gt_replay_run(
			one->recording,
			&(struct gt_replay){ .held = gt_input_held(how->input, v->frames),
					     .growth =
						     how->form >= GT_FORM_JUNIT || v->judges_growth,
					     .tick = gt_progress_tick });
		gt_fail_options_judge(how->fail, &all->verdicts[i], v);
		v->verdict = &all->verdicts[i];
		all->list[i] = v;
	}
	gt_progress_end();
	all->views = (struct gt_views){ all->list, count };
	gt_tests_init(&all->tests, &all->views);
}

static void all_fini(struct all *all)
{
	for (size_t i = 0; i < all->views.count; i++)
		gt_verdict_fini(&all->verdicts[i]);
	gt_tests_fini(&all->tests);
	gt_recordings_unload(all->loaded, all->views.count);
	free(all->verdicts);
	free(all->list);
}

static void write_all(const struct all *all, const struct gt_report_tests *how, FILE *out)
{
	if (how->form == GT_FORM_TEXT)
		gt_tests_text(&all->tests, &all->views, how->whole_stacks, out);
	else if (how->form == GT_FORM_JSON)
		gt_tests_json(&all->tests, &all->views, out);
	else
		gt_analysis_write_ci(how->form, &all->views, out);
}

static void print_verdict(const struct all *all, const struct gt_report_tests *how)
{
	struct gt_style style = gt_terminal_style(stderr, (enum gt_color)how->color);
	struct gt_printer p;

	fflush(stdout);
	gt_print_init(&p, stderr, &style);
	gt_tests_verdict(&all->tests, &all->views, &p);
}

int gt_report_tests(const struct gt_report_tests *how)
{
	struct all all = { 0 };
	struct gt_output output;
	struct gt_error error;
	int status;

	if (gt_recordings_load(&all.loaded, how->found, how->input, &error))
		return gt_fail("%s", error.text);
	if (gt_output_open(&output, how->input->output, &error)) {
		gt_recordings_unload(all.loaded, how->found->count);
		return gt_fail("%s", error.text);
	}
	judge_all(&all, how, output.file);
	write_all(&all, how, output.file);
	if (gt_output_close(&output, &error)) {
		status = gt_fail("%s", error.text);
	} else {
		status = gt_fail_options_status(how->fail, all.tests.outcome);
		if (gt_fail_options_is_set(how->fail))
			print_verdict(&all, how);
	}
	all_fini(&all);
	return status;
}
