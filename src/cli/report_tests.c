/* SPDX-License-Identifier: MIT */
/* report_tests.c - gputrack report of several recordings: one verdict on all of them. */
#include "cli/report_tests.h"

#include "cli/cli.h"
#include "cli/judged.h"
#include "cli/output.h"

static void write_all(const struct gt_judged *all, const struct gt_report_tests *how, FILE *out)
{
	if (how->form == GT_FORM_TEXT)
		gt_tests_text(&all->tests, &all->views, how->whole_stacks, out);
	else if (how->form == GT_FORM_JSON)
		gt_tests_json(&all->tests, &all->views, out);
	else
		gt_analysis_write_ci(how->form, &all->views, out);
}

static void print_verdict(const struct gt_judged *all, const struct gt_report_tests *how)
{
	struct gt_style style = gt_terminal_style(stderr, (enum gt_color)how->color);
	struct gt_printer p;

	fflush(stdout);
	gt_print_init(&p, stderr, &style);
	gt_tests_verdict(&all->tests, &all->views, &p);
}

int gt_report_tests(const struct gt_report_tests *how)
{
	struct gt_loaded *loaded;
	struct gt_judged all;
	struct gt_output output;
	struct gt_error error;
	int status;

	if (gt_recordings_load(&loaded, how->found, how->input, &error))
		return gt_fail("%s", error.text);
	if (gt_output_open(&output, how->input->output, &error)) {
		gt_recordings_unload(loaded, how->found->count);
		return gt_fail("%s", error.text);
	}
	gt_judged_init(&all, loaded, how->found->count,
		       &(struct gt_judge_how){
			       .input = how->input,
			       .fail = how->fail,
			       .style = gt_terminal_style(output.file, (enum gt_color)how->color),
			       .top = how->top,
			       .shows_growth = how->form >= GT_FORM_JUNIT });
	write_all(&all, how, output.file);
	if (gt_output_close(&output, &error)) {
		status = gt_fail("%s", error.text);
	} else {
		status = gt_fail_options_status(how->fail, all.tests.outcome);
		if (gt_fail_options_is_set(how->fail))
			print_verdict(&all, how);
	}
	gt_judged_fini(&all);
	return status;
}
