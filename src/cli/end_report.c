/* SPDX-License-Identifier: MIT */
/* end_report.c - the report at the end of `run` and `attach`: the recording's summary. */
#include "cli/end_report.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/output.h"
#include "judge/verdict.h"
#include "replay/growth_text.h"
#include "replay/replay.h"
#include "report/analyses.h"

enum { PEAK_PART = 1000 };

int gt_end_report_open(struct gt_view *v, const char *path, FILE *out,
		       const struct gt_own_rules *own, const char *const *search,
		       struct gt_error *error)
{
	char *known = gt_known_names_folder();
	const struct gt_frames_options named = { .own = *own,
						 .jit_maps = true,
						 .symbol = { .search = search },
						 .known = { .folder = known } };
	const struct gt_frames_options nameless = { .own = *own, .no_symbols = true };
	struct gt_recording *recording;
	struct gt_frames *frames;
	int e = gt_recording_open(&recording, path, NULL, error);

	if (e) {
		free(known);
		return e;
	}
	/* without symbols there is still a report */
	e = gt_frames_new(&frames, recording, &named);
	if (e)
		e = gt_frames_new(&frames, recording, &nameless);
	free(known);
	if (e) {
		gt_recording_close(recording);
		return gt_error_set(error, e, "cannot resolve stacks");
	}
	*v = (struct gt_view){
		.recording = recording,
		.show_held = v->show_held,
		.no_held = v->no_held,
		.ledger = gt_replay_run(recording,
					&(struct gt_replay){ .tick = gt_progress_tick,
							     .held = v->no_held ? NULL : frames,
							     .samples = true,
							     .growth = true }),
		.frames = frames,
		.style = gt_terminal_style(out, GT_COLOR_AUTO),
	};
	gt_progress_end();
	return 0;
}

void gt_end_report_close(struct gt_view *v)
{
	gt_frames_free(v->frames);
	gt_ledger_free((struct gt_ledger *)v->ledger); /* const for readers */
	gt_recording_close(v->recording);
}

/* What diff and baseline show later: leaks, and sites with a notable part of the peak. */
static bool is_worth_a_name(const struct gt_ledger *l, const struct gt_site *s)
{
	return s->live || (s->bytes_at_peak && s->bytes_at_peak >= l->peak_bytes / PEAK_PART &&
			   gt_kind_on_device((enum gt_kind)s->kind));
}

int gt_end_report_save_names(const struct gt_view *v, bool all, struct gt_error *error)
{
	const struct gt_ledger *l = v->ledger;
	struct gt_legend *legend;
	struct gt_rise *rises;
	size_t count;
	char *path;
	int e;

	if (!l->live.count && !l->peak_bytes && !all)
		return 0;
	if (asprintf(&path, "%s/legend", gt_recording_path(v->recording)) < 0)
		return gt_error_set(error, -ENOMEM, "out of memory");
	legend = gt_legend_new();
	for (size_t i = 0; i < l->site_count; i++)
		if (all || is_worth_a_name(l, &l->sites[i]))
			gt_frames_remember(v->frames, l->sites[i].stack, legend);
	rises = gt_view_rises(v, &count);
	for (size_t i = 0; i < count; i++)
		gt_frames_remember(v->frames, l->sites[rises[i].site].stack, legend);
	free(rises);
	e = gt_legend_write(legend, path, error);
	gt_legend_free(legend);
	free(path);
	return e;
}

void gt_end_report_print(const struct gt_view *v, FILE *out)
{
	struct gt_printer p;

	gt_summary_text(v, out);
	if (!v->verdict)
		return;
	gt_print_init(&p, out, &v->style);
	gt_print_end(&p);
	gt_verdict_text(v->verdict, &p);
}
