/* SPDX-License-Identifier: MIT */
/* saved_state.h - the program's state while its thread runs the recorder: guest.c enters and
 * leaves. */
#pragma once

#include <errno.h>
#include <stdbool.h>

#include "base/cancellation.h"

/*
 * True while this thread runs the recorder, rather than the driver or the program. A signal handler
 * that makes a call then must not wait for locks that its own thread holds: its event is lost, and
 * counted.
 */
extern __thread bool gt_in_recorder __attribute__((tls_model("initial-exec")));

/* The program's state while the recorder runs. */
struct saved_state {
	struct gt_cancellation cancellation;
	int error;
	bool in_recorder;
};

/* For what is done at every call: whoever takes a lock or makes a system call holds cancellation.
 */
static inline void enter_quickly(struct saved_state *saved)
{
	saved->in_recorder = gt_in_recorder;
	gt_in_recorder = true;
	saved->error = errno;
	saved->cancellation = gt_cancellation_watch();
}

/*
 * The same where the recorder does not run yet in this thread, so that nothing but errno is to be
 * saved: returns its address.
 */
static inline int *enter_first(int *error)
{
	int *at = &errno;

	gt_in_recorder = true;
	*error = *at;
	gt_cancellation.is_held = false;
	gt_cancellation.is_watched = true;
	return at;
}

static inline void leave_first(int *at, int error)
{
	if (__builtin_expect(gt_cancellation.is_held, 0))
		pthread_setcancelstate(gt_cancellation.state, NULL);
	gt_cancellation.is_held = false;
	gt_cancellation.is_watched = false;
	*at = error;
	gt_in_recorder = false;
}

static inline void enter(struct saved_state *saved)
{
	enter_quickly(saved);
	gt_cancellation_hold();
}

static inline void leave(const struct saved_state *saved)
{
	gt_cancellation_leave(&saved->cancellation);
	errno = saved->error;
	gt_in_recorder = saved->in_recorder;
}
