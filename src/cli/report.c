/* SPDX-License-Identifier: MIT */
/* report.c - gputrack report: replays a recording and writes analyses of it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/output.h"
#include "cli/input.h"
#include "cli/report_tests.h"
#include "report/analyses.h"

/* clang-format off */
static const char *const form_names[] = {
	[GT_FORM_TEXT] = "text", [GT_FORM_JSON] = "json", [GT_FORM_TSV] = "tsv",
	[GT_FORM_JUNIT] = "junit", [GT_FORM_SARIF] = "sarif", [GT_FORM_GITHUB] = "github",
	[GT_FORM_GITLAB] = "gitlab", [GT_FORM_VALGRIND] = "valgrind", NULL,
};

/* As enum gt_when has them; any other word is a time. */
static const char *const when_names[] = {
	[GT_AT_PEAK] = "peak", [GT_AT_END] = "end", [GT_AT_SHORTAGE] = "oom",
};

static const char *const sort_names[] = {
	[GT_SORT_LIVE] = "live", [GT_SORT_TOTAL] = "total", [GT_SORT_COUNT] = "count", NULL,
};

#define ANALYSIS(name, traits, help) #name,
static const char *const analysis_names[] = {
#include "report/analyses.def"
	NULL,
};
#undef ANALYSIS

#define ANALYSIS(name, traits, help) #name " (" help "), "
/* clang-format on */

struct settings {
	struct gt_choices analyses;
	int format, sort, color;
	uint64_t top;
	const char *at, *from, *to;
	enum gt_when when; /* and at_ns: what `at` says */
	uint64_t at_ns, from_ns, to_ns;
	bool show_held;
	struct gt_input input;
	struct gt_fail_options fail;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "analysis", .letter = 'a', .argument = "WHAT[,WHAT…]",
	  .type = GT_OPTION_CHOICES, AT(analyses), .choices = analysis_names,
	  .local = GT_LOCAL_YES,
	  .help =
#include "report/analyses.def"
		  "or, as text, several of these separated by commas" },
	{ .name = "format", .letter = 'f', .argument = "FORM", .type = GT_OPTION_CHOICE, AT(format),
	  .choices = form_names,
	  .local = GT_LOCAL_YES,
	  .help = "text (the default), json or tsv; for leaks also junit, sarif, github "
		  "(annotations), gitlab (code quality) and valgrind (its log, which CTest reads), "
		  "for continuous integration. As tsv, usage has a row for every "
		  "change of device memory, leakage and watermark one for every resource, in the "
		  "columns of Nsight's scripts followed by ours. As json, usage has fewer than "
		  "1000 points, each the highest of its interval" },
	{ .name = "top", .letter = 'n', .argument = "N", .type = GT_OPTION_COUNT, AT(top),
	  .local = GT_LOCAL_YES,
	  .help = "show at most N call sites (default: 20 in sites, 4 in summary, all in the "
		  "others and in json and tsv)" },
	{ .name = "sort", .argument = "ORDER", .type = GT_OPTION_CHOICE, AT(sort),
	  .choices = sort_names,
	  .local = GT_LOCAL_YES,
	  .help = "order of sites: live (bytes alive at the end; the default), total (bytes "
		  "created) or count (resources created)" },
	{ .name = "at", .argument = "WHEN", .type = GT_OPTION_TEXT, AT(at),
	  .local = GT_LOCAL_YES,
	  .help = "the moment that memory is about: peak (the default), oom (when memory ran out; "
		  "the default if the program stopped there), end (after the last call), or "
		  "seconds since the start, as 12.5" },
	{ .name = "from", .argument = "SECONDS", .type = GT_OPTION_TEXT, AT(from),
	  .local = GT_LOCAL_YES,
	  .help = "where the range begins, in seconds since the start: what happened after that "
		  "moment (default: the start)" },
	{ .name = "to", .argument = "SECONDS", .type = GT_OPTION_TEXT, AT(to),
	  .local = GT_LOCAL_YES,
	  .help = "where the range ends: what happened up to that moment (default: the end)" },
	GT_BY_OPTION(GT_INPUT_AT(struct settings, by), "process, thread, device or phase"),
	GT_FAIL_OPTIONS(struct settings),
	GT_SHOW_HELD_OPTION(AT(show_held)),
	GT_INPUT_OPTIONS(struct settings),
	GT_COLOR_OPTION(AT(color)),
	{ 0 },
};
#undef ANALYSIS
/* clang-format on */

const struct gt_syntax gt_report_syntax = {
	.name = "report",
	.summary = "analyze a recording: leaks, peak memory, call sites",
	.operands = "NAME.gt…|DIR",
	.about = "Analyzes a recording. Its processes are taken together unless --pid selects "
		 "one.\nSeveral recordings, or a folder of them, give one report on all: a table "
		 "of tests, each leak once with the tests that have it, and one exit status. A "
		 "recording's test is its name without .gt; recordings with one name are runs of "
		 "one test. Limits apply to each recording.",
	.options = options,
};

