/*
 * job.h - runs that are the ranks of one job (`mpirun -n 3 gputrack run`) share a recording, and
 * the last of them to end reports on all.
 *
 * The recording's `info` says whose it is: job, ranks (those that have joined), ranks_running.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cli/folder.h"
#include "trace/info.h"

struct gt_job {
	const char *rank;   /* NULL: no rank of a job */
	char id[128];       /* the same for all ranks of a job, on this host at least */
	pid_t launcher;     /* our parent: likewise */
};

void gt_job_find(struct gt_job *job);

/*
 * Makes the recording's folder and writes its `info`, or joins the recording that another rank of
 * the job has made. A rank that is in it already has been run again: that is a new recording.
 */
int gt_job_enter(const struct gt_job *job, struct gt_folder *made, const char *folder,
		 struct gt_info *info, struct gt_error *error);
/* The program could not be started. */
void gt_job_undo(const struct gt_folder *made);
/*
 * The program has ended, as `info` tells: the recording's `info` is brought up to date. *is_last
 * when no other rank is being run.
 */
int gt_job_leave(const char *folder, const struct gt_info *info, bool *is_last,
		 struct gt_error *error);
