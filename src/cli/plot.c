/* SPDX-License-Identifier: MIT */
/* plot.c - gputrack plot: a picture of a recording or of a foreign table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/output.h"
#include "cli/input.h"
#include "plot/picture.h"
#include "plot/read_rows.h"
#include "replay/local_time.h"
#include "replay/replay.h"

enum { WIDTH_LEAST = 300, HEIGHT_LEAST = 200, SIDE_MOST = 20000 };

struct settings {
	const char *size, *smi, *usage;
	uint64_t threshold_kb, gpu;
	bool dark;
	struct gt_strictness strict;
	struct gt_input input;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "output", .letter = 'o', .argument = "FILE", .type = GT_OPTION_TEXT,
	  GT_INPUT_AT(struct settings, output),
	  .help = "write to FILE, which ends in .png, .svg, .pdf, or .txt for a description in "
		  "words (default: INPUT_plot.png beside the input, plot.png for stdin)" },
	{ .name = "size", .argument = "WxH", .type = GT_OPTION_TEXT, AT(size),
	  .local = GT_LOCAL_YES,
	  .help = "width and height in pixels (points in SVG and PDF)" },
	{ .name = "dark", .type = GT_OPTION_FLAG, AT(dark),
	  .local = GT_LOCAL_YES, .help = "draw light on dark" },
	{ .name = "threshold", .argument = "KB", .type = GT_OPTION_COUNT, AT(threshold_kb),
	  .local = GT_LOCAL_YES,
	  .help = "in a tracker's CSV, report what the driver kept as a leak if it is more than KB "
		  "(default: 100)" },
	{ .name = "smi", .letter = 's', .argument = "FILE", .type = GT_OPTION_TEXT, AT(smi),
	  .help = "overlay the used memory of this nvidia-smi log, whose times are local" },
	{ .name = "gpu", .argument = "N", .type = GT_OPTION_COUNT, .most = GT_SMI_GPUS - 1, AT(gpu),
	  .local = GT_LOCAL_YES,
	  .help = "overlay only GPU N of the nvidia-smi log, counted from 0 (default: the sum of "
		  "all)" },
	{ .name = "usage", .letter = 'u', .argument = "FILE", .type = GT_OPTION_TEXT, AT(usage),
	  .help = "same as giving FILE as INPUT" },
	GT_BY_OPTION(GT_INPUT_AT(struct settings, by), "process, thread, device or phase"),
	GT_STRICT_OPTIONS(offsetof(struct settings, strict)),
	GT_INPUT_READING(struct settings),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_plot_syntax = {
	.name = "plot",
	.summary = "plot a recording, a tracker's or monitor's CSV, or a usage table",
	.operands = "INPUT…",
	.about = "Plots each INPUT: a recording NAME.gt, a resource tracker's CSV (ours or the "
		 "original's), memory over time (`gputrack report -a usage --format tsv`, or an "
		 "Nsight analysis'), a CSV of `gputrack monitor`, or a table of charts (columns "
		 "chart, curve, x axis, y axis, x, y). The first line of a table "
		 "determines its type, not its name. Prints the main figures.",
	.options = options,
};

/* One input and its picture. */
struct job {
	const struct settings *settings;
	const char *input;
	char *path;                /* of the picture; "-" is stdout */
	double width, height;      /* 0: the picture's own default */
	struct gt_overlay overlay; /* .log NULL: none */
	struct gt_output output;
	struct gt_canvas canvas;
	FILE *words; /* where the main figures go */
	bool utf8;
};

/* "runs/tracker.csv" -> "runs/tracker_plot.png", stdin -> "plot.png". The caller frees it. */
static char *default_path(const char *input)
{
	char *path = NULL, *stem = gt_output_stem(input);
	char *dot = strrchr(gt_path_name(stem), '.');

	if (dot && dot != gt_path_name(stem))
		*dot = '\0';
	/* no name that begins with a dash: tools would take it for an option */
	if (!strcmp(input, "-") || asprintf(&path, "%s_plot.png", stem) < 0)
		path = gt_strdup("plot.png");
	free(stem);
	return path;
}

static bool parse_size(const char *text, double *width, double *height)
{
	char w[16], h[16];
	uint64_t x, y;

	if (sscanf(text, "%15[0-9]%*1[xX]%15[0-9]", w, h) != 2 ||
	    strlen(w) + 1 + strlen(h) != strlen(text) || !gt_count_parse(w, &x) ||
	    !gt_count_parse(h, &y) || x < WIDTH_LEAST || y < HEIGHT_LEAST || x > SIDE_MOST ||
	    y > SIDE_MOST)
		return false;
	*width = (double)x;
	*height = (double)y;
	return true;
}

