/* SPDX-License-Identifier: MIT */
/* source.c - what every subcommand on a recording shares. */
#include "cli/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

int gt_source_open(const struct gt_syntax *usage, const struct gt_source *source, int argc,
		   char **argv, int first, struct gt_recording **recording)
{
	struct gt_recording_options options = { .pid = (uint32_t)source->pid };
	struct gt_error error;
	int e;

	if (source->pid > UINT32_MAX)
		return gt_syntax_wrong(usage, "--pid is too big");
	if (argc - first != 1)
		return gt_syntax_wrong(usage, argc == first ? "needs a recording, NAME.gt" :
							      "takes one recording");
	e = gt_recording_open(recording, argv[first], &options, &error);
	return e ? gt_fail("%s", error.text) : 0;
}

/* A folder that is mistyped would only show in that names are missing. */
static int check_folders(const struct gt_texts *folders, struct gt_error *error)
{
	struct stat st;

	for (size_t i = 0; i < folders->count; i++) {
		int e = stat(folders->items[i], &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

		if (e)
			return gt_error_set(error, -e,
					    "cannot look for symbols in %s: %s; name "
					    "another folder with --symbols",
					    folders->items[i], strerror(e));
	}
	return 0;
}

int gt_source_frames(const struct gt_source *source, const struct gt_recording *recording,
		     struct gt_frames **frames, struct gt_error *error)
{
	struct gt_frames_options options = {
		.no_symbols = source->no_symbols,
		.all_frames = source->all_frames,
		.symbol = { .debuginfod = source->debuginfod, .search = source->symbols.items },
	};
	int e = check_folders(&source->symbols, error);

	if (e)
		return e;
	e = gt_frames_new(frames, recording, &options);
	return e ? gt_error_set(error, e, "cannot look up symbols: %s; try --no-symbols",
				strerror(-e)) :
		   0;
}

void gt_source_fini(struct gt_source *source)
{
	gt_texts_fini(&source->symbols);
}

bool gt_source_is_table(const char *path)
{
	struct gt_trace_header header;
	struct gt_error error;
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && !S_ISDIR(st.st_mode) &&
				      gt_trace_header_read(&header, path, &error));
}
