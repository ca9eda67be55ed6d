/* SPDX-License-Identifier: MIT */
/* output_mark.c - whether a call filled in a result that it may fill in even if it fails. */
#include "guest/output_mark.h"

/* An address of ours, which no driver hands out, is written where the driver may put a result. */
static uint64_t marker_of(const struct gt_guest_call *g)
{
	return (uint64_t)(uintptr_t)&g->output;
}

void gt_output_mark(struct gt_guest_call *g)
{
	g->call.filled = GT_FILLED_UNKNOWN;
	g->output = gt_call_fills(g->call.function, g->call.argv);
	if (!g->output)
		return;
	g->output_before = *g->output;
	*g->output = marker_of(g);
}

void gt_output_read(struct gt_guest_call *g)
{
	if (!g->output)
		return;
	g->call.filled = *g->output == marker_of(g) ? GT_FILLED_NOT : GT_FILLED_IN;
	if (g->call.filled == GT_FILLED_NOT)
		*g->output = g->output_before;
}