/* The forms for continuous integration are made from a verdict; the others show one if asked. */
static bool wants_verdict(const struct settings *s)
{
	return s->format >= GT_FORM_JUNIT || gt_fail_options_is_set(&s->fail);
}

static void write_analysis(struct gt_view *v, struct settings *s, const struct gt_analysis *a,
			   FILE *out)
{
	struct gt_replayed replayed;

	v->judges = wants_verdict(s);
	gt_analysis_replay(&replayed, a, (enum gt_form)s->format, v);
	gt_progress_end();
	if (v->judges) {
		gt_fail_options_judge(&s->fail, &s->fail.verdict, v);
		v->verdict = &s->fail.verdict;
	}
	gt_analysis_write(a, (enum gt_form)s->format, v, out);
	gt_progress_end();
	gt_analysis_fini(&replayed);
}

/* On stderr, so that it does not mix with the report, whatever its form. */
static void print_verdict(const struct settings *s)
{
	struct gt_style style = gt_terminal_style(stderr, (enum gt_color)s->color);
	struct gt_printer p;

	fflush(stdout);
	gt_print_init(&p, stderr, &style);
	gt_verdict_text(&s->fail.verdict, &p);
}

static bool has_trait(const struct settings *s, enum gt_analysis_trait trait)
{
	for (size_t i = 0; i < s->analyses.count; i++)
		if (gt_analyses[s->analyses.list[i]].traits & trait)
			return true;
	return false;
}

/* "12.5", "12.5 s"; false for anything else. */
static bool read_seconds(const char *text, uint64_t *time_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "s") && strcmp(end, " s")) || !(seconds >= 0) ||
	    seconds > 1e9)
		return false;
	*time_ns = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

/* 0, or the exit status after a message. */
static int read_range(struct settings *s)
{
	const struct {
		const char *name, *text;
		uint64_t *time_ns;
	} ends[] = { { "from", s->from, &s->from_ns }, { "to", s->to, &s->to_ns } };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i].text && !read_seconds(ends[i].text, ends[i].time_ns))
			return gt_syntax_wrong(&gt_report_syntax,
					       "--%s %s: give seconds since the start",
					       ends[i].name, ends[i].text);
	if (s->to && s->to_ns <= s->from_ns)
		return gt_syntax_wrong(&gt_report_syntax, "--to %s is not after --from %s", s->to,
				       s->from ? s->from : "0");
	return 0;
}

/* 0, or the exit status after a message. */
static int read_moment(struct settings *s)
{
	if (!s->at)
		return 0;
	for (size_t i = GT_AT_PEAK; i < sizeof when_names / sizeof *when_names; i++)
		if (!strcmp(s->at, when_names[i])) {
			s->when = (enum gt_when)i;
			return 0;
		}
	if (!read_seconds(s->at, &s->at_ns))
		return gt_syntax_wrong(&gt_report_syntax,
				       "--at %s: give peak, oom, end, or seconds since the start",
				       s->at);
	s->when = GT_AT_TIME;
	return 0;
}

/* Refuses options that exclude each other. 0, or the exit status after a message. */
static int check(struct settings *s)
{
	bool one = s->analyses.count == 1, of_leaks = one && has_trait(s, GT_LISTS_LEAKS);
	char with[128];
	int status = read_moment(s);

	if (!status)
		status = read_range(s);
	if (status)
		return status;
	if (gt_option_needs(&gt_report_syntax, "from", has_trait(s, GT_TAKES_RANGE),
			    gt_analyses_with(with, GT_TAKES_RANGE)) ||
	    gt_option_needs(&gt_report_syntax, "to", has_trait(s, GT_TAKES_RANGE),
			    gt_analyses_with(with, GT_TAKES_RANGE)))
		return GT_EXIT_USAGE;
	if (gt_option_needs(&gt_report_syntax, "at", has_trait(s, GT_TAKES_MOMENT),
			    gt_analyses_with(with, GT_TAKES_MOMENT)))
		return GT_EXIT_USAGE;
	if (gt_output_promises(s->input.output))
		return gt_syntax_wrong(&gt_report_syntax,
				       "a report is not compressed: remove %s from the name",
				       gt_output_promises(s->input.output));
	/* a form from the configuration applies only to analyses that have it */
	if (!gt_option_was_typed("format") && (!one || (s->format >= GT_FORM_JUNIT && !of_leaks)))
		s->format = GT_FORM_TEXT;
	if (!one && s->format != GT_FORM_TEXT)
		return gt_syntax_wrong(&gt_report_syntax,
				       "--format %s takes one analysis: write a file for each",
				       form_names[s->format]);
	if (s->format >= GT_FORM_JUNIT && !of_leaks)
		return gt_syntax_wrong(&gt_report_syntax,
				       "--format %s is for leaks only: remove --analysis",
				       form_names[s->format]);
	if (gt_fail_options_needs(&s->fail, &gt_report_syntax, of_leaks,
				  one && has_trait(s, GT_NEEDS_GROWTH),
				  gt_analyses_with(with, GT_LISTS_LEAKS)))
		return GT_EXIT_USAGE;
	if (gt_option_needs(&gt_report_syntax, "by", has_trait(s, GT_LISTS_PLACES),
			    gt_analyses_with(with, GT_LISTS_PLACES)))
		return GT_EXIT_USAGE;
	if (s->format >= GT_FORM_JUNIT &&
	    gt_by_check(&gt_report_syntax, &s->input.by, gt_by_code,
			"this format is for lines of code; choose line, function, file, module or "
			"stack"))
		return GT_EXIT_USAGE;
	/* parts may stand still where the whole grows */
	if (s->fail.fail_on_growth && gt_by_check(&gt_report_syntax, &s->input.by, gt_by_code,
						  "--fail-on-growth judges call sites, not parts "
						  "of them; report these without it"))
		return GT_EXIT_USAGE;
	return gt_option_needs(&gt_report_syntax, "sort", has_trait(s, GT_TAKES_SORT),
			       gt_analyses_with(with, GT_TAKES_SORT));
}

