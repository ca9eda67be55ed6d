/* SPDX-License-Identifier: MIT */
/* diff.c - gputrack diff: compares what two recordings leaked and used. */
#include "judge/difference.h"

#include <stdlib.h>

#include "base/tool.h"
#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/output.h"
#include "cli/input.h"
#include "replay/head.h"
#include "replay/replay.h"

static const char *const format_names[] = { "text", "json", NULL };
static void (*const writers[])(const struct gt_diff *d, FILE *out) = { gt_diff_text, gt_diff_json };

struct settings {
	const char *fail_on_growth;
	struct gt_growth_limit growth;
	int format, color;
	struct gt_strictness strict;
	uint64_t top;
	struct gt_input input;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "format", .letter = 'f', .argument = "FORM", .type = GT_OPTION_CHOICE, AT(format),
	  .choices = format_names,
	  .local = GT_LOCAL_YES, .help = "text (the default) or json" },
	{ .name = "top", .letter = 'n', .argument = "N", .type = GT_OPTION_COUNT, AT(top),
	  .local = GT_LOCAL_YES,
	  .help = "list at most N call sites in each group of the text (default: 20)" },
	GT_BY_OPTION(GT_INPUT_AT(struct settings, by),
		     "process (those of one program), device or phase"),
	GT_STRICT_OPTIONS(offsetof(struct settings, strict)),
	GT_FAIL_ON_GROWTH_OPTION(" that did not grow before", AT(fail_on_growth)),
	GT_COLOR_OPTION(AT(color)),
	GT_INPUT_OPTIONS(struct settings),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_diff_syntax = {
	.name = "diff",
	.summary = "compare two recordings: leaks, peak memory, growth",
	.operands = "OLD.gt NEW.gt",
	.about = "Compares the leaks of two recordings by call site: API, kind, and the functions "
		 "and files of the stack. A site whose line number changed is still the same site. "
		 "Then compares memory use: the peak of device memory, the call sites that held "
		 "more or less of it, and the sites that have started to grow.\nExit status 0 if "
		 "nothing leaks that did not leak before, 23 if there are new or larger leaks, or "
		 "new growth if that was asked for, 24 if one of the recordings tracked nothing at "
		 "all, 25 if it cannot be told: a process was killed or still runs, or events are "
		 "missing.",
	.options = options,
};

/* One of the two recordings, replayed. */
struct side {
	struct gt_recording *recording;
	struct gt_ledger *ledger;
	struct gt_view view;
};

/* Reads a recording, down to what is compared of it. */
static int open_side(struct side *side, struct gt_diff *d, enum gt_diff_which which,
		     const struct settings *s, const char *path, struct gt_error *error)
{
	int e = gt_input_load(&s->input, path, &side->recording, &side->view.frames, error);

	if (e)
		return e;
	side->ledger = gt_replay_run(
		side->recording,
		&(struct gt_replay){ .growth = true,
				     .samples = true,
				     .held = gt_input_held(&s->input, side->view.frames),
				     .tick = gt_progress_tick });
	gt_progress_end();
	side->view.recording = side->recording;
	side->view.ledger = side->ledger;
	side->view.top = s->top;
	side->view.strict = s->strict;
	gt_diff_take(d, which, &side->view);
	gt_diff_forget(d, which, side->ledger);
	return 0;
}

static void close_side(struct side *side)
{
	if (!side->ledger)
		return;
	gt_frames_free(side->view.frames);
	gt_ledger_free(side->ledger);
	gt_recording_close(side->recording);
}

/* Which recording leaves it open whether there are new leaks, and why. */
static int say_unsure(const struct side *old, const struct side *new)
{
	char *why = gt_ending_of(&new->view, NULL);
	const struct side *side = why ? new : old;

	if (!why)
		why = gt_ending_of(&old->view, NULL);
	gt_tell("%s: %s, so gputrack cannot tell whether there are new leaks: %s",
		gt_recording_path(side->recording), why ? why : "events are missing",
		gt_fate_remedy(&side->view, GT_FATE_PERHAPS, NULL));
	free(why);
	return GT_EXIT_UNSURE;
}

