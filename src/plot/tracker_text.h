/* SPDX-License-Identifier: MIT */
/* tracker_text.h - a tracker's CSV in words, and the orders that its charts and its text share. */
#pragma once

#include "plot/read_tracker.h"

typedef double gt_call_rank(const struct gt_call_stats *call);

/* How often it was called; MB of its calls' deltas, and of one on average; MB that they leaked. */
gt_call_rank gt_call_by_count, gt_call_by_impact, gt_call_by_average, gt_call_by_leak;
/* The calls by magnitude, without those that are 0; the caller frees the list. */
struct gt_call_stats **gt_calls_ranked(const struct gt_tracker_table *t, gt_call_rank *rank,
				       size_t *count);
/* "zeFenceDestroy: 6.25 MB in 100 calls" */
void gt_creep_format(char *out, size_t size, const struct gt_call_stats *call);

/* True where increases that may be the program's own are all that the file has to show. */
static inline bool gt_tracker_cannot_tell(const struct gt_tracker_table *t)
{
	return t->basis == GT_BASIS_NONE && (t->rises || t->creeps);
}
