/* SPDX-License-Identifier: MIT */
/* judged.c - several recordings, replayed and judged together. */
#include "cli/judged.h"

#include <stdlib.h>

#include "cli/output.h"
#include "replay/replay.h"

void gt_judged_init(struct gt_judged *all, struct gt_loaded *loaded, size_t count,
		    const struct gt_judge_how *how)
{
	*all = (struct gt_judged){ .loaded = loaded,
				   .verdicts = gt_alloc(count * sizeof *all->verdicts),
				   .list = gt_alloc(count * sizeof *all->list) };
	for (size_t i = 0; i < count; i++) {
		struct gt_loaded *one = &loaded[i];
		struct gt_view *v = &one->view;

		v->style = how->style;
		v->top = how->top;
		gt_fail_options_apply(how->fail, v);
		v->ledger = one->ledger = gt_replay_run(
			one->recording,
			&(struct gt_replay){ .held = gt_input_held(how->input, v->frames),
					     .growth = how->shows_growth || v->judges_growth,
					     .tick = gt_progress_tick });
		gt_fail_options_judge(how->fail, &all->verdicts[i], v);
		v->verdict = &all->verdicts[i];
		all->list[i] = v;
	}
	gt_progress_end();
	all->views = (struct gt_views){ all->list, count };
	gt_tests_init(&all->tests, &all->views);
}

void gt_judged_fini(struct gt_judged *all)
{
	for (size_t i = 0; i < all->views.count; i++)
		gt_verdict_fini(&all->verdicts[i]);
	gt_tests_fini(&all->tests);
	gt_recordings_unload(all->loaded, all->views.count);
	free(all->verdicts);
	free(all->list);
}
