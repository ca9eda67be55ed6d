/* SPDX-License-Identifier: MIT */
/* job.c - runs that are the ranks of one job share a recording; the last of them reports. */
#include "cli/run/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/format.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/run_info.h"

/* Launchers have patience for a second (Open MPI) to half a minute (Slurm). */
enum { LINGER_MS = 5000 };

void gt_job_find(struct gt_job *job)
{
	const char *name = getenv("PMIX_NAMESPACE"), *step = getenv("SLURM_STEP_ID");
	const char *slurm = getenv("SLURM_JOB_ID");
	struct utsname system = { 0 };

	*job = (struct gt_job){ .rank = gt_job_rank(), .launcher = getppid() };
	if (name && *name) {
		snprintf(job->id, sizeof job->id, "%.100s", name);
	} else if (slurm && step) {
		snprintf(job->id, sizeof job->id, "%.50s.%.50s", slurm, step);
	} else {
		uname(&system);
		snprintf(job->id, sizeof job->id, "%.64s:%d", system.nodename, (int)job->launcher);
	}
}

static uint64_t number_of(const struct gt_info *info, const char *key)
{
	uint64_t number = 0;

	return gt_count_parse(gt_info_get(info, key), &number) ? number : 0;
}

/* Among "0,1,2". */
static bool is_among(const char *rank, const char *ranks)
{
	size_t size = strlen(rank);

	while (*ranks) {
		size_t length = strcspn(ranks, ",");

		if (length == size && !strncmp(ranks, rank, size))
			return true;
		ranks += length + (ranks[length] == ',');
	}
	return false;
}

/* In the child: its parent is the run. */
static void add_runner(struct gt_info *info, const char *rank)
{
	char *list = gt_runners_add(gt_info_get(info, "runners"), rank, getppid());

	gt_info_set(info, "runners", list);
	free(list);
}

/* Events are timed by the host's own clock. */
static void warn_of_hosts(const struct gt_info *theirs, const struct gt_info *ours,
			  const char *rank)
{
	const char *here = gt_info_get(ours, "host"), *there = gt_info_get(theirs, "host");

	if (*here && *there && strcmp(here, there))
		gt_tell("rank %s runs on %s and joins a recording begun on %s, whose clock is "
			"another: their times do not compare; give each host its own with "
			"-o job.$(hostname).gt",
			rank, here, there);
}

static int enter(const struct gt_job *job, struct gt_folder *made, const char *folder,
		 struct gt_info *info, struct gt_error *error)
{
	struct gt_info *theirs = gt_run_info_read(folder);
	const char *ranks = gt_info_get(theirs, "ranks");
	int e;

	/* what somebody else has put there is not joined, whatever it says */
	if (*ranks && gt_folder_is_own(folder) && !strcmp(gt_info_get(theirs, "job"), job->id) &&
	    !is_among(job->rank, ranks)) {
		char *all;

		warn_of_hosts(theirs, info, job->rank);
		*made = (struct gt_folder){ 0 };
		snprintf(made->path, sizeof made->path, "%s", folder);
		if (asprintf(&all, "%s,%s", ranks, job->rank) >= 0) {
			gt_info_set(theirs, "ranks", all);
			free(all);
		}
		gt_info_setf(theirs, "ranks_running", "%llu",
			     (unsigned long long)number_of(theirs, "ranks_running") + 1);
		add_runner(theirs, job->rank);
		e = gt_run_info_write(theirs, folder, error);
	} else {
		gt_info_set(info, "job", job->id);
		gt_info_set(info, "ranks", job->rank);
		gt_info_set(info, "ranks_running", "1");
		add_runner(info, job->rank);
		e = gt_run_info_make(info, made, folder, error);
	}
	gt_info_free(theirs);
	return e;
}

int gt_job_enter(const struct gt_job *job, struct gt_folder *made, const char *folder,
		 struct gt_info *info, struct gt_error *error)
{
	int lock = gt_folder_lock(folder);
	int e = enter(job, made, folder, info, error);

	gt_folder_unlock(lock);
	return e;
}

/* What there is to undo is told by who made it to who is left, for whom it may be to do. */
static void hand_over(struct gt_info *info, const struct gt_folder *made)
{
	if (made->made)
		gt_info_setf(info, "undo", "%d", 1 + 2 * made->put_aside + 4 * made->put_further);
}

static void take_over(const struct gt_info *info, struct gt_folder *made)
{
	uint64_t undo = number_of(info, "undo");

	made->made |= (undo & 1) != 0;
	made->put_aside |= (undo & 2) != 0;
	made->put_further |= (undo & 4) != 0;
}

/* Off the list, with those who were killed and could not take themselves off. */
static void strike_out(struct gt_info *info, const char *rank, struct gt_runners *others)
{
	const char *before = gt_info_get(info, "ranks_killed");
	char *killed;

	gt_runners_look(others, gt_info_get(info, "runners"), rank);
	gt_info_set(info, "runners", others->list);
	gt_info_setf(info, "ranks_running", "%zu", others->count);
	if (*others->killed &&
	    asprintf(&killed, "%s%s%s", before, *before ? "," : "", others->killed) >= 0) {
		gt_info_set(info, "ranks_killed", killed);
		free(killed);
	}
}

void gt_job_undo(const struct gt_job *job, const struct gt_folder *made)
{
	int lock = gt_folder_lock(made->path);
	struct gt_info *info = gt_run_info_read(made->path);
	struct gt_folder all = *made;
	struct gt_runners others;
	struct gt_error unused;

	take_over(info, &all);
	strike_out(info, job->rank, &others);
	/* ranks that ran have left what they recorded */
	if (others.count || *gt_info_get(info, "ranks_killed") || *gt_info_get(info, "ended")) {
		hand_over(info, &all);
		gt_run_info_write(info, made->path, &unused);
	} else {
		gt_folder_undo(&all);
	}
	gt_runners_fini(&others);
	gt_info_free(info);
	gt_folder_unlock(lock);
}

/*
 * Of how they ended, the worst is kept: a rank that failed has failed the job. Of several signals
 * it is the first: the rest were ended by the launcher, on account of it.
 */
static void merge_end(struct gt_info *all, const struct gt_info *one)
{
	const char *signal = gt_info_get(one, "signal"), *status = gt_info_get(one, "exit_status");

	gt_info_set(all, "ended", gt_info_get(one, "ended"));
	if (number_of(one, "duration_ns") > number_of(all, "duration_ns"))
		gt_info_set(all, "duration_ns", gt_info_get(one, "duration_ns"));
	if (*signal && !*gt_info_get(all, "signal"))
		gt_info_set(all, "signal", signal);
	else if (*status && !number_of(all, "exit_status"))
		gt_info_set(all, "exit_status", status);
}

int gt_job_leave(struct gt_job *job, const char *folder, const struct gt_info *info, bool *is_last,
		 struct gt_error *error)
{
	int lock = gt_folder_lock(folder), e;
	struct gt_info *all = gt_run_info_read(folder);

	merge_end(all, info);
	strike_out(all, job->rank, &job->others);
	*is_last = !job->others.count;
	e = gt_run_info_write(all, folder, error);
	gt_info_free(all);
	gt_folder_unlock(lock);
	return e;
}

void gt_job_linger(const struct gt_job *job)
{
	gt_runners_wait(&job->others, LINGER_MS);
}

void gt_job_fini(struct gt_job *job)
{
	gt_runners_fini(&job->others);
}
