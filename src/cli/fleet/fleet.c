/* SPDX-License-Identifier: MIT */
/* fleet.c - gputrack fleet: questions about many hosts, to the server that their agents send to. */
#include <stdlib.h>
#include <string.h>

#include "agent/parquet.h"
#include "base/format.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/fleet/fleet_show.h"
#include "cli/output.h"

enum { TOP = 10 };

static const char *const format_names[] = { "text", "json", NULL };
enum { FORMAT_TEXT, FORMAT_JSON };

struct settings {
	const char *clickhouse, *since, *until, *before, *after, *output;
	uint64_t top;
	int format, color;
	/* as ClickHouse has them; "": not given */
	char from_day[GT_FLEET_TIME], to_day[GT_FLEET_TIME];
	char before_time[GT_FLEET_TIME], after_time[GT_FLEET_TIME];
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "clickhouse", .argument = "URL", .type = GT_OPTION_TEXT, AT(clickhouse),
	  .help = "the server: http[s]://[USER:PASSWORD@]HOST[:PORT][/DATABASE] (database: "
		  "gputrack). Better in a configuration file than on the command line, which "
		  "other users can read" },
	{ .name = "since", .argument = "DAY", .type = GT_OPTION_TEXT, AT(since),
	  .local = GT_LOCAL_YES,
	  .help = "top, place: from this day on, such as 2026-11-10 (default: six days before the "
		  "last)" },
	{ .name = "until", .argument = "DAY", .type = GT_OPTION_TEXT, AT(until),
	  .local = GT_LOCAL_YES,
	  .help = "top, place: the last day (default: the last that has rows)" },
	{ .name = "before", .argument = "DATE", .type = GT_OPTION_TEXT, AT(before),
	  .local = GT_LOCAL_YES,
	  .help = "diff: the end of this day, or a time, such as 2026-11-16T10:00" },
	{ .name = "after", .argument = "DATE", .type = GT_OPTION_TEXT, AT(after),
	  .local = GT_LOCAL_YES, .help = "diff: what is compared with it" },
	{ .name = "top", .letter = 'n', .argument = "N", .type = GT_OPTION_COUNT, AT(top),
	  .least = 1, .local = GT_LOCAL_YES,
	  .help = "list at most N (default: 10); in diff, of each group of the text" },
	{ .name = "format", .letter = 'f', .argument = "FORM", .type = GT_OPTION_CHOICE, AT(format),
	  .choices = format_names, .local = GT_LOCAL_YES, .help = "text (the default) or json" },
	{ .name = "output", .letter = 'o', .argument = "FILE", .type = GT_OPTION_TEXT, AT(output),
	  .is_path = true, .help = "write to this file instead of stdout" },
	GT_COLOR_OPTION(AT(color)),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_fleet_syntax = {
	.name = "fleet",
	.summary = "ask about many hosts: what grows where, and what a release changed",
	.operands = "top | diff | place FILE[:LINE] | parquet FILE.tsv…",
	.about = "Asks the ClickHouse server that the agents of many hosts send their rows to "
		 "(`gputrack agent --clickhouse`; doc/fleet.md). Days and times are those of "
		 "UTC.\n\n"
		 "top lists the places that grow, the biggest first: how much they have grown in "
		 "the last seven days, how much they grow in a day, what running processes hold of "
		 "them, on how many hosts they grow, and since when.\n\n"
		 "diff --before DATE --after DATE lists the places that have begun to grow, grow "
		 "as before, no longer grow (gone), and those of which a process holds more or "
		 "less. A place whose line number changed is still the same place.\n\n"
		 "place FILE[:LINE] lists the processes that have this place: host, pod, what they "
		 "hold, how much they grow, and since when.\n\n"
		 "parquet asks no server: it converts rows that `gputrack agent --rows DIR` has "
		 "written into a Parquet file, for DuckDB and others.",
	.options = options,
};

/* Text or JSON of an answer. */
struct answer {
	const struct settings *s;
	struct gt_output output;
	struct gt_printer printer;
};

