/* SPDX-License-Identifier: MIT */
/* report.c - gputrack report: replays a recording and writes one view of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "replay/replay.h"
#include "report/usage.h"
#include "replay/view.h"

/* clang-format off */
enum format {
	FORMAT_TEXT, FORMAT_JSON, FORMAT_TSV, FORMAT_JUNIT, FORMAT_SARIF, FORMAT_GITHUB,
	FORMAT_COUNT
};

/* clang-format off */
static const char *const format_names[] = {
	[FORMAT_TEXT] = "text", [FORMAT_JSON] = "json", [FORMAT_TSV] = "tsv",
	[FORMAT_JUNIT] = "junit", [FORMAT_SARIF] = "sarif", [FORMAT_GITHUB] = "github", NULL,
};

static const char *const sort_names[] = {
	[GT_SORT_LIVE] = "live", [GT_SORT_TOTAL] = "total", [GT_SORT_COUNT] = "count", NULL,
};
/* clang-format on */
/* clang-format on */

enum analysis { SUMMARY, LEAKAGE, WATERMARK, USAGE, SITES, GROWTH, PROCESSES };

static const char *const analysis_names[] = {
	[SUMMARY] = "summary", [LEAKAGE] = "leakage", [WATERMARK] = "watermark", [USAGE] = "usage",
	[SITES] = "sites",     [GROWTH] = "growth",   [PROCESSES] = "processes", NULL,
};

/* usage's TSV is written while replaying: it has as many rows as there were changes. */
static gt_view_fn *const writers[][FORMAT_COUNT] = {
	[SUMMARY] = { gt_summary_text, gt_summary_json, gt_summary_tsv, gt_leaks_junit,
		      gt_leaks_sarif, gt_leaks_github },
	[LEAKAGE] = { gt_leakage_text, gt_leakage_json, gt_leakage_tsv, gt_leaks_junit,
		      gt_leaks_sarif, gt_leaks_github },
	[WATERMARK] = { gt_watermark_text, gt_watermark_json, gt_watermark_tsv },
	[USAGE] = { gt_usage_text, gt_usage_json, NULL },
	[SITES] = { gt_sites_text, gt_sites_json, gt_sites_tsv },
	[GROWTH] = { gt_growth_text, gt_growth_json, gt_growth_tsv },
	[PROCESSES] = { gt_processes_text, gt_processes_json, gt_processes_tsv },
};