/* On stderr, so that it does not mix with the comparison, whatever its form. */
static void print_outcome(const struct settings *s, const struct gt_diff *d, const char *growth)
{
	struct gt_style style = gt_terminal_style(stderr, (enum gt_color)s->color);
	struct gt_printer p;

	gt_print_init(&p, stderr, &style);
	if (gt_diff_worse(d) == GT_WORSE)
		gt_diff_outcome(d, &p);
	if (growth)
		gt_print_wrap(&p, GT_RED, 0, "FAILED  --fail-on-growth: %s", growth);
}

/* The exit status, after a line on stderr that says why it is not 0. */
static int conclude(const struct settings *s, const struct side *old, const struct side *new,
		    const struct gt_diff *d)
{
	const struct side *nothing = !old->ledger->events ? old : !new->ledger->events ? new : NULL;
	bool has_gaps = gt_head_has_gaps(old->recording) || gt_head_has_gaps(new->recording);
	char *growth;

	/* a recording that is damaged from its first event on did track something */
	if (nothing && !has_gaps) {
		gt_tell("nothing was tracked in %s, so there is nothing to compare; `%s doctor` "
			"shows what can be tracked",
			gt_recording_path(nothing->recording), gt_tool_name());
		return GT_EXIT_UNTRACKED;
	}
	/* a release that is missing looks like growth */
	growth = has_gaps ? NULL : gt_diff_growth(d);
	if ((gt_diff_worse(d) == GT_WORSE || growth) && !nothing) {
		print_outcome(s, d, growth);
		free(growth);
		return GT_EXIT_LEAKED;
	}
	if (gt_diff_worse(d) == GT_PERHAPS_WORSE || has_gaps)
		return say_unsure(old, new);
	return GT_EXIT_DONE;
}

static int write_diff(const struct settings *s, struct side *old, struct side *new,
		      struct gt_diff *d, struct gt_error *error)
{
	struct gt_output output;
	int e = gt_output_open(&output, s->input.output, error), status;

	if (e)
		return gt_fail("%s", error->text);
	old->view.style = new->view.style = gt_terminal_style(output.file, (enum gt_color)s->color);
	gt_diff_compare(d, s->fail_on_growth ? &s->growth : NULL);
	writers[s->format](d, output.file);
	if (gt_output_close(&output, error))
		status = gt_fail("%s", error->text);
	else
		status = conclude(s, old, new, d);
	return status;
}

/* True for ways that recognise a group in another recording. */
static bool is_shared(enum gt_by by)
{
	return by != GT_BY_THREAD;
}

static int check_by(struct settings *s)
{
	int status = gt_by_check(&gt_diff_syntax, &s->input.by, is_shared,
				 "two recordings have no threads in common; choose process");

	/* parts may stand still where the whole grows */
	if (!status && s->fail_on_growth)
		status = gt_by_check(&gt_diff_syntax, &s->input.by, gt_by_code,
				     "--fail-on-growth judges call sites, not parts of them; "
				     "compare these without it");
	return status;
}

int gt_cmd_diff(int argc, char **argv)
{
	struct settings s = { .input.compares = true };
	struct side old = { 0 }, new = { 0 };
	struct gt_diff *d = gt_diff_new();
	struct gt_error error;
	int status, first = gt_options_parse(&gt_diff_syntax, &s, argc, argv, &status);

	if (first >= 0 && argc - first != 2)
		status =
			gt_syntax_wrong(&gt_diff_syntax, "needs two recordings, OLD.gt and NEW.gt");
	else if (first >= 0 && s.fail_on_growth &&
		 gt_growth_limit_parse(&s.growth, s.fail_on_growth, &error))
		status = gt_syntax_wrong(&gt_diff_syntax, "--fail-on-growth: %s", error.text);
	else if (first >= 0)
		status = check_by(&s);
	if (first >= 0 && !status &&
	    (open_side(&old, d, GT_DIFF_OF_OLD, &s, argv[first], &error) ||
	     open_side(&new, d, GT_DIFF_OF_NEW, &s, argv[first + 1], &error)))
		status = gt_fail("%s", error.text);
	else if (first >= 0 && !status)
		status = write_diff(&s, &old, &new, d, &error);
	gt_diff_free(d);
	close_side(&old);
	close_side(&new);
	gt_input_fini(&s.input);
	return status;
}
