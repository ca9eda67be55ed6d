/* SPDX-License-Identifier: MIT */
/*
 * job.h - runs that are the ranks of one job (`mpirun -n 3 gputrack run`) share a recording, and
 * the last of them to end reports on all.
 *
 * The recording's `info` says whose it is: job, ranks (those that have joined), ranks_running,
 * runners (the `gputrack run` of each rank), ranks_killed (ranks whose `gputrack run` was killed).
 *
 * `runners` is "RANK PID PLACE,…": the place is host and pid namespace, in which the pid has a
 * meaning. A runner that is killed cannot remove itself from the list, so the others check whether
 * it still exists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/folder.h"
#include "trace/info.h"

struct gt_runners {
	char *list;   /* runners that exist, or may: those at other places cannot be checked */
	char *killed; /* ranks on the list that no longer run: "1,4", "" */
	size_t count; /* on the list */
	pid_t *here;  /* of these, at this place */
	size_t here_count;
};

/* The list with one more, at this place; the caller frees it. */
char *gt_runners_add(const char *list, const char *rank, pid_t pid);
/* The list without this rank and without those that were killed. */
void gt_runners_check(struct gt_runners *r, const char *list, const char *without);
void gt_runners_fini(struct gt_runners *r);
/* Waits until all at this place have ended, at most this long. */
void gt_runners_wait(const struct gt_runners *r, int most_ms);

struct gt_job {
	const char *rank;         /* NULL: not a rank of a job */
	char id[128];             /* the same for all ranks of a job, at least on this host */
	pid_t launcher;           /* our parent: likewise */
	struct gt_runners others; /* set by gt_job_leave; freed by gt_runners_fini */
};

void gt_job_find(struct gt_job *job);

/*
 * Makes the recording's folder and writes its `info`, or joins the recording that another rank of
 * the job has made. A rank that is in it already has been run again: that is a new recording.
 */
int gt_job_enter(const struct gt_job *job, struct gt_folder *made, const char *folder,
		 struct gt_info *info, struct gt_error *error);
/* The program could not be started. */
void gt_job_undo(const struct gt_job *job, const struct gt_folder *made);
/*
 * The program has ended as `info` says: updates the recording's `info`. *is_last is set if no other
 * rank is running, whether they left or were killed.
 */
int gt_job_leave(struct gt_job *job, const char *folder, const struct gt_info *info, bool *is_last,
		 struct gt_error *error);
