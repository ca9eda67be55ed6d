/* SPDX-License-Identifier: MIT */
/*
 * runners.h - which `gputrack run`s of a job's ranks still run, as a line of `info`.
 *
 * "RANK PID PLACE,…": the place is host and pid namespace, in which the pid means something. Who
 * is killed cannot take itself off the list, so that the others look whether it is there.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* The list with one more, at this place; the caller frees it. */
char *gt_runners_add(const char *list, const char *rank, pid_t pid);

struct gt_runners {
	char *list;   /* who runs, or may: those at other places cannot be looked at */
	char *killed; /* ranks that no longer run, though on the list: "1,4", "" */
	size_t count; /* on the list */
	pid_t *here;  /* of these, at this place */
	size_t here_count;
};

/* The list without this rank and without those that were killed. */
void gt_runners_look(struct gt_runners *r, const char *list, const char *without);
void gt_runners_fini(struct gt_runners *r);
/* Until all at this place have ended, or this long. */
void gt_runners_wait(const struct gt_runners *r, int most_ms);
