/* SPDX-License-Identifier: MIT */
/* fail_options.c - the options by which a command fails when too much leaked or was used. */
#include "cli/fail_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/recordings.h"
#include "judge/merged.h"
#include "replay/head.h"
#include "replay/replay.h"

/* Adds what an older recording leaked to a test's baseline: the most of each call site counts. */
static void take_baseline(struct gt_baseline *old, const struct gt_view *v)
{
	struct gt_fate_sum sums[GT_FATE_COUNT];
	struct gt_growing_sites growing;
	struct gt_merged merged;
	struct gt_leaks leaks;

	gt_leaks_init(&leaks, v, GT_BY_LINE);
	gt_merged_init_lists(&merged, (const struct gt_leaks *[]){ &old->leaks, &leaks }, 2);
	gt_leaks_fini(&leaks);
	gt_leaks_fini(&old->leaks);
	old->leaks = merged.leaks;
	free(merged.from);
	gt_growing_init(&growing, v, GT_BY_LINE);
	gt_growing_add_keys(&old->grow, &growing);
	gt_growing_fini(&growing);
	gt_fate_sums(v, sums);
	old->is_unsure |= gt_head_has_gaps(v->recording);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		old->is_unsure |= fate != GT_FATE_LEAKED && sums[fate].count;
}

static int read_baseline(struct gt_fail_options *fail, struct gt_baseline *old, const char *path,
			 const struct gt_input *input, struct gt_error *error)
{
	struct gt_recording *recording;
	struct gt_ledger *ledger;
	struct gt_view v = { 0 };
	int e = gt_recording_open(&recording, path, NULL, error);

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
		take_baseline(old, &v);
		gt_ledger_free(ledger);
		gt_frames_free(v.frames);
	}
	gt_recording_close(recording);
	return e;
}

/* The recordings of a folder come in the order of their tests. */
static int read_baselines(struct gt_fail_options *fail, const struct gt_input *input,
			  struct gt_error *error)
{
	struct gt_recordings found;
	char *path = gt_strdup(fail->baseline);
	bool is_one;
	int e = 0;

	gt_recordings_find(&found, &path, 1);
	is_one = found.count == 1 && !strcmp(found.paths[0], path);
	fail->baselines = gt_alloc(found.count * sizeof *fail->baselines);
	for (size_t i = 0; !e && i < found.count; i++) {
		char *test = is_one ? NULL : gt_test_name(found.paths[i]);
		struct gt_baseline *last = &fail->baselines[fail->baseline_count - 1];

		if (i && test && !strcmp(last->test, test)) {
			free(test);
		} else {
			last = &fail->baselines[fail->baseline_count++];
			last->test = test;
		}
		e = read_baseline(fail, last, found.paths[i], input, error);
	}
	gt_recordings_fini(&found);
	free(path);
	return e;
}

/* A test that the baseline does not have leaked nothing in it. */
static const struct gt_baseline *baseline_of(const struct gt_fail_options *fail,
					     const struct gt_view *v)
{
	static const struct gt_baseline none = { 0 };
	char *test = gt_test_name(gt_recording_path(v->recording));
	const struct gt_baseline *found = &none;

	for (size_t i = 0; i < fail->baseline_count; i++)
		if (!fail->baselines[i].test || !strcmp(fail->baselines[i].test, test))
			found = &fail->baselines[i];
	free(test);
	return found;
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
	if (fail->baseline && read_baselines(fail, input, &error))
		return gt_fail("%s", error.text);
	return 0;
}

int gt_fail_options_needs(struct gt_fail_options *fail, const struct gt_syntax *syntax, bool judges,
			  bool judges_growth, const char *what)
{
	static const char growth[] = "fail-on-growth";
	static const char *const names[] = { "fail-on-leak",    growth,       "suppressions",
					     "baseline",        "max-peak",   "killed-is-leak",
					     "running-is-leak", "skip-status" };
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

void gt_fail_options_judge(struct gt_fail_options *fail, struct gt_verdict *verdict,
			   const struct gt_view *v)
{
	const struct gt_baseline *old = fail->baseline ? baseline_of(fail, v) : NULL;
	struct gt_verdict_options options = {
		.limits = &fail->limits,
		.suppressions = &fail->known,
		.baseline = old ? &old->leaks : NULL,
		.baseline_path = fail->baseline,
		.baseline_has_gaps = old && old->is_unsure,
		.max_peak = fail->max_peak,
		.fails_on_leak = fail->fail_on_leak,
		.growth = fail->fail_on_growth ? &fail->growth : NULL,
		.baseline_grows = old ? &old->grow : NULL,
		.leaks_unasked = (fail->max_peak || fail->fail_on_growth) && !is_about_leaks(fail),
	};

	gt_verdict_init(verdict, v, &options);
}

int gt_fail_options_status(const struct gt_fail_options *fail, enum gt_outcome outcome)
{
	static const int statuses[] = {
		[GT_OUTCOME_PASSED] = GT_EXIT_DONE,         [GT_OUTCOME_LEAKED] = GT_EXIT_LEAKED,
		[GT_OUTCOME_UNTRACKED] = GT_EXIT_UNTRACKED, [GT_OUTCOME_UNSURE] = GT_EXIT_UNSURE,
		[GT_OUTCOME_PEAK] = GT_EXIT_LEAKED,         [GT_OUTCOME_GROWING] = GT_EXIT_LEAKED,
	};

	if (!gt_fail_options_fails(fail))
		return GT_EXIT_DONE;
	if (outcome == GT_OUTCOME_UNTRACKED && fail->skip_status)
		return (int)fail->skip_status;
	return statuses[outcome];
}

void gt_fail_options_explain(const struct gt_fail_options *fail)
{
	struct gt_style style = gt_terminal_style(stderr, GT_COLOR_AUTO);
	struct gt_printer p;

	if (!gt_fail_options_status(fail, fail->verdict.outcome))
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
	for (size_t i = 0; i < fail->baseline_count; i++) {
		free(fail->baselines[i].test);
		gt_leaks_fini(&fail->baselines[i].leaks);
		gt_growing_fini(&fail->baselines[i].grow);
	}
	free(fail->baselines);
}
