/* SPDX-License-Identifier: MIT */
/* growth_window.c - the floors of one call site over the last hour and the last days. */
#include "agent/growth_window.h"

static uint64_t length(uint64_t step_ns, unsigned span)
{
	return span ? step_ns * GT_WINDOW_FACTOR : step_ns;
}

static void add(struct gt_growth_window *w, unsigned span, uint64_t step, uint64_t low,
		uint64_t held)
{
	uint64_t *floor = w->floor[span], *now = &w->step[span];

	if (!w->begun) {
		w->first[span] = *now = step;
		/* it began with nothing */
		floor[step % GT_GROWTH_STEPS] = 0;
		return;
	}
	if (low < floor[*now % GT_GROWTH_STEPS])
		floor[*now % GT_GROWTH_STEPS] = low;
	/* what passed without a call: the same as now, or the machine was asleep */
	if (step > *now + GT_GROWTH_STEPS)
		w->first[span] = *now = step - GT_GROWTH_STEPS;
	while (*now < step)
		floor[++*now % GT_GROWTH_STEPS] = held;
}

void gt_growth_window_add(struct gt_growth_window *w, uint64_t now_ns, uint64_t step_ns,
			  uint64_t low, uint64_t held)
{
	for (unsigned i = 0; i < GT_WINDOW_SPANS; i++)
		add(w, i, now_ns / length(step_ns, i), low, held);
	w->begun = true;
}

/* Those of the steps that are over, oldest first; their number. */
static size_t complete(const struct gt_growth_window *w, unsigned span, uint64_t *floors,
		       uint64_t *first)
{
	uint64_t last = w->step[span];
	size_t count = 0;

	*first = last >= GT_GROWTH_STEPS && last - GT_GROWTH_STEPS + 1 > w->first[span] ?
			 last - GT_GROWTH_STEPS + 1 :
			 w->first[span];
	for (uint64_t i = *first; i < last; i++)
		floors[count++] = w->floor[span][i % GT_GROWTH_STEPS];
	return count;
}

bool gt_growth_window_rises(const struct gt_growth_window *w, uint64_t step_ns, enum gt_kind kind,
			    struct gt_rise *r)
{
	for (unsigned i = 0; i < GT_WINDOW_SPANS && w->begun; i++) {
		uint64_t floors[GT_GROWTH_STEPS], first;
		size_t count = complete(w, i, floors, &first);

		if (!count || !gt_growth_judge_floors(floors, count, length(step_ns, i), kind, r))
			continue;
		r->since_ns += first * length(step_ns, i);
		r->until_ns += first * length(step_ns, i);
		return true;
	}
	return false;
}
