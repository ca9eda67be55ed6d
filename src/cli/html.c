/* html.c - gputrack html: a recording as one page that opens from disk, or served while it grows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/terminal.h"
#include "view/html.h"

struct settings {
	struct gt_source source;
};

static const struct gt_option options[] = {
	GT_SOURCE_OPTIONS(struct settings),
	{ 0 },
};

const struct gt_usage gt_html_usage = {
	.name = "html",
	.summary = "make an interactive page of a recording",
	.operands = "NAME.gt",
	.about = "Makes one file that opens in a browser from disk and asks nothing of the network: "
		 "memory and objects over time, what was alive at any moment, flame graphs, leaks, "
		 "call sites, mistakes. It is written to NAME.html beside the recording unless -o "
		 "says otherwise.",
	.options = options,
};

/* NAME.gt/ -> NAME.html */
static char *default_output(const char *path)
{
	size_t size = strlen(path);
	char *output;

	while (size > 1 && path[size - 1] == '/')
		size--;
	if (size > 3 && !strncmp(path + size - 3, ".gt", 3))
		size -= 3;
	if (asprintf(&output, "%.*s.html", (int)size, path) < 0)
		output = gt_strdup("gputrack.html");
	return output;
}

static int write_page(const struct settings *s, struct gt_recording *recording, const char *path,
		      struct gt_error *error)
{
	struct gt_frames *frames;
	struct gt_output output;
	struct gt_html *html;
	int e;

	e = gt_output_open(&output, path, error);
	if (e)
		return e;
	e = gt_source_frames(&s->source, recording, &frames, error);
	if (e) {
		gt_output_abandon(&output);
		return e;
	}
	html = gt_html_new(recording, gt_progress_tick);
	gt_progress_end();
	gt_html_begin(output.file, &(struct gt_html_page){ 0 });
	gt_html_data(html, frames, output.file);
	gt_html_end(output.file);
	gt_html_free(html);
	gt_frames_free(frames);
	return gt_output_close(&output, error);
}

int gt_cmd_html(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_recording *recording;
	struct gt_error error;
	char *path = NULL;
	int status, first = gt_options_parse(&gt_html_usage, &s, argc, argv, &status);

	if (first >= 0)
		status = gt_source_open(&gt_html_usage, &s.source, argc, argv, first, &recording);
	if (first < 0 || status)
		goto free_settings;
	if (!gt_html_is_built()) {
		status = gt_fail("this gputrack was built without the page, because uPlot was not "
				 "there; run `npm ci` in viewer/ and build it again");
		goto close_recording;
	}
	path = s.source.output ? gt_strdup(s.source.output) : default_output(argv[first]);
	if (write_page(&s, recording, path, &error))
		status = gt_fail("%s", error.text);
	else if (strcmp(path, "-"))
		fprintf(stderr, "%s\n", path);
	free(path);
close_recording:
	gt_recording_close(recording);
free_settings:
	gt_source_fini(&s.source);
	return status;
}
