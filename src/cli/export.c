/* export.c - gputrack export: all events of a recording for other tools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "view/events.h"

enum format { FORMAT_TSV, FORMAT_JSON };

static const char *const format_names[] = { [FORMAT_TSV] = "tsv", [FORMAT_JSON] = "json", NULL };

struct settings {
	int format;
	const char *output;
	uint64_t pid;
	bool all_frames, debuginfod, no_symbols;
	struct gt_texts symbols;
};

#define AT(field) .at = offsetof(struct settings, field)

static const struct gt_option options[] = {
	{ .name = "format", .letter = 'f', .argument = "FORM", .type = GT_OPTION_CHOICE, AT(format),
	  .choices = format_names,
	  .help = "tsv (the default) or json, with one event a line in both" },
	{ .name = "output", .letter = 'o', .argument = "FILE", .type = GT_OPTION_TEXT, AT(output),
	  .help = "write to FILE instead of the terminal" },
	{ .name = "pid", .letter = 'p', .argument = "PID", .type = GT_OPTION_COUNT, AT(pid),
	  .help = "only this process" },
	{ .name = "all-frames", .type = GT_OPTION_FLAG, AT(all_frames),
	  .help = "with the API loader's frames and the C library's start-up frames" },
	{ .name = "symbols", .argument = "DIR", .type = GT_OPTION_TEXTS, AT(symbols),
	  .help = "look for programs, libraries and debug files in DIR first; may be given several "
		  "times" },
	{ .name = "debuginfod", .type = GT_OPTION_FLAG, AT(debuginfod),
	  .help = "fetch missing debug files from the servers in DEBUGINFOD_URLS" },
	{ .name = "no-symbols", .type = GT_OPTION_FLAG, AT(no_symbols),
	  .help = "modules and offsets only; opens none of the recorded programs" },
	{ 0 },
};

const struct gt_usage gt_export_usage = {
	.name = "export",
	.summary = "write all events of a recording as TSV or JSON",
	.operands = "NAME.gt",
	.about = "Writes all events of a recording, in order of time: time_ns since its start, "
		 "pid, tid, function, effect, api, kind, handle, bytes, owner, place, outcome "
		 "(done, failed, unfinished: the process ended in the call), result, stack.",
	.options = options,
};

static void write_events(struct gt_events *events, struct gt_recording *recording, int format)
{
	struct gt_event event;
	uint32_t process;
	uint64_t count = 0;

	if (format == FORMAT_JSON)
		gt_events_json_begin(events);
	else
		gt_events_tsv_begin(events);
	while (gt_recording_next(recording, &event, &process) > 0 && !ferror(events->out)) {
		if (format == FORMAT_JSON)
			gt_events_json(events, &event, process);
		else
			gt_events_tsv(events, &event, process);
		if (++count % 4096 == 0)
			gt_progress_tick(count);
	}
	if (format == FORMAT_JSON)
		gt_events_json_end(events);
	gt_progress_end();
}

static int export(const struct settings *s, struct gt_recording *recording, struct gt_error *error)
{
	struct gt_events events = { .recording = recording };
	struct gt_output output;
	int e;

	e = gt_output_open(&output, s->output, error);
	if (e)
		return e;
	e = gt_frames_new(&events.frames, recording, &(struct gt_frames_options){
		.no_symbols = s->no_symbols, .all_frames = s->all_frames,
		.symbol = { .debuginfod = s->debuginfod, .search = s->symbols.items } });
	if (e) {
		gt_output_abandon(&output);
		return gt_error_set(error, e, "cannot look up symbols: %s; try --no-symbols",
				    strerror(-e));
	}
	events.out = output.file;
	write_events(&events, recording, s->format);
	gt_frames_free(events.frames);
	return gt_output_close(&output, error);
}

/* A damaged trace ends early; the rows cannot say so, and the exit status stays 0. */
static void tell_damage(const struct gt_recording *recording)
{
	for (size_t i = 0; i < gt_recording_process_count(recording); i++) {
		const struct gt_process *process = gt_recording_process(recording, i);

		if (process->damage)
			gt_fail("%s is damaged (%s), what came before was exported", process->file,
				process->damage);
	}
}

int gt_cmd_export(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_recording *recording;
	struct gt_error error;
	int e, status, first = gt_options_parse(&gt_export_usage, &s, argc, argv, &status);

	if (first < 0)
		goto free_settings;
	if (argc - first != 1 || s.pid > UINT32_MAX) {
		status = s.pid > UINT32_MAX ? gt_usage_wrong(&gt_export_usage, "--pid is too big") :
			 gt_usage_wrong(&gt_export_usage, argc == first ?
					"needs a recording, NAME.gt" : "takes one recording");
		goto free_settings;
	}
	status = GT_EXIT_DONE;
	e = gt_recording_open(&recording, argv[first],
			      &(struct gt_recording_options){ .pid = (uint32_t)s.pid }, &error);
	if (e) {
		status = gt_fail("%s%s", error.text,
				 e == -ENOENT ? "; `gputrack run` makes recordings" : "");
		goto free_settings;
	}
	if (export(&s, recording, &error))
		status = gt_fail("%s", error.text);
	else
		tell_damage(recording);
	gt_recording_close(recording);
free_settings:
	gt_texts_fini(&s.symbols);
	return status;
}
