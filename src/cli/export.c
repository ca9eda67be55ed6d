/* SPDX-License-Identifier: MIT */
/* export.c - gputrack export: a recording in the formats of other tools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/output.h"
#include "cli/input.h"
#include "export/export.h"
#include "replay/nsight_words.h"
#include "export/nsight_rows.h"
#include "replay/replay.h"

/* The formats: name, and as the user types it, usual suffix, whether it is binary, what --by may
 * group, help. */
#define FORMATS(F)                                                                                 \
	F(tsv, "tsv", ".tsv", false, CODE, "every event, one per line (the default)")              \
	F(json, "json", ".json", false, CODE, "one object with every event")                       \
	F(csv, "csv", ".csv", false, CODE, "every event, safe for spreadsheets")                   \
	F(pprof, "pprof", ".pb.gz", true, ALL,                                                     \
	  "call sites for `go tool pprof`: objects and bytes, "                                    \
	  "allocated and in use")                                                                  \
	F(collapsed, "collapsed", ".folded", false, ALL, "stacks for flame graphs")                \
	F(speedscope, "speedscope", ".speedscope.json", false, ALL,                                \
	  "call sites for speedscope.app")                                                         \
	F(chrome, "chrome", ".trace.json", false, ALL,                                             \
	  "lifetimes and counters over time, for Perfetto and "                                    \
	  "chrome://tracing")                                                                      \
	F(prometheus, "prometheus", ".prom", false, NONE,                                          \
	  "final totals, for Prometheus' textfile collector")                                      \
	F(torch_snapshot, "torch-snapshot", ".pickle", true, NONE,                                 \
	  "device memory as a memory snapshot of PyTorch, for its memory_viz")                     \
	F(torch_segments, "torch-segments", ".pickle", true, NONE,                                 \
	  "what is left at the end, for the memory_viz of PyTorch 1.11 to 1.13")

/* Events have the process, thread and device each in a column. */
enum ways { BY_NONE, BY_CODE, BY_ALL };

static const struct {
	const char *suffix;
	gt_export_fn *write;
	bool is_binary;
	enum ways ways;
} formats[] = {
#define F(name, key, suffix_, binary, ways_, help)                                                 \
	{ suffix_, gt_export_##name, binary, BY_##ways_ },
	FORMATS(F)
#undef F
};

static const char *const format_names[] = {
#define F(name, key, suffix, binary, ways, help) key,
	FORMATS(F)
#undef F
		NULL,
};

struct settings {
	int format, weight;
	struct gt_strictness strict;
	struct gt_input input;
};

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "format", .letter = 'f', .argument = "FORM", .type = GT_OPTION_CHOICE,
	  .at = offsetof(struct settings, format), .choices = format_names,
	  .local = GT_LOCAL_YES,
	  .help = "one of"
#define F(name, key, suffix, binary, ways, help) "\n" key " (" suffix "): " help
	FORMATS(F)
#undef F
	},
	{ .name = "value", .argument = "WHAT", .type = GT_OPTION_CHOICE,
	  .at = offsetof(struct settings, weight), .choices = gt_weight_names,
	  .local = GT_LOCAL_YES,
	  .help = "weight of a collapsed stack, and the profile that speedscope shows first: "
		  "leaked (bytes; the default), peak, allocated, objects (number leaked), or "
		  "alive (bytes not released, leaked or not)" },
	GT_BY_OPTION(GT_INPUT_AT(struct settings, by), "process, thread, device or phase"),
	GT_STRICT_OPTIONS(offsetof(struct settings, strict)),
	GT_INPUT_OPTIONS(struct settings),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_export_syntax = {
	.name = "export",
	.summary = "convert a recording for other tools: events, pprof, Perfetto, …",
	.operands = "NAME.gt",
	.about = "Converts a recording to a format of other tools (doc/exports.md). Events are in "
		 "order of time, with the columns time_ns (since the start), pid, tid, function, "
		 "effect, api, kind, handle, bytes, owner, place, outcome (done, failed, or "
		 "unfinished: the process ended during the call), result (the error code; empty if "
		 "the program did not request it), stack and where (the place in your own code, "
		 "doc/places.md).\n\nIf the recording has CUDA memory, "
		 "--format tsv -o PREFIX, where PREFIX does not end in .tsv, writes only "
		 "allocations and frees, to the three files of Nsight analyses: PREFIX_valid.tsv "
		 "(with a call stack), PREFIX_driver.tsv (with the function's name only) and "
		 "PREFIX_invalid.tsv (with neither). If PREFIX ends in a slash, they are "
		 "valid.tsv, driver.tsv and invalid.tsv in that folder.",
	.options = options,
};

/* Stops the replay at the first event of CUDA memory. */
static bool is_no_row(void *context, const struct gt_event *event, uint32_t process)
{
	bool *has = context;

	(void)process;
	*has = gt_nsight_has_row(event);
	return !*has;
}

static bool has_cuda_memory(struct gt_recording *recording)
{
	bool has = false;

	gt_replay_events(recording, is_no_row, &has, NULL);
	return has;
}

static bool wants_three_files(const struct settings *s, struct gt_recording *recording)
{
	const char *output = s->input.output;
	size_t length = output ? strlen(output) : 0;

	if (formats[s->format].write != gt_export_tsv || !length || !strcmp(output, "-") ||
	    (length >= 4 && !strcmp(output + length - 4, ".tsv")))
		return false;
	return has_cuda_memory(recording);
}

static bool write_row(void *context, const struct gt_event *event, uint32_t process)
{
	gt_nsight_rows_add(context, event, process);
	return true;
}

