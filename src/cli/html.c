/* html.c - gputrack html: a recording as one page that opens from disk, or served while it grows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "table/kind.h"
#include "view/html.h"

struct settings {
	struct gt_source source;
	uint64_t threshold_kb;
};

static const struct gt_option options[] = {
	{ .name = "threshold", .argument = "KB", .type = GT_OPTION_COUNT,
	  .at = offsetof(struct settings, threshold_kb),
	  .help = "in a tracker's CSV, take a call that destroys for a leak when memory rose by "
		  "more than so many KB; 100 otherwise" },
	GT_SOURCE_OPTIONS(struct settings),
	{ 0 },
};

const struct gt_usage gt_html_usage = {
	.name = "html",
	.summary = "make an interactive page of a recording",
	.operands = "NAME.gt|TRACKER.csv",
	.about = "Makes one file that opens in a browser from disk and asks nothing of the network: "
		 "memory and objects over time, what was alive at any moment, flame graphs, leaks, "
		 "call sites, mistakes; of a resource tracker's CSV its twelve charts. It is written "
		 "to NAME.html beside the recording or CSV unless -o says otherwise.",
	.options = options,
};

/* NAME.gt/ -> NAME.html, NAME.csv -> NAME.html */
static char *default_output(const char *path)
{
	static const char *const endings[] = { ".gt", ".csv", ".trace" };
	size_t size = strlen(path);
	char *output;

	while (size > 1 && path[size - 1] == '/')
		size--;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t length = strlen(endings[i]);

		if (size > length && !strncmp(path + size - length, endings[i], length)) {
			size -= length;
			break;
		}
	}
	if (asprintf(&output, "%.*s.html", (int)size, path) < 0)
		output = gt_strdup("gputrack.html");
	return output;
}

static int write_recording(const struct settings *s, struct gt_recording *recording, FILE *out,
			   struct gt_error *error)
{
	struct gt_frames *frames;
	struct gt_html *html;
	int e = gt_source_frames(&s->source, recording, &frames, error);

	if (e)
		return e;
	html = gt_html_new(recording, gt_progress_tick);
	gt_progress_end();
	gt_html_begin(out, &(struct gt_html_page){ 0 });
	gt_html_data(html, frames, out);
	gt_html_end(out);
	gt_html_free(html);
	gt_frames_free(frames);
	return 0;
}

static int write_tracker(const struct settings *s, const char *path, FILE *out,
			 struct gt_error *error)
{
	struct gt_tracker_table *table;
	struct gt_error why = { "" };
	struct gt_rows rows;
	int e = gt_rows_open(&rows, path, error);

	if (e)
		return e;
	if (gt_table_kind(&rows) != GT_TABLE_TRACKER)
		e = gt_error_set(error, -EINVAL, "%s is neither a recording nor a resource tracker's "
				 "CSV; `gputrack plot` draws other tables", path);
	else if (gt_tracker_read(&table, &rows, (double)s->threshold_kb, &why))
		e = gt_error_set(error, -EINVAL, "cannot draw %s: %s", path, why.text);
	gt_rows_close(&rows);
	if (e)
		return e;
	gt_html_begin(out, &(struct gt_html_page){ 0 });
	gt_html_tracker_data(table, path, out);
	gt_html_end(out);
	gt_tracker_free(table);
	return 0;
}

/* `recording` NULL: `input` is a table. */
static int write_page(const struct settings *s, struct gt_recording *recording, const char *input,
		      struct gt_error *error)
{
	char *path = s->source.output ? gt_strdup(s->source.output) : default_output(input);
	struct gt_output output;
	int e = gt_output_open(&output, path, error);

	if (e)
		goto free_path;
	e = recording ? write_recording(s, recording, output.file, error) :
			write_tracker(s, input, output.file, error);
	if (e)
		gt_output_abandon(&output);
	else
		e = gt_output_close(&output, error);
	if (!e && strcmp(path, "-"))
		fprintf(stderr, "gputrack: wrote %s\n", path);
free_path:
	free(path);
	return e;
}

/* A plain file that is no trace. */
static bool is_table(const char *path)
{
	struct gt_trace_header header;
	struct gt_error error;
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && !S_ISDIR(st.st_mode) &&
				      gt_trace_header_read(&header, path, &error));
}

int gt_cmd_html(int argc, char **argv)
{
	struct settings s = { .threshold_kb = GT_TRACKER_THRESHOLD_KB };
	struct gt_recording *recording = NULL;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_html_usage, &s, argc, argv, &status);

	if (first < 0)
		goto free_settings;
	if (!gt_html_is_built()) {
		status = gt_fail("this gputrack was built without the page, because uPlot was not "
				 "there; run `npm ci` in viewer/ and build it again");
		goto free_settings;
	}
	status = 0;
	if (argc - first != 1 || !is_table(argv[first]))
		status = gt_source_open(&gt_html_usage, &s.source, argc, argv, first, &recording);
	if (!status && write_page(&s, recording, argv[first], &error))
		status = gt_fail("%s", error.text);
	if (recording)
		gt_recording_close(recording);
free_settings:
	gt_source_fini(&s.source);
	return status;
}