static int begin(struct job *j, double width, double height, struct gt_error *error)
{
	struct gt_canvas_options how = { .width = j->width > 0 ? j->width : width,
					 .height = j->height > 0 ? j->height : height,
					 .dark = j->settings->dark,
					 .format = strcmp(j->path, "-") ? gt_format_of(j->path) :
									  GT_FORMAT_PNG };
	int e = gt_output_open(&j->output, j->path, error);

	if (e)
		return e;
	e = gt_canvas_open(&j->canvas, j->output.file, &how, error);
	if (e)
		gt_output_abandon(&j->output);
	return e;
}

static int end(struct job *j, struct gt_error *error)
{
	int e = gt_canvas_close(&j->canvas, error);

	/* if writing failed, closing the output gives the better reason */
	if (e && !ferror(j->output.file)) {
		gt_output_abandon(&j->output);
		return e;
	}
	return gt_output_close(&j->output, error);
}

static int plot_tracker(struct job *j, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_tracker_table *table;
	int e = gt_tracker_read(&table, rows, (double)j->settings->threshold_kb, error);

	if (e)
		return e;
	e = begin(j, GT_TRACKER_WIDTH, GT_TRACKER_HEIGHT, error);
	if (!e) {
		gt_tracker_draw(&j->canvas, table, gt_path_name(j->input));
		e = end(j, error);
	}
	if (!e)
		gt_tracker_text(table, j->words, j->utf8);
	gt_tracker_free(table);
	return e;
}

static int plot_usage(struct job *j, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_overlay *overlay = j->overlay.log ? &j->overlay : NULL;
	struct gt_usage_table *table;
	int e = gt_usage_read(&table, rows, error);

	if (e)
		return e;
	if (overlay)
		gt_overlay_align(overlay, table->start_s, table->last_s, &table->columns[0]);
	e = begin(j, GT_USAGE_WIDTH, GT_USAGE_HEIGHT, error);
	if (!e) {
		gt_usage_draw(&j->canvas, table, overlay, gt_path_name(j->input));
		e = end(j, error);
	}
	if (!e) {
		gt_usage_table_text(table, j->words);
		if (overlay)
			gt_overlay_text(overlay, j->words, j->utf8);
	}
	gt_usage_free(table);
	return e;
}

static int plot_monitor(struct job *j, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_monitor_table *table;
	int e = gt_monitor_read(&table, rows, error);

	if (e)
		return e;
	e = begin(j, GT_MONITOR_WIDTH, GT_MONITOR_HEIGHT, error);
	if (!e) {
		gt_monitor_draw(&j->canvas, table, gt_path_name(j->input));
		e = end(j, error);
	}
	if (!e)
		gt_monitor_text(table, j->words, j->utf8);
	gt_monitor_free(table);
	return e;
}

static int plot_charts(struct job *j, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_chart_table *table;
	int e = gt_charts_read(&table, rows, error);

	if (e)
		return e;
	e = begin(j, GT_CHARTS_WIDTH, gt_charts_height(table), error);
	if (!e) {
		gt_charts_draw(&j->canvas, table, gt_path_name(j->input));
		e = end(j, error);
	}
	if (!e)
		gt_charts_text(table, j->words, j->utf8);
	gt_charts_free(table);
	return e;
}

static int refuse(struct job *j, struct gt_rows *rows, struct gt_error *error)
{
	enum gt_table_kind kind = gt_table_kind(rows);

	if (kind == GT_TABLE_EMPTY)
		return gt_error_set(error, -ENODATA, "it is empty");
	if (kind == GT_TABLE_SMI)
		return gt_error_set(error, -EINVAL,
				    "it is an nvidia-smi log; pass it with -s, together with a "
				    "recording or a usage table");
	return gt_error_set(error, -EINVAL,
			    "it is not a recording, a tracker's or monitor's CSV, or a table of "
			    "usage or charts");
}

static int (*const plotters[])(struct job *, struct gt_rows *, struct gt_error *) = {
	[GT_TABLE_UNKNOWN] = refuse,     [GT_TABLE_EMPTY] = refuse,
	[GT_TABLE_SMI] = refuse,         [GT_TABLE_TRACKER] = plot_tracker,
	[GT_TABLE_USAGE] = plot_usage,   [GT_TABLE_MONITOR] = plot_monitor,
	[GT_TABLE_CHARTS] = plot_charts,
};

static int plot_table(struct job *j, struct gt_error *error)
{
	struct gt_rows rows;
	enum gt_table_kind kind;
	int e = gt_rows_open(&rows, j->input, error);

	if (e)
		return e;
	kind = gt_table_kind(&rows);
	if (j->overlay.log &&
	    (kind == GT_TABLE_TRACKER || kind == GT_TABLE_MONITOR || kind == GT_TABLE_CHARTS))
		e = gt_error_set(error, -EINVAL, "-s needs a recording or a usage table");
	else
		e = plotters[kind](j, &rows, error);
	gt_rows_close(&rows);
	return e;
}

