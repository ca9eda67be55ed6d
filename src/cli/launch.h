/* SPDX-License-Identifier: MIT */
/* launch.h - starts programs: with our libraries, and with the signals and limits we found. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/mem.h"

/*
 * Absolute path of one of our libraries: beside the program (a build folder), or where it was
 * installed relative to it. False if it is in neither place.
 */
bool gt_doors_find(char *out, size_t size, const char *file);

/*
 * Why the loader will ignore our libraries when this user starts the program, as in "is
 * set-user-ID"; NULL: it will not, or there is no such program.
 */
const char *gt_program_rights(const char *program);
/* The same, and whether it is a static program. */
const char *gt_program_obstacle(const char *program);

/* At our own start: saves the limits and ignored signals, then sets them as we need them. */
void gt_inherited_save(void);
/* In a child of ours, before exec: restores them. */
void gt_inherited_restore(void);

struct gt_launch {
	char *const *argv;
	/* In the child, before exec: may set the environment, make the recording. 0 or -errno. May
	 * be NULL. */
	int (*prepare)(void *context, struct gt_error *error);
	/* In the child, when exec fails: undoes what `prepare` did. May be NULL. */
	void (*undo)(void *context);
	/* Here, after `prepare` and before the program begins: its pid. May be NULL. */
	void (*prepared)(void *context, pid_t pid);
	/* Here, when the program runs: its pid. May be NULL. */
	void (*started)(void *context, pid_t pid);
	void *context;
};

/*
 * Runs the program in our process group with our standard streams and waits for it. A signal for
 * the group reaches the program directly, one for us alone is forwarded (cli/forward.h). Returns
 * the status of waitpid, or -1 and the error if the program could not be started.
 */
int gt_launch(const struct gt_launch *launch, pid_t *pid, struct gt_error *error);
/* Its two halves, for who has something to do meanwhile; `started` is not called. 0, or -1. */
int gt_launch_start(const struct gt_launch *launch, pid_t *pid, struct gt_error *error);
int gt_launch_wait(pid_t pid);

/* Explains why exec failed with errno `why`, and what to do about it. */
void gt_launch_explain(struct gt_error *error, const char *program, int why);

/* Ends this process as the program ended: by the same signal, without a core dump of ours. */
void gt_launch_die_by(int signal);
