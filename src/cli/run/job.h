/* SPDX-License-Identifier: MIT */
/*
 * job.h - runs that are the ranks of one job (`mpirun -n 3 gputrack run`) share a recording, and
 * the last of them to end reports on all.
 *
 * The recording's `info` says whose it is: job, ranks (those that have joined), ranks_running,
 * runners (who they are: runners.h), ranks_killed (whose `gputrack run` was killed).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cli/folder.h"
#include "cli/run/runners.h"
#include "trace/info.h"

struct gt_job {
	const char *rank;         /* NULL: no rank of a job */
	char id[128];             /* the same for all ranks of a job, on this host at least */
	pid_t launcher;           /* our parent: likewise */
	struct gt_runners others; /* since we left: who else is being run */
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
 * The program has ended, as `info` tells: the recording's `info` is brought up to date. *is_last
 * when no other rank is being run, whether they have left or were killed.
 */
int gt_job_leave(struct gt_job *job, const char *folder, const struct gt_info *info, bool *is_last,
		 struct gt_error *error);
/*
 * For a rank that was told to end and is not the last: until the last has reported, or a few
 * seconds. A launcher that ends a job kills whoever is left as soon as one has ended.
 */
void gt_job_linger(const struct gt_job *job);
void gt_job_fini(struct gt_job *job);