/* The resource tracker's charts are a separate picture. */
static void tell_metrics(const struct job *j, const struct gt_recording *r)
{
	const char *first = NULL;
	size_t files = 0;

	for (size_t i = 0; i < gt_recording_process_count(r); i++) {
		const char *csv = gt_recording_process(r, i)->csv;

		if (*csv && !files++)
			first = csv;
	}
	if (!files)
		return;
	fputs("Process metrics were written to ", j->words);
	gt_text_put(j->words, first, UINT32_MAX, GT_CUT_MIDDLE, j->utf8);
	if (files > 1)
		fprintf(j->words, " and %zu more", files - 1);
	fprintf(j->words, ": `%s plot` draws them as well\n", gt_tool_name());
}

/* When the recording began, by the clock of nvidia-smi's log; 0: unknown. */
static double local_start(const struct gt_view *v)
{
	char text[GT_LOCAL_TIME];
	double start_s;

	gt_local_time(text, v->recording, gt_recording_start_ns(v->recording));
	return gt_moment_parse(text, &start_s) ? start_s : 0;
}

static int plot_opened(struct job *j, struct gt_view *v, struct gt_error *error)
{
	struct gt_alive_over_time *history = gt_alive_over_time_new(v->recording);
	const struct gt_live_observer observer = gt_alive_over_time_observer(history);
	struct gt_memory_series memory;
	struct gt_ledger *ledger = gt_replay_run(
		v->recording,
		&(struct gt_replay){ .samples = true,
				     .observer = &observer,
				     .before = gt_alive_over_time_before,
				     .each = gt_alive_over_time_event,
				     .ended = gt_alive_over_time_ended,
				     .sampled = gt_alive_over_time_sample,
				     .last = gt_alive_over_time_last,
				     .context = history,
				     .held = gt_input_held(&j->settings->input, v->frames),
				     .tick = gt_progress_tick });
	bool has_memory;
	int e;

	gt_alive_over_time_finish(history, ledger);
	v->ledger = ledger;
	v->tick = gt_progress_tick;
	gt_memory_series_init(&memory, v);
	gt_progress_end();
	has_memory = gt_memory_series_tells_more(&memory, v);
	if (j->overlay.log)
		gt_overlay_align(&j->overlay, local_start(v), history->end_s, &history->bytes);
	e = begin(j, GT_RECORDING_WIDTH, GT_RECORDING_HEIGHT + (has_memory ? GT_MEMORY_HEIGHT : 0),
		  error);
	if (!e) {
		gt_recording_draw(&j->canvas, v,
				  &(struct gt_recording_parts){
					  .history = history,
					  .memory = has_memory ? &memory : NULL,
					  .overlay = j->overlay.log ? &j->overlay : NULL,
					  .name = gt_path_name(gt_recording_path(v->recording)) });
		e = end(j, error);
	}
	if (!e) {
		gt_recording_text(v, j->words);
		if (has_memory)
			gt_memory_words(v, &memory, j->words);
		tell_metrics(j, v->recording);
		if (j->overlay.log)
			gt_overlay_text(&j->overlay, j->words, j->utf8);
	}
	gt_memory_series_fini(&memory);
	gt_alive_over_time_free(history);
	gt_ledger_free(ledger);
	return e;
}

static int plot_recording(struct job *j, struct gt_error *error)
{
	struct gt_view v = { .style = gt_terminal_style(stdout, GT_COLOR_NEVER),
			     .strict = j->settings->strict };
	int e = gt_input_load(&j->settings->input, j->input, &v.recording, &v.frames, error);

	if (e)
		return e;
	e = plot_opened(j, &v, error);
	gt_frames_free(v.frames);
	gt_recording_close(v.recording);
	return e;
}

/* The log is read again for each picture: drawing thins it out. */
static int read_smi(struct job *j, struct gt_error *error)
{
	const struct settings *s = j->settings;
	struct gt_rows rows;
	int e = gt_rows_open(&rows, s->smi, error);

	if (e)
		return e;
	e = gt_smi_read(&j->overlay.log, &rows, s->gpu <= GT_SMI_GPUS ? (int)s->gpu : GT_SMI_ALL,
			error);
	gt_rows_close(&rows);
	return e;
}

static int missing(const char *input, const char *why)
{
	char *hint = gt_input_pid_hint(input);
	int status;

	if (*hint)
		status = gt_fail("cannot plot %s: %s%s", input, why, hint);
	else
		status = gt_fail("cannot plot %s: %s; `%s run` writes recordings, its --csv and "
				 "`%s monitor` write tables",
				 input, why, gt_tool_name(), gt_tool_name());
	free(hint);
	return status;
}

