/* SPDX-License-Identifier: MIT */
/* launch.h - starts the traced program and waits for it as if we were not there. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem.h"

struct gt_launch {
	char *const *argv;
	/* In the child, before exec: may set the environment, make the recording. 0 or -errno. */
	int (*prepare)(void *context, struct gt_error *error);
	/* In the child, when exec fails: takes back what `prepare` did. */
	void (*undo)(void *context);
	/* Here, after `prepare`, before the program begins: its pid. May be NULL. */
	void (*prepared)(void *context, pid_t pid);
	/* Here, when the program runs: its pid. May be NULL. */
	void (*started)(void *context, pid_t pid);
	void *context;
};

/*
 * Runs the program in our process group with our standard streams. Signals that a terminal sends
 * to the group reach it by themselves; all others that we get are passed on, for nobody can tell
 * those that were sent to us alone: what a program sends to the whole group (timeout does) may
 * reach it twice. Gives the status of waitpid, or -1 and the error when it could not be started.
 */
int gt_launch(const struct gt_launch *launch, pid_t *pid, struct gt_error *error);

/* Why exec gave `why` for a program, and what to do about it. */
void gt_launch_explain(struct gt_error *error, const char *program, int why);

/* Somebody wanted it to end while it ran: SIGTERM, SIGINT or SIGHUP. */
bool gt_launch_was_told(void);

/* Ends this process as the program ended: by the same signal, without a core of ours. */
void gt_launch_die_by(int signal);
