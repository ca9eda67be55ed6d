/* SPDX-License-Identifier: MIT */
/*
 * cancellation.h - cancellation of the calling thread, held off by the first thing that must not be
 * cut short.
 *
 * A thread may be cancelled at its system calls, or anywhere if it asked for that, and would hold
 * our locks for ever. Holding it off takes two locked instructions, and most calls need neither a
 * system call nor a lock: so the recorder marks where it begins, and whoever takes a lock or makes
 * a system call calls gt_cancellation_hold first.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct gt_cancellation {
	bool is_watched; /* the recorder runs: gt_cancellation_hold has an effect, */
	bool is_held;    /* and had it */
	int state;       /* the program's */
};

extern __thread struct gt_cancellation gt_cancellation __attribute__((tls_model("initial-exec")));

/* Until the recorder leaves. Does nothing outside the recorder, and the second time. */
static inline void gt_cancellation_hold(void)
{
	if (!gt_cancellation.is_watched || gt_cancellation.is_held)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &gt_cancellation.state);
	gt_cancellation.is_held = true;
}

/* Begins, and ends, a stay in the recorder; they may be nested. */
static inline struct gt_cancellation gt_cancellation_watch(void)
{
	struct gt_cancellation before = gt_cancellation;

	gt_cancellation = (struct gt_cancellation){ .is_watched = true };
	return before;
}

static inline void gt_cancellation_leave(const struct gt_cancellation *before)
{
	if (gt_cancellation.is_held)
		pthread_setcancelstate(gt_cancellation.state, NULL);
	gt_cancellation = *before;
}
