/* SPDX-License-Identifier: MIT */
/* call_entry.c - what is recorded of a call before it is made: its stack, and that it has begun. */
#include "guest/call_entry.h"

#include "guest/backward.h"
#include "guest/own_stack.h"
#include "guest/python.h"
#include "tracker/creation_sites.h"

__attribute__((noinline)) void gt_call_walk(struct gt_guest_call *g, uint64_t now_ns)
{
	uint32_t depth = gt_settings_get()->stack_depth;
	uint64_t *frames, caller = (uint64_t)(uintptr_t)g->caller;
	size_t count;

	count = gt_unwind(&frames, depth, g->caller);
	if (!count) {
		gt_recorder_lose_stack();
		frames = &caller;
		count = 1;
	}
	if (gt_live_table_has_stacks() && !gt_api_is_pool(gt_functions[g->call.function].api))
		g->tracker_stack = gt_creation_stack_put(frames, count);
	if (!gt_recorder_is_on())
		return;
	if (frames != &caller) {
		count = gt_python_merge(frames, count, depth, gt_recorder_text_frame, now_ns);
		count = gt_backward_merge(frames, count, depth);
	}
	g->call.stack = gt_recorder_stack(frames, count);
}

void gt_call_enter(const struct gt_guest_call *g, const uint64_t *argv)
{
	const struct gt_function *fn = &gt_functions[g->call.function];
	struct gt_event event = { .function = (uint16_t)g->call.function,
				  .time_ns = g->call.begun_ns,
				  .stack = g->call.stack,
				  .phase = g->call.phase };
	uint64_t caller = (uint64_t)(uintptr_t)g->caller;

	/* any other handle is found in the arguments */
	if (fn->handle.from == GT_INS)
		event.handle = gt_call_first_handle(&g->call);
	/* as for appends without the resource tracker: announce() */
	if (fn->effect == GT_APPEND && gt_settings_get()->stack_depth)
		event.stack = gt_recorder_stack(&caller, 1);
	gt_recorder_enter(&event, argv, g->frame);
}