static int open_answer(struct answer *answer, const struct settings *s, struct gt_error *error)
{
	struct gt_style style;
	int e = gt_output_open(&answer->output, s->output, error);

	if (e)
		return e;
	answer->s = s;
	style = gt_terminal_style(answer->output.file, (enum gt_color)s->color);
	gt_print_init(&answer->printer, answer->output.file, &style);
	return 0;
}

static const char *or_none(const char *text)
{
	return *text ? text : NULL;
}

static int ask_top(const struct settings *s, struct gt_clickhouse *c, struct gt_error *error)
{
	struct gt_fleet_answer a;
	struct answer answer;
	int e = gt_fleet_top(&a, c, or_none(s->from_day), or_none(s->to_day), s->top, error);

	if (!e)
		e = open_answer(&answer, s, error);
	if (!e) {
		if (s->format == FORMAT_JSON)
			gt_fleet_top_json(answer.output.file, &a);
		else
			gt_fleet_top_text(&answer.printer, &a);
		e = gt_output_close(&answer.output, error);
	}
	gt_fleet_answer_fini(&a);
	return e;
}

static int ask_diff(const struct settings *s, struct gt_clickhouse *c, struct gt_error *error)
{
	struct gt_fleet_answer before, after = { 0 };
	struct gt_fleet_comparison d = { 0 };
	struct answer answer;
	int e = gt_fleet_at(&before, c, s->before_time, error);

	if (!e)
		e = gt_fleet_at(&after, c, s->after_time, error);
	for (int i = 0; !e && i < 2; i++)
		if (!(i ? &after : &before)->hosts)
			e = gt_error_set(error, -1, "%s has no rows of %s", gt_clickhouse_name(c),
					 i ? s->after_time : s->before_time);
	if (!e)
		e = open_answer(&answer, s, error);
	if (!e) {
		gt_fleet_compare(&d, &before, &after);
		if (s->format == FORMAT_JSON)
			gt_fleet_diff_json(answer.output.file, &d);
		else
			gt_fleet_diff_text(&answer.printer, &d, s->top);
		e = gt_output_close(&answer.output, error);
	}
	free(d.list);
	gt_fleet_answer_fini(&before);
	gt_fleet_answer_fini(&after);
	return e;
}

static int ask_place(const struct settings *s, struct gt_clickhouse *c, const char *name,
		     struct gt_error *error)
{
	const char *colon = strrchr(name, ':');
	uint64_t line = 0;
	bool has_line = colon && gt_count_parse(colon + 1, &line) && line <= UINT32_MAX;
	char *file = gt_strndup(name, has_line ? (size_t)(colon - name) : strlen(name));
	struct gt_fleet_answer a;
	struct answer answer;
	int e = gt_fleet_where(&a, c, file, has_line ? (uint32_t)line : 0, or_none(s->from_day),
			       or_none(s->to_day), s->top, error);

	if (!e)
		e = open_answer(&answer, s, error);
	if (!e) {
		if (s->format == FORMAT_JSON)
			gt_fleet_place_json(answer.output.file, &a, name);
		else
			gt_fleet_place_text(&answer.printer, &a, name);
		e = gt_output_close(&answer.output, error);
	}
	gt_fleet_answer_fini(&a);
	free(file);
	return e;
}

static int convert(const struct settings *s, char **files, size_t count, struct gt_error *error)
{
	struct gt_parquet *parquet;
	struct gt_output output;
	int e = gt_output_open(&output, s->output, error);

	if (e)
		return e;
	parquet = gt_parquet_new(output.file);
	for (size_t i = 0; !e && i < count; i++)
		e = gt_parquet_add_tsv(parquet, files[i], error);
	gt_parquet_finish(parquet);
	if (e)
		gt_output_abandon(&output);
	else
		e = gt_output_close(&output, error);
	return e;
}

enum verb { TOP_PLACES, DIFF, PLACE, PARQUET, VERBS };
static const char *const verbs[VERBS] = { "top", "diff", "place", "parquet" };

static const char *verb_name(const void *context, size_t index)
{
	(void)context;
	return verbs[index];
}

