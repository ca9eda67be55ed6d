/* SPDX-License-Identifier: MIT */
/* html.c - gputrack html: writes recordings as one HTML page, or serves one while it grows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/fail_options.h"
#include "cli/html_tests.h"
#include "cli/output.h"
#include "cli/input.h"
#include "judge/difference.h"
#include "page/server.h"
#include "plot/read_rows.h"
#include "page/page.h"

enum { PAIR_ROWS_MAX = 250 }; /* call sites in each list of a comparison */

struct settings {
	struct gt_input input;
	const char *path; /* the recording, CSV or folder; of several operands, the first */
	const char *now;  /* the recording that it is compared with; NULL: none */
	bool is_several;  /* the recordings are those in `found` */
	struct gt_recordings found;
	int operands;
	uint64_t threshold_kb, port;
	const char *listen;
	bool serve;
	struct gt_fail_options fail; /* of several recordings; its strictness of any */
};

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "threshold", .argument = "KB", .type = GT_OPTION_COUNT,
	  .at = offsetof(struct settings, threshold_kb),
	  .local = GT_LOCAL_YES,
	  .help = "in a tracker's CSV, report what the driver kept as a leak if it is more than KB "
		  "(default: 100)" },
	{ .name = "serve", .type = GT_OPTION_FLAG, .at = offsetof(struct settings, serve),
	  .help = "serve the page to a browser on this machine instead of writing a file, and "
		  "update it while the recording grows; the printed address contains a secret "
		  "token" },
	{ .name = "follow", .type = GT_OPTION_FLAG, .at = offsetof(struct settings, serve) },
	{ .name = "port", .argument = "PORT", .type = GT_OPTION_COUNT, .most = UINT16_MAX,
	  .at = offsetof(struct settings, port),
	  .help = "serve on this port (default: any free port)" },
	{ .name = "listen", .argument = "ADDRESS", .type = GT_OPTION_TEXT,
	  .at = offsetof(struct settings, listen),
	  .help = "serve on this numeric address instead of 127.0.0.1: other machines can then "
		  "connect, and the traffic is not encrypted" },
	{ .name = "output", .letter = 'o', .argument = "FILE", .type = GT_OPTION_TEXT,
	  GT_INPUT_AT(struct settings, output),
	  .help = "write to FILE instead of NAME.html (-: stdout)" },
	GT_BY_OPTION(GT_INPUT_AT(struct settings, by), "process, thread, device or phase"),
	GT_KNOWN_OPTIONS(struct settings),
	GT_STRICT_OPTIONS(offsetof(struct settings, fail) +
			  offsetof(struct gt_fail_options, strict)),
	GT_INPUT_READING(struct settings),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_html_syntax = {
	.name = "html",
	.summary = "write an interactive HTML page of recordings",
	.operands = "NAME.gt|TRACKER.csv|OLD.gt NEW.gt|DIR...",
	.about = "Writes one self-contained file that a browser opens from disk, without the "
		 "network. It shows memory and resources over time, what was alive at any moment, "
		 "flame graphs, leaks, call sites and mistakes, and, if the program ran with "
		 "--csv, the resource tracker's twelve charts. For a tracker's CSV it shows only "
		 "these charts. The file is NAME.html beside the recording or CSV unless -o names "
		 "another.\nFor two recordings it shows what `gputrack diff` says, with both "
		 "timelines and a differential flame graph; the file is NEW-diff.html.\nFor a "
		 "folder of recordings, or three and more, it shows a table of their tests (a "
		 "recording's name without .gt), each leak once with the tests that have it, and "
		 "the page of each recording. The file is DIR.html, or gputrack.html.",
	.options = options,
};

/* NAME.gt/, NAME.csv, folder NAME -> NAME.html; of two recordings, NEW.gt -> NEW-diff.html */
static char *default_output(const struct settings *s)
{
	const char *path = s->now ? s->now : s->path;

	static const char *const endings[] = { ".gt", ".csv", ".trace" };
	char *stem = gt_output_stem(path), *output;
	size_t size = strlen(stem);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t length = strlen(endings[i]);

		if (size > length && !strcmp(stem + size - length, endings[i])) {
			size -= length;
			break;
		}
	}
	/* no name that begins with a dash: every tool would take it for an option */
	if (!strcmp(path, "-") || (s->operands > 1 && !s->now) ||
	    asprintf(&output, "%.*s%s.html", (int)size, stem, s->now ? "-diff" : "") < 0)
		output = gt_strdup("gputrack.html");
	free(stem);
	return output;
}

