/* replay.c - a whole recording read into a ledger, for those who want its summary. */
#include "cli/replay.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/terminal.h"
#include "view/pass.h"
#include "view/view.h"

int gt_replay_new(struct gt_replay **out, const struct gt_replay_options *options,
		  struct gt_error *error)
{
	struct gt_recording *recording;
	struct gt_replay *replay;
	int e;

	e = gt_recording_open(&recording, options->path,
			      &(struct gt_recording_options){ .pid = options->pid }, error);
	if (e)
		return e;
	replay = gt_alloc(sizeof *replay);
	replay->recording = recording;
	replay->ledger = gt_pass_run(recording, &(struct gt_pass){ .tick = gt_progress_tick,
								 .samples = true });
	gt_progress_end();
	*out = replay;
	return 0;
}

void gt_replay_free(struct gt_replay *replay)
{
	gt_ledger_free(replay->ledger);
	gt_recording_close(replay->recording);
	free(replay);
}

void gt_replay_summary(const struct gt_replay *replay, FILE *out)
{
	static const struct gt_frames_options named, nameless = { .no_symbols = true };
	struct gt_view v = { .recording = replay->recording, .ledger = replay->ledger };

	v.style = gt_terminal_style(out, GT_COLOR_AUTO);
	/* without symbols there is still a report */
	if (gt_frames_new(&v.frames, v.recording, &named) &&
	    gt_frames_new(&v.frames, v.recording, &nameless))
		return;
	gt_summary_text(&v, out);
	gt_frames_free(v.frames);
}
