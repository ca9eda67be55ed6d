/* SPDX-License-Identifier: MIT */
/* call_entry.h - what is recorded of a call before it is made: its stack, and that it has begun. */
#pragma once

#include "guest/guest.h"

/* gt_call_stack, once it is known that stacks are wanted. */
void gt_call_walk(struct gt_guest_call *g, uint64_t now_ns);

/* Unwinds once and numbers the stack for the tracker and for the trace, unless none are wanted. */
static inline void gt_call_stack(struct gt_guest_call *g, uint64_t now_ns)
{
	/* first: the caller may lie where other code lay a moment ago */
	gt_recorder_tick(now_ns);
	if (gt_settings_get()->stack_depth)
		gt_call_walk(g, now_ns);
}
/* Records the call as unfinished, with the stack that its events will have. */
void gt_call_enter(const struct gt_guest_call *g, const uint64_t *argv);
