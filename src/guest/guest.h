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
 * fails, holds a lock while the driver or the program runs, or changes errno. It works in threads,
 * in signal handlers, after fork, before main and after exit handlers.
 */
#pragma once

#include "event/call.h"
#include "guest/recorder.h"
#include "tracker/live_table.h"
#include "tracker/tracker.h"

/* One call in flight; lives in the door's wrapper, or wherever the door keeps it: keep it small. */
struct gt_guest_call {
	struct gt_call call;
	const void *caller;
	const void *frame; /* an address on the stack: of two calls, the inner has the lower */
	bool active, ends, tracked;
	bool is_plain;  /* active, and it took the short way (guest/plain_call.h) */
	bool announced; /* not active: it will have no event, but the process may end in it */
	uint32_t tracker_stack; /* from gt_creation_stack_put */
	uint32_t ending_count, ending_room, ending_next;
	uint64_t *argv_copy; /* if an argument is an array of handles: with what was in it */
	uint64_t *output, output_before; /* what the driver may fill in, and its old value */
	struct gt_ending *endings;
	struct gt_ending ending; /* room for the usual one, or for what a creation replaced */
	struct gt_tracker_call tracker;
};

/* A door calls this when it has been loaded. Starts recording if the settings ask for it. */
GT_EXPORT void gt_guest_start(void);

GT_EXPORT void gt_guest_begin(struct gt_guest_call *g, enum gt_function_id function,
			      const uint64_t *argv, const void *caller);
GT_EXPORT void gt_guest_end(struct gt_guest_call *g, uint64_t ret, const struct gt_call_door *door);

/* After a call that handed work to the GPU: records the memory that it names (trace/touch.h). */
GT_EXPORT void gt_guest_touch(struct gt_guest_work *work, const struct gt_naming *named);

/* After gt_guest_end of the call that created `handle`: records the program's name for it. */
GT_EXPORT void gt_guest_name(const struct gt_guest_call *g, uint64_t handle, const char *name);

/* Call before anything else that is not a call: in a child after fork, sets up the recorder. */
GT_EXPORT void gt_guest_set_up_child(void);

/*
 * The recorder's memory (guest/heap.h) for a door, zeroed. NULL, and the call counts as lost, if
 * there is none, and in a signal handler that interrupted the recorder.
 */
GT_EXPORT void *gt_guest_alloc(size_t size);
GT_EXPORT void gt_guest_free(void *memory);

/* A door had to drop something that it should have recorded. */
GT_EXPORT void gt_guest_lose(void);

/* Sets the function that asks a door's driver how many bytes of device memory are used. */
GT_EXPORT void gt_guest_set_device_query(int64_t (*query)(void));

/* A driver has handed out a function by address that no row describes: tells the user. */
GT_EXPORT void gt_guest_unfollowed(const char *name);

/* The number of a place, defined in the trace at its first use; equal names and APIs share one. */
GT_EXPORT uint16_t gt_guest_place(enum gt_api api, const char *name);