static void write_rows(struct gt_nsight_rows *rows, struct gt_recording *recording)
{
	gt_nsight_rows_begin(rows);
	gt_replay_events(recording, write_row, rows, gt_progress_tick);
	gt_progress_end();
}

static bool is_folder(const char *prefix)
{
	return prefix[strlen(prefix) - 1] == '/';
}

/* All three files appear, or none. */
static int export_three(const struct settings *s, struct gt_recording *recording,
			struct gt_error *error)
{
	struct gt_nsight_rows rows = { .recording = recording };
	struct gt_input input = s->input;
	struct gt_output outputs[GT_ORIGIN_COUNT];
	char path[4096];
	int count = 0, e = 0;

	input.all_frames = true; /* the scripts fold nothing */
	for (; !e && count < GT_ORIGIN_COUNT; count += !e) {
		snprintf(path, sizeof path, "%s%s%s.tsv", s->input.output,
			 is_folder(s->input.output) ? "" : "_", gt_origin_names[count]);
		e = gt_output_open(&outputs[count], path, error);
		rows.out[count] = outputs[count].file;
	}
	if (!e)
		e = gt_input_frames(&input, recording, &rows.frames, error);
	if (!e) {
		write_rows(&rows, recording);
		gt_frames_free(rows.frames);
		gt_nsight_rows_fini(&rows);
	}
	for (int i = 0; !e && i < count; i++)
		e = gt_output_flush(&outputs[i], error);
	while (count--) {
		if (e)
			gt_output_abandon(&outputs[count]);
		else
			e = gt_output_close(&outputs[count], error);
	}
	return e;
}

static int export(const struct settings *s, struct gt_recording *recording, struct gt_error *error)
{
	struct gt_export export = { .recording = recording,
				    .tick = gt_progress_tick,
				    .weight = (enum gt_weight)s->weight,
				    .strict = s->strict };
	struct gt_output output;
	int e;

	if (wants_three_files(s, recording))
		return export_three(s, recording, error);
	e = gt_output_open(&output, s->input.output, error);
	if (e)
		return e;
	e = gt_input_frames(&s->input, recording, &export.frames, error);
	if (e) {
		gt_output_abandon(&output);
		return e;
	}
	export.out = output.file;
	export.held = gt_input_held(&s->input, export.frames);
	formats[s->format].write(&export);
	gt_progress_end();
	gt_frames_free(export.frames);
	return gt_output_close(&output, error);
}

/* Refuses a way to group that the format has no room for. */
static int check_by(struct settings *s)
{
	if (gt_option_needs(&gt_export_syntax, "by", formats[s->format].ways != BY_NONE,
			    "a format with call sites"))
		return GT_EXIT_USAGE;
	if (formats[s->format].ways == BY_ALL)
		return 0;
	return gt_by_check(&gt_export_syntax, &s->input.by, gt_by_code,
			   "events have columns for process, thread and place; choose --format "
			   "pprof, collapsed, speedscope or chrome");
}

/* Events have an outcome; what leaked in the end is no part of them. */
static int check_strict(const struct settings *s)
{
	static const char *const names[] = { "killed-is-leak", "running-is-leak" };
	gt_export_fn *write = formats[s->format].write;
	bool has_leaks = formats[s->format].ways != BY_CODE && write != gt_export_torch_snapshot &&
			 write != gt_export_torch_segments;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (gt_option_needs(&gt_export_syntax, names[i], has_leaks,
				    "--format pprof, collapsed, speedscope, chrome or prometheus"))
			return GT_EXIT_USAGE;
	return 0;
}

/* Refuses binary output on a terminal, and text in a file named as if it were compressed. */
static int check(struct settings *s)
{
	bool to_stdout = !s->input.output || !strcmp(s->input.output, "-");
	const char *promise = gt_output_promises(s->input.output);
	gt_export_fn *write = formats[s->format].write;

	if (promise && !formats[s->format].is_binary)
		return gt_syntax_wrong(&gt_export_syntax,
				       "%s is not compressed: remove %s from the name, or pipe -o "
				       "- into a compressor",
				       format_names[s->format], promise);
	if (formats[s->format].is_binary && to_stdout && isatty(STDOUT_FILENO))
		return gt_syntax_wrong(&gt_export_syntax,
				       "%s is binary and does not suit a terminal: write it to a "
				       "file with -o NAME%s",
				       format_names[s->format], formats[s->format].suffix);
	if (check_by(s) || check_strict(s))
		return GT_EXIT_USAGE;
	return gt_option_needs(&gt_export_syntax, "value",
			       write == gt_export_collapsed || write == gt_export_speedscope,
			       "--format collapsed or speedscope");
}

/* A damaged trace ends early, which the exported rows cannot show; the exit status stays 0. */
static void warn_of_damage(const struct gt_recording *recording)
{
	for (size_t i = 0; i < gt_recording_process_count(recording); i++) {
		const struct gt_process *process = gt_recording_process(recording, i);

		if (process->unread)
			gt_tell("%s; the rest was exported", process->damage);
		else if (process->damage)
			gt_tell("%s is damaged (%s); the rest was exported", process->file,
				process->damage);
	}
}

int gt_cmd_export(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_recording *recording;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_export_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status = check(&s);
	if (first >= 0 && !status)
		status = gt_input_open(&gt_export_syntax, &s.input, argc, argv, first, &recording);
	if (first < 0 || status)
		goto free_settings;
	if (export(&s, recording, &error))
		status = gt_fail("%s", error.text);
	else
		warn_of_damage(recording);
	gt_recording_close(recording);
free_settings:
	gt_input_fini(&s.input);
	return status;
}