struct settings {
	struct gt_choices analyses;
	int format, sort, color;
	uint64_t top;
	struct gt_source source;
	struct gt_fail_options gate;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "analysis", .letter = 'a', .argument = "WHAT[,WHAT…]", .type = GT_OPTION_CHOICES,
	  AT(analyses), .choices = analysis_names,
	  .help = "summary (a screen of everything; the default), leakage (all that was never "
		  "given back), watermark (what was alive when device memory peaked), usage "
		  "(device memory over time), sites (call sites by what they hold and create), "
		  "growth (call sites that hold more and more) or "
		  "processes (what each process left alive); as text several, with commas "
		  "between them" },
	{ .name = "format", .letter = 'f', .argument = "FORM", .type = GT_OPTION_CHOICE, AT(format),
	  .choices = format_names,
	  .help = "text (the default), json or tsv; of leakage also junit, sarif and github "
		  "(annotations), for continuous integration. Usage as tsv has a row for every "
		  "change of device memory, leakage and watermark one for every resource, all in "
		  "the columns of Nsight's scripts with ours after them; usage as json has fewer "
		  "than 1000 points, the highest of each stretch of time" },
	{ .name = "top", .letter = 'n', .argument = "N", .type = GT_OPTION_COUNT, AT(top),
	  .help = "show only the first N call sites; sites shows 20 otherwise, summary 4, the "
		  "others and json and tsv all" },
	{ .name = "sort", .argument = "ORDER", .type = GT_OPTION_CHOICE, AT(sort),
	  .choices = sort_names,
	  .help = "order of sites: live (bytes alive at the end; the default), total (bytes "
		  "created) or count (resources created)" },
	GT_FAIL_OPTIONS(struct settings),
	GT_SOURCE_OPTIONS(struct settings),
	{ .name = "color", .argument = "WHEN", .type = GT_OPTION_CHOICE, AT(color),
	  .choices = gt_color_names,
	  .help = "auto (on a terminal, unless NO_COLOR is set; the default), always or never" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_report_syntax = {
	.name = "report",
	.summary = "show what a recording says: leaks, the peak, call sites",
	.operands = "NAME.gt",
	.about = "Shows what a recording says. All processes in it are taken together.",
	.options = options,
};

/* What is fed while replaying. */
struct feed {
	struct gt_timeline *timeline; /* NULL: not wanted */
	struct gt_usage_rows *rows;   /* likewise */
	uint64_t start_ns;
};

static void feed_moment(const struct feed *f, const struct gt_ledger *l, uint64_t time_ns)
{
	if (f->timeline)
		gt_timeline_add(f->timeline,
				&(struct gt_moment){ .time_ns = time_ns > f->start_ns ?
									time_ns - f->start_ns :
									0,
						     .device_bytes = l->device_bytes,
						     .host_bytes = l->host_bytes,
						     .objects = l->live.count - l->gone });
}

static void feed_event(void *context, const struct gt_ledger *l, const struct gt_event *event)
{
	const struct feed *f = context;

	feed_moment(f, l, event->time_ns);
	if (f->rows)
		gt_usage_rows_add(f->rows, l, event);
}

static void feed_end(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	const struct feed *f = context;

	feed_moment(f, l, time_ns);
	if (f->rows)
		gt_usage_rows_ended(f->rows, l, time_ns);
}

/* When the last process ended, relative to the start; 0 when no end is known. */
static uint64_t end_of(const struct gt_recording *r)
{
	uint64_t end = gt_recording_start_ns(r), start = end;

	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		if (gt_recording_process(r, i)->end_ns > end)
			end = gt_recording_process(r, i)->end_ns;
	return end - start;
}

static void write_usage(struct gt_view *v, struct settings *s, FILE *out)
{
	struct gt_recording *r = v->recording;
	struct gt_timeline *timeline = gt_alloc(sizeof *timeline);
	struct gt_usage_rows rows;
	struct feed feed = { .start_ns = gt_recording_start_ns(r) };
	struct gt_replay how = {
		.each = feed_event, .ended = feed_end, .context = &feed, .tick = gt_progress_tick
	};
	struct gt_ledger *ledger;

	gt_timeline_init(timeline);
	if (s->format == FORMAT_TSV) {
		gt_usage_rows_begin(&rows, out);
		feed.rows = &rows;
	} else {
		feed.timeline = timeline;
	}
	ledger = gt_replay_run(r, &how);
	gt_progress_end();
	v->ledger = ledger;
	if (s->format == FORMAT_TSV) {
		gt_usage_rows_end(&rows);
	} else {
		gt_timeline_finish(timeline, end_of(r));
		v->timeline = timeline;
		writers[USAGE][s->format](v, out);
	}
	gt_ledger_free(ledger);
	free(timeline);
}

static void write_growth(struct gt_view *v, const struct settings *s, FILE *out)
{
	struct gt_ledger *ledger = gt_replay_run(
		v->recording, &(struct gt_replay){ .growth = true, .tick = gt_progress_tick });
	struct gt_rise *rises = gt_growth_find(ledger->growth, ledger, &v->rise_count);

	gt_progress_end();
	v->ledger = ledger;
	v->rises = rises;
	writers[GROWTH][s->format](v, out);
	free(rises);
	gt_ledger_free(ledger);
}

/* Those forms are made of a verdict; the others show it where one was asked for. */
static bool wants_verdict(const struct settings *s)
{
	return s->format >= FORMAT_JUNIT || gt_fail_options_is_set(&s->gate);
}

static void write_view(struct gt_view *v, struct settings *s, int analysis, FILE *out)
{
	struct gt_replay how = { .tick = gt_progress_tick,
				 .samples = true,
				 .growth = analysis == SUMMARY && s->format == FORMAT_TEXT };
	struct gt_ledger *ledger, *at_peak = NULL;

	if (analysis == USAGE) {
		write_usage(v, s, out);
		return;
	}
	if (analysis == GROWTH) {
		write_growth(v, s, out);
		return;
	}
	ledger = gt_replay_run(v->recording, &how);
	v->ledger = ledger;
	if (analysis == WATERMARK) {
		how.until = ledger->peak_events;
		/* no peak is no events at all, not all of them */
		at_peak = how.until ? gt_replay_run(v->recording, &how) : gt_ledger_new();
		v->at_peak = at_peak;
	}
	gt_progress_end();
	if (wants_verdict(s)) {
		gt_fail_options_judge(&s->gate, v);
		v->verdict = &s->gate.verdict;
	}
	writers[analysis][s->format](v, out);
	gt_ledger_free(at_peak);
	gt_ledger_free(ledger);
}

/* On stderr, so that the report itself stays what it is in any form. */
static void say_verdict(const struct settings *s)
{
	struct gt_style style = gt_terminal_style(stderr, (enum gt_color)s->color);
	struct gt_printer p;

	fflush(stdout);
	gt_print_init(&p, stderr, &style);
	gt_verdict_text(&s->gate.verdict, &p);
}

static bool has(const struct gt_choices *analyses, int wanted)
{
	for (size_t i = 0; i < analyses->count; i++)
		if (analyses->list[i] == wanted)
			return true;
	return false;
}

/* What the options cannot have together. 0, or the exit status after the user has been told. */
static int check(struct settings *s)
{
	int first = s->analyses.list[0];
	bool one = s->analyses.count == 1, of_leaks = one && (first == SUMMARY || first == LEAKAGE);

	if (gt_output_promises(s->source.output))
		return gt_syntax_wrong(&gt_report_syntax,
				       "a report is not compressed: leave out %s",
				       gt_output_promises(s->source.output));
	/* the form that a settings file asks for, where it can be had */
	if (!gt_option_was_typed("format") && (!one || (s->format >= FORMAT_JUNIT && !of_leaks)))
		s->format = FORMAT_TEXT;
	if (!one && s->format != FORMAT_TEXT)
		return gt_syntax_wrong(&gt_report_syntax,
				       "--format %s takes one analysis: write a "
				       "file for each",
				       format_names[s->format]);
	if (s->format >= FORMAT_JUNIT && !of_leaks)
		return gt_syntax_wrong(&gt_report_syntax,
				       "--format %s is for leaks: leave out "
				       "--analysis",
				       format_names[s->format]);
	if (gt_fail_options_needs(&s->gate, &gt_report_syntax, of_leaks, "-a leakage or summary"))
		return GT_EXIT_USAGE;
	return gt_option_needs(&gt_report_syntax, "sort", has(&s->analyses, SITES), "-a sites");
}

static int report(struct settings *s, struct gt_recording *recording, struct gt_error *error)
{
	struct gt_view v = { .recording = recording, .top = s->top, .sort = (enum gt_sort)s->sort };
	struct gt_output output;
	int e;

	e = gt_output_open(&output, s->source.output, error);
	if (e)
		return e;
	v.style = gt_terminal_style(output.file, (enum gt_color)s->color);
	e = gt_source_frames(&s->source, recording, &v.frames, error);
	if (e) {
		gt_output_abandon(&output);
		return e;
	}
	for (size_t i = 0; i < s->analyses.count; i++) {
		if (i)
			putc('\n', output.file);
		write_view(&v, s, s->analyses.list[i], output.file);
	}
	gt_frames_free(v.frames);
	e = gt_output_close(&output, error);
	if (!e && gt_fail_options_is_set(&s->gate))
		say_verdict(s);
	return e;
}

int gt_cmd_report(int argc, char **argv)
{
	struct settings s = { .analyses = { .list = { SUMMARY }, .count = 1 } };
	struct gt_recording *recording;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_report_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status = check(&s);
	if (first >= 0 && !status)
		status =
			gt_source_open(&gt_report_syntax, &s.source, argc, argv, first, &recording);
	if (first < 0 || status)
		goto free_settings;
	/* rows are those of Nsight's scripts, which have all frames of what Nsight recorded */
	if (s.format == FORMAT_TSV && *gt_recording_info(recording, "imported"))
		s.source.all_frames = true;
	status = gt_fail_options_open(&s.gate, &gt_report_syntax, &s.source);
	if (status)
		goto close_recording;
	if (report(&s, recording, &error))
		status = gt_fail("%s", error.text);
	else
		status = gt_fail_options_status(&s.gate);
close_recording:
	gt_recording_close(recording);
free_settings:
	gt_fail_options_fini(&s.gate);
	gt_source_fini(&s.source);
	return status;
}
