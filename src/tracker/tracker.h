/* SPDX-License-Identifier: MIT */
/*
 * tracker.h - the resource tracker: what each call cost the process, and what it left behind.
 *
 * The process is measured just before and just after each call of the driver. What the calls on one
 * handle cost, from its creation to its destruction, is charged to it; what is left over when it is
 * gone is the driver's residue. Calls that overlapped cannot be told apart, nor a call from what
 * another thread touched meanwhile: what they cost is shown, but not held against a handle.
 */
#pragma once

#include "event/call.h"
#include "tracker/csv.h"
#include "tracker/live_table.h"

struct gt_tracker_call {
	struct gt_meter before, after;
	uint64_t begun;     /* how many calls had begun, this one included */
	bool alone;         /* no other call was in flight, so far */
	int64_t touched_kb; /* by this thread so far; -1: there is no other thread */
	struct gt_counts change;
	uint64_t handle;   /* of the first event */
	uint16_t function; /* its row */
	uint64_t size;
};

void gt_tracker_start(void);
bool gt_tracker_is_on(void);
/* True once residue has been warned of. */
bool gt_tracker_has_warned(void);
/* Driver residue left by the destroyed handles of a label. */
int64_t gt_tracker_residue_kb(enum gt_label label);
/* In a child after fork. `can_take`: no lock of malloc's can be held by a thread that is gone. */
void gt_tracker_restart(bool can_take);
/* At the end of the process: what was left behind, and what is still alive. */
void gt_tracker_end(void);

/* Right before the driver's function, which the program called at `came_ns`, and right after it. */
void gt_tracker_before(struct gt_tracker_call *w, uint64_t came_ns);
void gt_tracker_after(struct gt_tracker_call *w);

/* An event of the call: what it changed, or with `ending` what it ended. */
void gt_tracker_event(struct gt_tracker_call *w, const struct gt_event *event,
		      enum gt_change change, const struct gt_ending *ending);
/* What ended beside what the call named. */
void gt_tracker_ended(struct gt_tracker_call *w, const struct gt_ending *ending);
/* Something else was created under the handle of what had not been seen to end. */
void gt_tracker_replaced(struct gt_tracker_call *w, const struct gt_ending *replaced);
/* All events are in: the row, the lines, the verdicts. */
void gt_tracker_finish(struct gt_tracker_call *w, const struct gt_call *call,
		       const struct gt_ending *endings, size_t ending_count);
/* Right before the program goes on. */
void gt_tracker_leave(const struct gt_tracker_call *w);
