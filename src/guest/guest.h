/* SPDX-License-Identifier: MIT */
/*
 * guest.h - what doors use: one begin and one end around each call of the driver.
 *
 *	struct gt_guest_call g;
 *	gt_guest_begin(&g, GT_FN_clCreateBuffer, argv, __builtin_return_address(0));
 *	result = next(…);
 *	gt_guest_end(&g, result, &door);
 *
 * The guest rule: nothing here exits, aborts or raises, prints more than one line when recording
 * fails, holds a lock while the driver or the program runs, or changes errno. Works in threads,
 * in signal handlers, after fork, before main and after exit handlers.
 */
#pragma once

#include "event/call.h"
#include "guest/recorder.h"
#include "tracker/live_table.h"
#include "tracker/tracker.h"

enum { GT_GUEST_HANDLES = 8 };

/* One call in flight; lives in the door's wrapper, or where the door has room for it. */
struct gt_guest_call {
	struct gt_call call;
	const void *caller;
	const void *frame; /* on the stack: of two, the lower is the inner */
	bool active, ends, watched;
	uint32_t tracker_stack;             /* the stack's number in the depot */
	uint64_t argv[GT_ARGS_MAX];         /* … a copy where the row hands in an array */
	uint64_t handles[GT_GUEST_HANDLES]; /* … with the handles it held before the call */
	uint64_t *more_handles;
	uint64_t *mark, unmarked; /* what may be filled in, and what was there */
	struct gt_ending *endings;
	struct gt_ending ending; /* room for the usual one */
	size_t ending_count, ending_room, ending_next;
	struct gt_tracker_call watch;
};

/* Called by a door when its loader has taken it in. Starts recording if that was asked for. */
GT_EXPORT void gt_guest_start(void);

/* What this process was asked to do, for a door that does nothing when that is nothing. */
GT_EXPORT const struct gt_settings *gt_guest_settings(void);

GT_EXPORT void gt_guest_begin(struct gt_guest_call *g, enum gt_function_id function,
			      const uint64_t *argv, const void *caller);
GT_EXPORT void gt_guest_end(struct gt_guest_call *g, uint64_t ret, const struct gt_call_door *door);

/* After the end of a call that created `handle`: what the program calls it. */
GT_EXPORT void gt_guest_name(const struct gt_guest_call *g, uint64_t handle, const char *name);

/* Before anything else that is not a call: a child after fork gets a state of its own first. */
GT_EXPORT void gt_guest_set_up_child(void);

/* A door whose driver can tell how much device memory is used says how to ask it. */
GT_EXPORT void gt_guest_set_device_query(int64_t (*teller)(void));

/* Number of a place, told to the trace once; the same name and API give the same number. */
GT_EXPORT uint16_t gt_guest_place(enum gt_api api, const char *name);
