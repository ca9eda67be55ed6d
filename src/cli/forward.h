/* SPDX-License-Identifier: MIT */
/*
 * forward.h - the signals that stop us, and those that we pass on to the program we run, once each.
 *
 *   gt_forward_hold(&mask);
 *   pid = fork();                       the child sets its mask to `mask`
 *   gt_forward_begin(pid, &mask);
 *   gt_forward_end(pid);                waits until the program has ended, does not reap it
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* The signal that asked this command to stop; 0: none did. */
extern volatile sig_atomic_t gt_stopped;
/* From now on the signal sets gt_stopped. */
void gt_stop_on(int number);
/* Likewise, unless it was ignored when we started (nohup). */
void gt_stop_unless_ignored(int number);

/* Blocks the signals until there is a program to forward them to. */
void gt_forward_hold(sigset_t *mask);
/* Forwards from now on, and restores the mask. SIGTERM, SIGINT and SIGHUP also set gt_stopped. */
void gt_forward_begin(pid_t program, const sigset_t *mask);
/* Waits for the program's end, then no longer forwards. The program has to be reaped by waitpid. */
void gt_forward_end(pid_t program);

/* How the witness tells a signal for us alone from one for the whole group; for its test. */
struct gt_witness_signal {
	unsigned long long told_ns, seen_ns; /* told: we have it; seen: the group has; 0: never */
	pid_t told_by, seen_by;              /* the sender */
	bool owed;                           /* seen, but not told yet */
};

void gt_witness_see(struct gt_witness_signal *s, pid_t sender, unsigned long long now_ns);
/* `is_in_group`: the program is; otherwise it receives nothing but what we forward. */
void gt_witness_tell(struct gt_witness_signal *s, pid_t sender, bool is_in_group,
		     unsigned long long now_ns);
/* True if it is time to forward the signal. */
bool gt_witness_is_due(struct gt_witness_signal *s, unsigned long long now_ns);
/* Nanoseconds for which the witness waits before it forwards. */
enum { GT_WITNESS_WAIT_NS = 50 * 1000 * 1000 };