static int plot_one(const struct settings *s, const char *input, double width, double height)
{
	struct job j = { .settings = s,
			 .input = input,
			 .width = width,
			 .height = height,
			 .utf8 = gt_is_utf8() };
	struct gt_error error;
	bool is_there = !access(input, F_OK) || !strcmp(input, "-");
	bool is_recording = is_there && !gt_input_is_table(input);
	int e, status = GT_EXIT_DONE;

	if (s->smi && read_smi(&j, &error))
		return gt_fail("cannot use the nvidia-smi log %s: %s", s->smi, error.text);
	j.path = s->input.output ? gt_strdup(s->input.output) : default_path(input);
	j.words = strcmp(j.path, "-") ? stdout : stderr;
	e = is_recording ? plot_recording(&j, &error) : plot_table(&j, &error);
	/* errors of recordings name the file themselves */
	if (e && is_recording)
		status = gt_fail("%s", error.text);
	else if (!is_there)
		status = missing(input, error.text);
	else if (e)
		status = gt_fail("cannot plot %s: %s", input, error.text);
	else if (strcmp(j.path, "-")) {
		fputs("Plot saved to: ", j.words);
		gt_text_put(j.words, j.path, UINT32_MAX, GT_CUT_MIDDLE, j.utf8);
		putc('\n', j.words);
	}
	if (j.overlay.log)
		gt_smi_free(j.overlay.log);
	free(j.path);
	return status;
}

/* 0, or the exit status after reporting what is wrong. */
static int check(const struct settings *s, int inputs, double *width, double *height)
{
	const char *output = s->input.output;

	if (!inputs)
		return gt_syntax_wrong(&gt_plot_syntax, "needs an INPUT to plot");
	if (output && inputs > 1)
		return gt_syntax_wrong(&gt_plot_syntax, "-o allows only one INPUT");
	if (output && strcmp(output, "-") && gt_format_of(output) == GT_FORMAT_NONE)
		return gt_syntax_wrong(&gt_plot_syntax,
				       "-o FILE must end in .png, .svg, .pdf or .txt, not '%s'",
				       output);
	if (output && !strcmp(output, "-") && isatty(STDOUT_FILENO))
		return gt_syntax_wrong(
			&gt_plot_syntax,
			"a picture does not suit a terminal: write it to a file with -o NAME.png");
	if (s->size && !parse_size(s->size, width, height))
		return gt_syntax_wrong(&gt_plot_syntax,
				       "--size must be WxH, from %dx%d to %dx%d, not '%s'",
				       WIDTH_LEAST, HEIGHT_LEAST, SIDE_MOST, SIDE_MOST, s->size);
	if (gt_option_needs(&gt_plot_syntax, "gpu", s->smi, "-s FILE"))
		return GT_EXIT_USAGE;
	return 0;
}

/* --threshold is for the tracker's CSV. */
static int check_threshold(const struct settings *s, int inputs, char **names)
{
	bool has_table = s->usage != NULL;

	for (int i = 0; i < inputs; i++)
		has_table |= access(names[i], F_OK) || gt_input_is_table(names[i]);
	return gt_option_needs(&gt_plot_syntax, "threshold", has_table, "a tracker's CSV");
}

/* Refuses two inputs whose pictures would have the same name. */
static int check_names(int inputs, char **names)
{
	int status = 0;

	for (int i = 1; i < inputs && !status; i++)
		for (int k = 0; k < i && !status; k++) {
			char *one = default_path(names[k]), *other = default_path(names[i]);

			if (!strcmp(one, other))
				status = gt_syntax_wrong(&gt_plot_syntax,
							 "%s and %s would both be written to %s: "
							 "plot one at a time, with -o",
							 names[k], names[i], one);
			free(one);
			free(other);
		}
	return status;
}

int gt_cmd_plot(int argc, char **argv)
{
	struct settings s = { .threshold_kb = GT_RESIDUE_LEAK_KB, .gpu = UINT64_MAX };
	double width = 0, height = 0;
	int status, first = gt_options_parse(&gt_plot_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status = check(&s, argc - first + !!s.usage, &width, &height);
	if (first >= 0 && !status)
		status = check_threshold(&s, argc - first, argv + first);
	if (first >= 0 && !status)
		status = check_names(argc - first, argv + first);
	if (first >= 0 && !status && s.usage)
		status = plot_one(&s, s.usage, width, height);
	for (int i = first; first >= 0 && status != GT_EXIT_USAGE && i < argc; i++) {
		int one = plot_one(&s, argv[i], width, height);

		status = status ? status : one;
	}
	gt_input_fini(&s.input);
	return status;
}
