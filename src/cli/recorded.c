/* SPDX-License-Identifier: MIT */
/* recorded.c - a whole recording read into a ledger, for those who want its summary. */
#include "cli/recorded.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/output.h"
#include "judge/verdict.h"
#include "replay/group_text.h"
#include "replay/replay.h"
#include "report/analyses.h"

enum { PEAK_PART = 1000 };

int gt_recorded_new(struct gt_recorded **out, const struct gt_recorded_options *options,
		    struct gt_error *error)
{
	static const struct gt_frames_options named, nameless = { .no_symbols = true };
	struct gt_recording *recording;
	struct gt_recorded *replay;
	int e;

	e = gt_recording_open(&recording, options->path,
			      &(struct gt_recording_options){ .pid = options->pid }, error);
	if (e)
		return e;
	replay = gt_alloc(sizeof *replay);
	replay->recording = recording;
	replay->ledger = gt_replay_run(
		recording,
		&(struct gt_replay){ .tick = gt_progress_tick, .samples = true, .growth = true });
	gt_progress_end();
	/* without symbols there is still a report */
	e = gt_frames_new(&replay->frames, recording, &named);
	if (e)
		e = gt_frames_new(&replay->frames, recording, &nameless);
	if (e) {
		gt_recorded_free(replay);
		return gt_error_set(error, e, "cannot look at stacks");
	}
	*out = replay;
	return 0;
}

void gt_recorded_free(struct gt_recorded *replay)
{
	gt_frames_free(replay->frames);
	gt_ledger_free(replay->ledger);
	gt_recording_close(replay->recording);
	free(replay);
}

/* What diff and baseline tell again: leaks, and whoever held a part of the peak to speak of. */
static bool is_worth_a_name(const struct gt_ledger *l, const struct gt_site *s)
{
	return s->live || (s->bytes_at_peak && s->bytes_at_peak >= l->peak_bytes / PEAK_PART &&
			   gt_kind_on_device((enum gt_kind)s->kind));
}

int gt_recorded_keep_names(const struct gt_recorded *replay, struct gt_error *error)
{
	const struct gt_ledger *l = replay->ledger;
	struct gt_legend *legend;
	struct gt_rise *rises;
	size_t count;
	char *path;
	int e;

	if (!l->live.count && !l->peak_bytes)
		return 0;
	if (asprintf(&path, "%s/legend", gt_recording_path(replay->recording)) < 0)
		return gt_error_set(error, -ENOMEM, "out of memory");
	legend = gt_legend_new();
	for (size_t i = 0; i < l->site_count; i++)
		if (is_worth_a_name(l, &l->sites[i]))
			gt_frames_remember(replay->frames, l->sites[i].stack, legend);
	rises = gt_view_rises(l, &count);
	for (size_t i = 0; i < count; i++)
		gt_frames_remember(replay->frames, l->sites[rises[i].site].stack, legend);
	free(rises);
	e = gt_legend_write(legend, path, error);
	gt_legend_free(legend);
	free(path);
	return e;
}

struct gt_view gt_recorded_view(const struct gt_recorded *replay, FILE *out)
{
	return (struct gt_view){ .recording = replay->recording,
				 .ledger = replay->ledger,
				 .frames = replay->frames,
				 .verdict = replay->verdict,
				 .style = gt_terminal_style(out, GT_COLOR_AUTO) };
}

void gt_recorded_summary(const struct gt_recorded *replay, FILE *out)
{
	struct gt_view v = gt_recorded_view(replay, out);
	struct gt_printer p;

	gt_summary_text(&v, out);
	if (!v.verdict)
		return;
	gt_print_init(&p, out, &v.style);
	gt_print_end(&p);
	gt_verdict_text(v.verdict, &p);
}