static int report(struct settings *s, struct gt_recording *recording, struct gt_error *error)
{
	struct gt_view v = { .recording = recording,
			     .top = s->top,
			     .sort = (enum gt_sort)s->sort,
			     .at = s->when,
			     .at_ns = s->at_ns,
			     .from_ns = s->from_ns,
			     .to_ns = s->to_ns,
			     .show_held = s->show_held,
			     .no_held = s->input.no_held,
			     .tick = gt_progress_tick };
	struct gt_output output;
	int e;

	e = gt_output_open(&output, s->input.output, error);
	if (e)
		return e;
	v.style = gt_terminal_style(output.file, (enum gt_color)s->color);
	gt_fail_options_apply(&s->fail, &v);
	e = gt_input_frames(&s->input, recording, &v.frames, error);
	if (e) {
		gt_output_abandon(&output);
		return e;
	}
	for (size_t i = 0; i < s->analyses.count; i++) {
		if (i)
			putc('\n', output.file);
		write_analysis(&v, s, &gt_analyses[s->analyses.list[i]], output.file);
	}
	gt_frames_free(v.frames);
	e = gt_output_close(&output, error);
	if (!e && gt_fail_options_is_set(&s->fail))
		print_verdict(s);
	return e;
}

/* Of several recordings: the leaks. 0, or the exit status after a message. */
static int check_several(const struct settings *s)
{
	char with[128];

	if (s->analyses.count != 1 || !has_trait(s, GT_LISTS_LEAKS))
		return gt_syntax_wrong(&gt_report_syntax,
				       "takes one recording, unless with %s: these judge several",
				       gt_analyses_with(with, GT_LISTS_LEAKS));
	if (s->format == GT_FORM_TSV)
		return gt_syntax_wrong(&gt_report_syntax, "--format tsv takes one recording");
	return 0;
}

static int report_several(struct settings *s, const struct gt_recordings *found)
{
	int status = check_several(s);

	if (!status)
		status = gt_fail_options_open(&s->fail, &gt_report_syntax, &s->input);
	if (status)
		return status;
	return gt_report_tests(&(struct gt_report_tests){ .found = found,
							  .input = &s->input,
							  .fail = &s->fail,
							  .form = (enum gt_form)s->format,
							  .whole_stacks = s->analyses.list[0] !=
									  0, /* not the summary */
							  .color = s->color,
							  .top = s->top });
}

int gt_cmd_report(int argc, char **argv)
{
	struct settings s = { .analyses = { .count = 1 } }; /* the first row of analyses.def */
	struct gt_recordings found = { 0 };
	struct gt_recording *recording;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_report_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status = check(&s);
	if (first >= 0 && !status)
		gt_recordings_find(&found, argv + first, (size_t)(argc - first));
	if (found.count > 1)
		status = report_several(&s, &found);
	else if (first >= 0 && !status)
		status = gt_input_open(&gt_report_syntax, &s.input, (int)found.count, found.paths,
				       0, &recording);
	if (first < 0 || status || found.count > 1)
		goto free_settings;
	/* Nsight's scripts, whose rows these are, have all frames of an import */
	if (s.format == GT_FORM_TSV && *gt_recording_info(recording, "imported") &&
	    !*gt_recording_info(recording, "snapshot"))
		s.input.all_frames = true;
	status = gt_fail_options_open(&s.fail, &gt_report_syntax, &s.input);
	if (status)
		goto close_recording;
	if (report(&s, recording, &error))
		status = gt_fail("%s", error.text);
	else
		status = gt_fail_options_status(&s.fail, s.fail.verdict.outcome);
close_recording:
	gt_recording_close(recording);
free_settings:
	gt_recordings_fini(&found);
	gt_fail_options_fini(&s.fail);
	gt_input_fini(&s.input);
	return status;
}