/* A recording, and what its page shows. */
struct collected {
	struct gt_recording *recording;
	struct gt_frames *frames;
	struct gt_page *page;
};

static int collect(struct collected *c, const struct settings *s, const char *path,
		   struct gt_error *error)
{
	int e = gt_input_load(&s->input, path, &c->recording, &c->frames, error);

	if (e)
		return e;
	c->page = gt_page_new(c->recording, c->frames, gt_input_held(&s->input, c->frames),
			      gt_progress_tick);
	c->page->strict = s->fail.strict;
	return 0;
}

static void drop(struct collected *c)
{
	if (!c->page)
		return;
	gt_page_free(c->page);
	gt_frames_free(c->frames);
	gt_recording_close(c->recording);
}

/* `context` is the settings. */
static int recording_data(void *context, const char *path, FILE *out, struct gt_error *error)
{
	const struct settings *s = context;
	struct collected c = { 0 };
	int e = collect(&c, s, path, error);

	if (e)
		return e;
	gt_page_data(c.page, (double)s->threshold_kb, out);
	gt_progress_end();
	drop(&c);
	return 0;
}

/* What `gputrack diff` has. */
static void diff_data(const struct collected sides[2], const struct settings *s, FILE *out)
{
	struct gt_view views[2];
	const struct gt_view *lists[2] = { &views[0], &views[1] };
	struct gt_diff *d = gt_diff_new();

	for (int i = 0; i < 2; i++) {
		views[i] = (struct gt_view){ .recording = sides[i].recording,
					     .ledger = sides[i].page->sets[0].ledger,
					     .frames = sides[i].frames,
					     .strict = s->fail.strict };
		gt_diff_take(d, i ? GT_DIFF_OF_NEW : GT_DIFF_OF_OLD, i ? s->now : s->path,
			     &(struct gt_views){ &lists[i], 1 });
	}
	gt_diff_compare(d, NULL);
	gt_diff_page_json(d, PAIR_ROWS_MAX, out);
	gt_diff_free(d);
}

static int pair_data(const struct settings *s, FILE *out, struct gt_error *error)
{
	struct collected sides[2] = { 0 };
	int e = collect(&sides[0], s, s->path, error);

	if (!e)
		e = collect(&sides[1], s, s->now, error);
	if (!e) {
		fputs("{\"old\":", out);
		gt_page_data(sides[0].page, (double)s->threshold_kb, out);
		fputs(",\"new\":", out);
		gt_page_data(sides[1].page, (double)s->threshold_kb, out);
		fputs(",\"diff\":", out);
		diff_data(sides, s, out);
		fputs("}", out);
	}
	gt_progress_end();
	drop(&sides[0]);
	drop(&sides[1]);
	return e;
}

static int tracker_data(const struct settings *s, FILE *out, struct gt_error *error)
{
	struct gt_tracker_table *table;
	struct gt_error why = { "" };
	struct gt_rows rows;
	int e = gt_rows_open(&rows, s->path, &why);

	if (e)
		return gt_error_set(error, e, "cannot read %s: %s", s->path, why.text);
	if (gt_table_kind(&rows) != GT_TABLE_TRACKER)
		e = gt_error_set(error, -EINVAL,
				 "%s is neither a recording nor a resource tracker's CSV; `%s "
				 "plot` accepts other tables",
				 s->path, gt_tool_name());
	else if (gt_tracker_read(&table, &rows, (double)s->threshold_kb, &why))
		e = gt_error_set(error, -EINVAL, "cannot read %s: %s", s->path, why.text);
	gt_rows_close(&rows);
	if (e)
		return e;
	gt_page_tracker_data(table, s->path, out);
	gt_tracker_free(table);
	return 0;
}

/* `context` is the settings, so that the server can call it too. */
static int write_data(void *context, FILE *out, struct gt_error *error)
{
	struct settings *s = context;

	if (s->now)
		return pair_data(s, out, error);
	if (s->is_several)
		return gt_html_tests_data(&(struct gt_html_tests){ .found = &s->found,
								   .input = &s->input,
								   .fail = &s->fail,
								   .write_page = recording_data,
								   .context = s },
					  out, error);
	return gt_input_is_table(s->path) ? tracker_data(s, out, error) :
					    recording_data(s, s->path, out, error);
}

