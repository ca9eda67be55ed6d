/* SPDX-License-Identifier: MIT */
/* plain_call.c - the short way through the recorder, for the calls that programs make most. */
#include "guest/plain_call.h"

#include "base/process.h"
#include "guest/call_entry.h"
#include "guest/saved_state.h"

bool gt_plain_rows[GT_FN_COUNT];

void gt_plain_rows_find(void)
{
	for (size_t i = 0; i < GT_FN_COUNT; i++)
		gt_plain_rows[i] = gt_call_is_plain((enum gt_function_id)i);
}

/* All in one, but for what is rarely done: a call of each would take longer than most of them. */
#define IN_ONE __attribute__((flatten))

IN_ONE bool gt_plain_begin(struct gt_guest_call *g, const uint64_t *argv, const void *caller)
{
	const struct gt_function *fn = &gt_functions[g->call.function];
	int error, *error_at;

	if (gt_in_recorder || gt_live_table_is_on() || !gt_recorder_is_on() ||
	    (fn->handle.from != GT_RET && !argv[fn->handle.arg]))
		return false;
	error_at = enter_first(&error);
	g->active = true;
	g->is_plain = true;
	g->ends = gt_function_ends(fn);
	g->caller = caller;
	g->call.argv = argv;
	g->call.begun_ns = g->ends ? gt_now_ns() : gt_now_roughly_ns();
	g->call.stack = 0;
	g->tracker_stack = 0;
	/* of a pool's many blocks, where they end is not recorded */
	if (!(g->ends && gt_api_is_pool(fn->api)))
		gt_call_stack(g, g->call.begun_ns);
	g->call.phase = gt_recorder_phase();
	/* a pool tells of its blocks afterwards: no process ends in that */
	if (!gt_api_is_pool(fn->api))
		gt_recorder_enter(&(struct gt_event){ .function = (uint16_t)g->call.function,
						      .time_ns = g->call.begun_ns,
						      .stack = g->call.stack,
						      .phase = g->call.phase },
				  argv, g->frame);
	leave_first(error_at, error);
	return true;
}

/* For the long way: the call has failed, or a table of living resources has been started. */
static void prepare_long_way(struct gt_guest_call *g)
{
	g->tracked = false;
	g->argv_copy = NULL;
	g->output = NULL;
	g->call.filled = GT_FILLED_UNKNOWN;
	g->endings = &g->ending;
	g->ending_room = 1;
	g->ending_count = 0;
	g->ending_next = 0;
}

IN_ONE bool gt_plain_end(struct gt_guest_call *g, uint64_t ret, const struct gt_call_door *door)
{
	int error, *error_at;
	struct gt_event event;

	g->call.ret = ret;
	if (gt_live_table_is_on() || !gt_call_succeeded(&g->call)) {
		prepare_long_way(g);
		return false;
	}
	error_at = enter_first(&error);
	/* what ends is stamped at the call's begin */
	g->call.ended_ns = g->ends ? g->call.begun_ns : gt_now_ns();
	gt_recorder_check(g->call.ended_ns);
	g->call.tid = gt_thread_id();
	if (gt_call_plain_event(&g->call, door, &event))
		gt_recorder_event(&event);
	if (!gt_api_is_pool(gt_functions[g->call.function].api))
		gt_recorder_leave(g->frame);
	leave_first(error_at, error);
	return true;
}
