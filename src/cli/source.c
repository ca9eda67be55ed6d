/* source.c - what every subcommand on a recording shares. */
#include "cli/source.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"

int gt_source_open(const struct gt_usage *usage, const struct gt_source *source, int argc,
		   char **argv, int first, struct gt_recording **recording)
{
	struct gt_recording_options options = { .pid = (uint32_t)source->pid };
	struct gt_error error;
	int e;

	if (source->pid > UINT32_MAX)
		return gt_usage_wrong(usage, "--pid is too big");
	if (argc - first != 1)
		return gt_usage_wrong(usage, argc == first ? "needs a recording, NAME.gt" :
							     "takes one recording");
	e = gt_recording_open(recording, argv[first], &options, &error);
	return e ? gt_fail("%s", error.text) : 0;
}

int gt_source_frames(const struct gt_source *source, const struct gt_recording *recording,
		     struct gt_frames **frames, struct gt_error *error)
{
	struct gt_frames_options options = {
		.no_symbols = source->no_symbols,
		.all_frames = source->all_frames,
		.symbol = { .debuginfod = source->debuginfod, .search = source->symbols.items },
	};
	int e = gt_frames_new(frames, recording, &options);

	return e ? gt_error_set(error, e, "cannot look up symbols: %s; try --no-symbols",
				strerror(-e)) : 0;
}

void gt_source_fini(struct gt_source *source)
{
	gt_texts_fini(&source->symbols);
}
