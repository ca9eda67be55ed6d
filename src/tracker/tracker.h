/* SPDX-License-Identifier: MIT */
/*
 * tracker.h - the resource tracker: how much memory each call cost, and what stays behind.
 *
 * The process is measured just before and just after each driver call. The cost of all calls on one
 * handle, from creation to destruction, is charged to the handle; what remains when it is destroyed
 * is the driver's residue. Calls that overlap cannot be told apart, nor can a call from what
 * another thread touched meanwhile: their cost is shown, but not charged as residue.
 */
#pragma once

#include "event/call.h"
#include "tracker/csv.h"
#include "tracker/live_table.h"
#include "tracker/malloc_use.h"

/* A call that is being made. */
struct gt_tracker_call {
	struct gt_meter before;
	uint64_t begun;      /* number of calls begun, including this one */
	bool alone;          /* no other call has been in flight so far */
	int64_t touched_kb;  /* by this thread before the call; -1: it is the only thread */
	int64_t free_before; /* bytes that malloc held free, in an era (malloc_use.h) */
	uint16_t era;        /* 0: none */
};

/* A call that has returned. */
struct gt_tracker_result {
	struct gt_meter after;
	int64_t free_after;      /* in an era */
	struct gt_counts counts; /* what it changed; when its row is written: what is alive */
	uint64_t handle;         /* of the call's first event */
	uint16_t function;       /* its row */
	uint64_t size;
};

void gt_tracker_start(void);
bool gt_tracker_is_on(void);
/* True once residue has been warned of. */
bool gt_tracker_has_warned(void);
/* Call in a child after fork. `can_allocate`: no vanished thread can hold a lock of malloc's. */
void gt_tracker_restart(bool can_allocate);
/* At the end of the process: reports residue and living handles (exit_report.c). */
void gt_tracker_end(void);

/* Before a thread's first stack, whose memory must not be taken for the program's. */
void gt_tracker_warm_thread(void);
/* Right before the driver's function, which the program called at `called_ns`; right after it. */
void gt_tracker_before(struct gt_tracker_call *t, uint64_t called_ns);
void gt_tracker_after(struct gt_tracker_call *t, struct gt_tracker_result *r);

/* Takes an event of the call: the change it made, or with `ending` what it ended. */
void gt_tracker_event(struct gt_tracker_result *r, const struct gt_event *event,
		      enum gt_change change, const struct gt_ending *ending);
/* Takes an ending that no event of the call names. */
void gt_tracker_ended(struct gt_tracker_result *r, const struct gt_ending *ending);
/* Takes a resource whose end was not seen, and whose handle the call gave to another. */
void gt_tracker_replaced(struct gt_tracker_result *r, const struct gt_ending *replaced);
/* After all events: charges the cost, adds residue, and writes the CSV row and the log. */
void gt_tracker_finish(const struct gt_tracker_call *t, struct gt_tracker_result *r,
		       const struct gt_call *call, struct gt_ending *endings, size_t ending_count);
/* Right before returning to the program. */
void gt_tracker_leave(const struct gt_tracker_call *t, const struct gt_tracker_result *r);
