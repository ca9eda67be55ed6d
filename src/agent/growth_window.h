/* SPDX-License-Identifier: MIT */
/*
 * growth_window.h - the floors of one call site over the last hour and the last days, and whether
 * it grows.
 *
 * A recording has an end, and one series of steps from its start will do for it. The agent's has
 * none: it keeps the latest GT_GROWTH_STEPS steps in two lengths, so that a leak is found within
 * the hour however long the process ran before, and a slow one within days.
 */
#pragma once

#include "ledger/growing_sites.h"

enum { GT_WINDOW_SPANS = 2, GT_WINDOW_FACTOR = 60 }; /* the second one's steps are longer */

/* Zeroed is empty. */
struct gt_growth_window {
	uint64_t floor[GT_WINDOW_SPANS][GT_GROWTH_STEPS];       /* rings, by number of the step */
	uint64_t first[GT_WINDOW_SPANS], step[GT_WINDOW_SPANS]; /* first: known; step: the latest */
	bool begun;
};

/*
 * A site held at least `low` since the last call, and holds `held` now. `step_ns` is the length of
 * the shorter steps, always the same.
 */
void gt_growth_window_add(struct gt_growth_window *w, uint64_t now_ns, uint64_t step_ns,
			  uint64_t low, uint64_t held);
/* True if it rises in one of the spans; `r` as gt_growth_judge_floors has it, with real times. */
bool gt_growth_window_rises(const struct gt_growth_window *w, uint64_t step_ns, enum gt_kind kind,
			    struct gt_rise *r);