/* Days and times, as ClickHouse has them. */
static int parse_times(struct settings *s)
{
	const struct {
		const char *option, *text;
		char *out;
		bool has_time;
	} times[] = { { "since", s->since, s->from_day, false },
		      { "until", s->until, s->to_day, false },
		      { "before", s->before, s->before_time, true },
		      { "after", s->after, s->after_time, true } };

	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		if (times[i].text &&
		    !gt_fleet_moment_parse(times[i].out, times[i].text, times[i].has_time))
			return gt_syntax_wrong(&gt_fleet_syntax,
					       "--%s %s is no %s: 2026-11-16%s is", times[i].option,
					       times[i].text, times[i].has_time ? "date" : "day",
					       times[i].has_time ? " or 2026-11-16T10:00" : "");
	if (*s->from_day && *s->to_day && strcmp(s->from_day, s->to_day) > 0)
		return gt_syntax_wrong(&gt_fleet_syntax, "--since is later than --until");
	return 0;
}

/* 0, or the exit status after a message. */
static int check(struct settings *s, enum verb verb, int names)
{
	static const char *const by_days[] = { "since", "until" };
	static const char *const by_dates[] = { "before", "after" };

	for (int i = 0; i < 2; i++) {
		if (gt_option_needs(&gt_fleet_syntax, by_days[i],
				    verb == TOP_PLACES || verb == PLACE, "top or place") ||
		    gt_option_needs(&gt_fleet_syntax, by_dates[i], verb == DIFF, "diff"))
			return GT_EXIT_USAGE;
	}
	if (verb == PARQUET)
		return names ? 0 : gt_syntax_wrong(&gt_fleet_syntax, "parquet needs files of rows");
	if (names != (verb == PLACE))
		return gt_syntax_wrong(&gt_fleet_syntax,
				       verb == PLACE ? "place needs one place, FILE:LINE" :
						       "%s takes no operand",
				       verbs[verb]);
	if (verb == DIFF && (!s->before || !s->after))
		return gt_syntax_wrong(&gt_fleet_syntax,
				       "diff needs --before DATE and --after DATE");
	if (!s->clickhouse)
		return gt_syntax_wrong(
			&gt_fleet_syntax,
			"needs --clickhouse URL, or a line `clickhouse = URL` in the "
			"configuration file");
	return parse_times(s);
}

static int ask(const struct settings *s, enum verb verb, const char *name, struct gt_error *error)
{
	struct gt_clickhouse *c;
	int e = gt_clickhouse_open(&c, s->clickhouse, error);

	if (e)
		return e;
	e = verb == TOP_PLACES ? ask_top(s, c, error) :
	    verb == DIFF       ? ask_diff(s, c, error) :
				 ask_place(s, c, name, error);
	gt_clickhouse_close(c);
	return e;
}

int gt_cmd_fleet(int argc, char **argv)
{
	struct settings s = { .top = TOP };
	struct gt_error error;
	int status, first = gt_options_parse(&gt_fleet_syntax, &s, argc, argv, &status);
	enum verb verb = TOP_PLACES;
	const char *near;
	int e;

	if (first < 0)
		return status;
	if (first == argc)
		return gt_syntax_wrong(&gt_fleet_syntax,
				       "needs a question: top, diff, place or parquet");
	while (verb < VERBS && strcmp(argv[first], verbs[verb]) != 0)
		verb++;
	near = gt_nearest(argv[first], VERBS, verb_name, NULL);
	if (verb == VERBS)
		return gt_syntax_wrong(&gt_fleet_syntax, "there is no question '%s'%s%s%s",
				       argv[first], near ? "; did you mean " : "", near ? near : "",
				       near ? "?" : "");
	status = check(&s, verb, argc - first - 1);
	if (status)
		return status;
	e = verb == PARQUET ? convert(&s, argv + first + 1, (size_t)(argc - first - 1), &error) :
			      ask(&s, verb, argv[first + 1], &error);
	return e ? gt_fail("%s", error.text) : GT_EXIT_DONE;
}
