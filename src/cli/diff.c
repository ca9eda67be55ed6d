/* SPDX-License-Identifier: MIT */
/* diff.c - gputrack diff: compares what two recordings leaked and used. */
#include "judge/difference.h"

#include <stdlib.h>

#include "base/tool.h"
#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/output.h"
#include "cli/recordings.h"
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
	.operands = "OLD.gt|DIR NEW.gt|DIR",
	.about = "Compares the leaks of two recordings by call site: API, kind, and the functions "
		 "and files of the stack. A site whose line number changed is still the same site. "
		 "Then compares memory use: the peak of device memory, the call sites that held "
		 "more or less of it, and the sites that have started to grow.\nEither may be a "
		 "folder of recordings: then a table compares their tests (a recording's name "
		 "without .gt), and of each call site the most that any recording leaked is "
		 "compared.\nExit status 0 if "
		 "nothing leaks that did not leak before, 23 if there are new or larger leaks, or "
		 "new growth if that was asked for, 24 if one of the recordings tracked nothing at "
		 "all, 25 if it cannot be told: a process was killed or still runs, or events are "
		 "missing.",
	.options = options,
};

/* One of the two sides: a recording, or several; replayed. */
struct side {
	struct gt_recordings found;
	struct gt_loaded *loaded;
	const struct gt_view **list;
};

/* Tests that are no longer run have fixed nothing: their old recordings are left out. */
static void find_sides(struct side *old, struct side *new, char **operands)
{
	size_t kept = 0, left_out = 0;

	gt_recordings_find(&old->found, &operands[0], 1);
	gt_recordings_find(&new->found, &operands[1], 1);
	if (old->found.count < 2)
		return;
	for (size_t i = 0; i < old->found.count; i++) {
		char *path = old->found.paths[i];

		if (gt_recordings_has_test(&new->found, path)) {
			old->found.paths[kept++] = path;
			continue;
		}
		if (!left_out++)
			gt_tell("%s is left out: %s has no recording of this test", path,
				operands[1]);
		free(path);
	}
	if (left_out > 1)
		gt_tell("so are %zu more recordings of %s", left_out - 1, operands[0]);
	old->found.count = kept;
}

/* Reads the recordings of an operand, down to what is compared of them. */
static int open_side(struct side *side, struct gt_diff *d, enum gt_diff_which which,
		     const struct settings *s, const char *path, struct gt_error *error)
{
	size_t count = side->found.count;
	int e = gt_recordings_load(&side->loaded, &side->found, &s->input, error);

	if (e)
		return e;
	side->list = gt_alloc(count * sizeof *side->list);
	for (size_t i = 0; i < count; i++) {
		struct gt_loaded *one = &side->loaded[i];

		one->ledger = gt_replay_run(
			one->recording,
			&(struct gt_replay){ .growth = true,
					     .samples = true,
					     .held = gt_input_held(&s->input, one->view.frames),
					     .tick = gt_progress_tick });
		one->view.ledger = one->ledger;
		one->view.top = s->top;
		one->view.strict = s->strict;
		side->list[i] = &one->view;
	}
	gt_progress_end();
	gt_diff_take(d, which, count == 1 ? gt_recording_path(side->list[0]->recording) : path,
		     &(struct gt_views){ side->list, count });
	if (count == 1)
		gt_diff_forget(d, which, side->loaded[0].ledger);
	return 0;
}

static void close_side(struct side *side)
{
	if (side->loaded)
		gt_recordings_unload(side->loaded, side->found.count);
	gt_recordings_fini(&side->found);
	free(side->list);
}

/* The first recording that leaves it open what leaked, and why; NULL: none. */
static const struct gt_view *unsure_view(const struct side *side, char **why)
{
	for (size_t i = 0; i < side->found.count; i++) {
		*why = gt_ending_of(side->list[i], NULL);
		if (*why)
			return side->list[i];
	}
	return NULL;
}

/* Which recording leaves it open whether there are new leaks, and why. */
static int say_unsure(const struct side *old, const struct side *new)
{
	char *why = NULL;
	const struct gt_view *v = unsure_view(new, &why);

	if (!v)
		v = unsure_view(old, &why);
	if (!v)
		v = old->list[0];
	gt_tell("%s: %s, so gputrack cannot tell whether there are new leaks: %s",
		gt_recording_path(v->recording), why ? why : "events are missing",
		gt_fate_remedy(v, GT_FATE_PERHAPS, NULL));
	free(why);
	return GT_EXIT_UNSURE;
}

static bool has_gaps(const struct side *side)
{
	for (size_t i = 0; i < side->found.count; i++)
		if (gt_head_has_gaps(side->loaded[i].recording))
			return true;
	return false;
}

/* True if none of its recordings tracked anything. */
static bool is_untracked(const struct side *side)
{
	for (size_t i = 0; i < side->found.count; i++)
		if (side->loaded[i].ledger->events)
			return false;
	return true;
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
	const struct side *nothing = is_untracked(old) ? old : is_untracked(new) ? new : NULL;
	bool gaps = has_gaps(old) || has_gaps(new);
	char *growth;

	/* a recording that is damaged from its first event on did track something */
	if (nothing && !gaps) {
		gt_tell("nothing was tracked in %s, so there is nothing to compare; `%s doctor` "
			"shows what can be tracked",
			gt_recording_path(nothing->loaded[0].recording), gt_tool_name());
		return GT_EXIT_UNTRACKED;
	}
	/* a release that is missing looks like growth */
	growth = gaps ? NULL : gt_diff_growth(d);
	if ((gt_diff_worse(d) == GT_WORSE || growth) && !nothing) {
		print_outcome(s, d, growth);
		free(growth);
		return GT_EXIT_LEAKED;
	}
	if (gt_diff_worse(d) == GT_PERHAPS_WORSE || gaps)
		return say_unsure(old, new);
	return GT_EXIT_DONE;
}

static int write_diff(const struct settings *s, struct side *old, struct side *new,
		      struct gt_diff *d, struct gt_error *error)
{
	struct gt_output output;
	struct gt_style style;
	int status;

	if (gt_output_open(&output, s->input.output, error))
		return gt_fail("%s", error->text);
	style = gt_terminal_style(output.file, (enum gt_color)s->color);
	for (size_t i = 0; i < old->found.count; i++)
		old->loaded[i].view.style = style;
	for (size_t i = 0; i < new->found.count; i++)
		new->loaded[i].view.style = style;
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
	if (first >= 0 && !status)
		find_sides(&old, &new, argv + first);
	if (first >= 0 && !status && !old.found.count)
		status = gt_fail("%s and %s have no test in common; name folders with recordings "
				 "of the same names",
				 argv[first], argv[first + 1]);
	else if (first >= 0 && !status &&
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
