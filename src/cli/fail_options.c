/* SPDX-License-Identifier: MIT */
/* fail_options.c - the options by which a command fails when too much leaked or was used. */
#include "cli/fail_options.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "replay/head.h"
#include "replay/replay.h"

/* The older recording, down to the keys of its leaks. */
static void take_baseline(struct gt_fail_options *fail, const struct gt_view *v)
{
	struct gt_fate_sum sums[GT_FATE_COUNT];

	gt_leaks_init(&fail->old_leaks, v, GT_BY_LINE);
	gt_leaks_forget_sites(&fail->old_leaks);
	gt_growing_init(&fail->old_growing, v, GT_BY_LINE);
	gt_fate_sums(v, sums);
	fail->old_is_unsure = gt_head_has_gaps(v->recording);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		fail->old_is_unsure |= fate != GT_FATE_LEAKED && sums[fate].count;
}

static int read_baseline(struct gt_fail_options *fail, const struct gt_input *input,
			 struct gt_error *error)
{
	struct gt_recording *recording;
	struct gt_ledger *ledger;
	struct gt_view v = { 0 };
	int e = gt_recording_open(&recording, fail->baseline, NULL, error);

	if (e)
		return e;
	e = gt_input_frames(input, recording, &v.frames, error);
	if (!e) {
		ledger = gt_replay_run(recording,
				       &(struct gt_replay){ .growth = fail->fail_on_growth,
							    .held = gt_input_held(input, v.frames),
							    .tick = gt_progress_tick });
		gt_progress_end();
		v.recording = recording;
		v.ledger = ledger;
		gt_fail_options_apply(fail, &v);
		take_baseline(fail, &v);
		gt_ledger_free(ledger);
		gt_frames_free(v.frames);
	}
	gt_recording_close(recording);
	return e;
}

int gt_fail_options_open(struct gt_fail_options *fail, const struct gt_syntax *syntax,
			 const struct gt_input *input)
{
	struct gt_error error;

	if (gt_limits_parse(&fail->limits, fail->fail_on_leak ? fail->fail_on_leak : "any", &error))
		return gt_syntax_wrong(syntax, "--fail-on-leak: %s", error.text);
	if (fail->fail_on_growth &&
	    gt_growth_limit_parse(&fail->growth, fail->fail_on_growth, &error))
		return gt_syntax_wrong(syntax, "--fail-on-growth: %s", error.text);
	for (size_t i = 0; i < fail->suppressions.count; i++)
		if (gt_suppressions_read(&fail->known, fail->suppressions.items[i], &error))
			return gt_fail("%s", error.text);
	if (fail->baseline && read_baseline(fail, input, &error))
		return gt_fail("%s", error.text);
	return 0;
}

int gt_fail_options_needs(struct gt_fail_options *fail, const struct gt_syntax *syntax, bool judges,
			  bool judges_growth, const char *what)
{
	static const char growth[] = "fail-on-growth";
	static const char *const names[] = { "fail-on-leak",   growth,     "suppressions",
					     "baseline",       "max-peak", "killed-is-leak",
					     "running-is-leak" };
	int status = 0;

	for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++)
		status = gt_option_needs(syntax, names[i],
					 judges || (judges_growth && !strcmp(names[i], growth)),
					 what);
	if (judges || status)
		return status;
	gt_texts_fini(&fail->suppressions);
	*fail = (struct gt_fail_options){
		.fail_on_growth = judges_growth ? fail->fail_on_growth : NULL,
	};
	return 0;
}

static bool is_about_leaks(const struct gt_fail_options *fail)
{
	return fail->fail_on_leak || fail->baseline || fail->suppressions.count;
}

bool gt_fail_options_is_set(const struct gt_fail_options *fail)
{
	return is_about_leaks(fail) || fail->max_peak || fail->fail_on_growth;
}

bool gt_fail_options_fails(const struct gt_fail_options *fail)
{
	return fail->fail_on_leak || fail->max_peak || fail->fail_on_growth;
}

void gt_fail_options_apply(const struct gt_fail_options *fail, struct gt_view *v)
{
	v->strict = fail->strict;
	v->judges_growth = fail->fail_on_growth;
}

void gt_fail_options_judge(struct gt_fail_options *fail, const struct gt_view *v)
{
	struct gt_verdict_options options = {
		.limits = &fail->limits,
		.suppressions = &fail->known,
		.baseline = fail->baseline ? &fail->old_leaks : NULL,
		.baseline_path = fail->baseline,
		.baseline_has_gaps = fail->old_is_unsure,
		.max_peak = fail->max_peak,
		.fails_on_leak = fail->fail_on_leak,
		.growth = fail->fail_on_growth ? &fail->growth : NULL,
		.baseline_grows = fail->baseline ? &fail->old_growing : NULL,
		.leaks_unasked = (fail->max_peak || fail->fail_on_growth) && !is_about_leaks(fail),
	};

	gt_verdict_init(&fail->verdict, v, &options);
}

int gt_fail_options_status(const struct gt_fail_options *fail)
{
	static const int statuses[] = {
		[GT_OUTCOME_PASSED] = GT_EXIT_DONE,         [GT_OUTCOME_LEAKED] = GT_EXIT_LEAKED,
		[GT_OUTCOME_UNTRACKED] = GT_EXIT_UNTRACKED, [GT_OUTCOME_UNSURE] = GT_EXIT_UNSURE,
		[GT_OUTCOME_PEAK] = GT_EXIT_LEAKED,         [GT_OUTCOME_GROWING] = GT_EXIT_LEAKED,
	};

	return gt_fail_options_fails(fail) ? statuses[fail->verdict.outcome] : GT_EXIT_DONE;
}

void gt_fail_options_explain(const struct gt_fail_options *fail)
{
	struct gt_style style = gt_terminal_style(stderr, GT_COLOR_AUTO);
	struct gt_printer p;

	if (!gt_fail_options_status(fail))
		return;
	gt_print_init(&p, stderr, &style);
	gt_verdict_outcome(&fail->verdict, &p);
}

void gt_fail_options_fini(struct gt_fail_options *fail)
{
	gt_verdict_fini(&fail->verdict);
	gt_limits_fini(&fail->limits);
	gt_suppressions_fini(&fail->known);
	gt_texts_fini(&fail->suppressions);
	gt_leaks_fini(&fail->old_leaks);
	gt_growing_fini(&fail->old_growing);
}