static int write_page(struct settings *s, struct gt_error *error)
{
	char *path = s->input.output ? gt_strdup(s->input.output) : default_output(s);
	char *data = NULL;
	size_t size;
	FILE *made = gt_memstream(&data, &size);
	struct gt_output output;
	/* all data first: a pipe cannot be taken back when this fails */
	int e = write_data(s, made, error);

	gt_memstream_close(made);
	if (!e)
		e = gt_output_open(&output, path, error);
	if (!e) {
		gt_page_begin(output.file, GT_PAGE_FILE);
		fwrite(data, 1, size, output.file);
		gt_page_end(output.file);
		e = gt_output_close(&output, error);
		if (!e && strcmp(path, "-"))
			gt_tell("wrote %s", path);
	}
	free(data);
	free(path);
	return e;
}

#ifdef GT_HAVE_SERVER
static void served_at(void *context, const char *url)
{
	(void)context;
	printf("%s\n", url);
	fflush(stdout);
	fputs("gputrack: open this address in a browser on this machine; press Ctrl-C to stop\n",
	      stderr);
}

static int serve_page(struct settings *s, struct gt_error *error)
{
	return gt_serve_run(&(struct gt_serve){ .address = s->listen ? s->listen : "127.0.0.1",
						.port = (uint16_t)s->port,
						.write_data = write_data,
						.ready = served_at,
						.context = s },
			    error);
}

#else

static int serve_page(struct settings *s, struct gt_error *error)
{
	return gt_error_set(error, -ENOSYS,
			    "this gputrack was built without --serve: install libmicrohttpd-dev "
			    "and rebuild it");
}

#endif

/* Two recordings are compared; more, and folders of them, are shown together. */
static void take_operands(struct settings *s, char **operands, int count)
{
	s->operands = count;
	s->path = operands[0];
	s->is_several = count > 2;
	for (int i = 0; i < count; i++)
		s->is_several |= gt_recordings_is_folder(operands[i]);
	if (s->is_several)
		gt_recordings_find(&s->found, operands, (size_t)count);
	else if (count == 2)
		s->now = operands[1];
	s->input.compares = s->now;
}

/* 0, or the exit status after a message. */
static int check(const struct settings *s)
{
	static const char folder[] = "a folder of recordings, or several";

	if (!s->operands)
		return gt_syntax_wrong(&gt_html_syntax,
				       "needs a recording, NAME.gt, or a tracker's CSV");
	for (size_t i = 0; i < s->found.count; i++)
		if (gt_input_is_table(s->found.paths[i]))
			return gt_syntax_wrong(&gt_html_syntax,
					       "shows one CSV, or recordings: %s is no recording",
					       s->found.paths[i]);
	if (s->is_several && s->serve)
		return gt_syntax_wrong(&gt_html_syntax, "--serve takes one recording");
	if (s->now && s->serve)
		return gt_syntax_wrong(&gt_html_syntax, "--serve takes one recording");
	if (s->now && (gt_input_is_table(s->path) || gt_input_is_table(s->now)))
		return gt_syntax_wrong(&gt_html_syntax, "compares recordings, not CSV files");
	if (!s->serve && (s->listen || s->port))
		return gt_syntax_wrong(&gt_html_syntax, "--port and --listen need --serve");
	if (s->serve && s->input.output)
		return gt_syntax_wrong(&gt_html_syntax, "--serve writes no file: remove -o");
	if (gt_option_needs(&gt_html_syntax, "suppressions", s->is_several, folder) ||
	    gt_option_needs(&gt_html_syntax, "baseline", s->is_several, folder))
		return GT_EXIT_USAGE;
	if (!gt_page_is_built())
		return gt_fail("this gputrack was built without the HTML page: run `npm ci` in "
			       "viewer/ to fetch uPlot, then rebuild it");
	return 0;
}

int gt_cmd_html(int argc, char **argv)
{
	struct settings s = { .threshold_kb = GT_RESIDUE_LEAK_KB };
	struct gt_error error;
	int status, first = gt_options_parse(&gt_html_syntax, &s, argc, argv, &status);

	if (first < 0)
		goto free_settings;
	take_operands(&s, argv + first, argc - first);
	status = check(&s);
	if (!status && s.is_several)
		status = gt_fail_options_open(&s.fail, &gt_html_syntax, &s.input);
	if (!status && (s.serve ? serve_page : write_page)(&s, &error)) {
		char *hint = gt_input_pid_hint(s.path);

		status = gt_fail("%s%s", error.text, hint);
		free(hint);
	}
free_settings:
	gt_recordings_fini(&s.found);
	gt_fail_options_fini(&s.fail);
	gt_input_fini(&s.input);
	return status;
}
