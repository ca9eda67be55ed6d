/* SPDX-License-Identifier: MIT */
/* job.c - runs that are the ranks of one job share a recording; the last of them reports. */
#include "cli/run/job.h"

#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/process.h"
#include "base/format.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/folder.h"

enum { PLACE_MAX = 128 };

struct runner {
	char rank[12], place[PLACE_MAX];
	pid_t pid;
};

static void find_place(char place[PLACE_MAX])
{
	char space[48] = "";
	struct utsname system = { 0 };
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);

	space[n > 0 ? n : 0] = '\0';
	uname(&system);
	snprintf(place, PLACE_MAX, "%.64s/%s", system.nodename, space);
	/* the separators of the list must not occur in it */
	for (char *at = place; (at = strpbrk(at, ", "));)
		*at = '_';
}

/* Appends to a list: "a", "a,b", … */
static void append(char **list, const char *text)
{
	size_t size = strlen(*list);

	*list = gt_realloc(*list, size + strlen(text) + 2);
	sprintf(*list + size, "%s%s", size ? "," : "", text);
}

static void append_runner(char **list, const struct runner *one)
{
	char text[PLACE_MAX + 40];

	snprintf(text, sizeof text, "%s %d %s", one->rank, (int)one->pid, one->place);
	append(list, text);
}

char *gt_runners_add(const char *list, const char *rank, pid_t pid)
{
	char *longer = gt_strdup(list);
	struct runner one = { .pid = pid };

	snprintf(one.rank, sizeof one.rank, "%s", rank);
	find_place(one.place);
	append_runner(&longer, &one);
	return longer;
}

/* The next entry of the list; skips what is not one. */
static bool next_runner(const char **list, struct runner *one)
{
	bool found = false;
	int pid;

	while (!found && **list) {
		found = sscanf(*list, "%11[0-9] %d %127[^, ]", one->rank, &pid, one->place) == 3 &&
			pid > 0;
		*list += strcspn(*list, ",");
		*list += **list == ',';
	}
	if (found)
		one->pid = pid;
	return found;
}

void gt_runners_check(struct gt_runners *r, const char *list, const char *without)
{
	char place[PLACE_MAX];
	struct runner one;
	size_t room = 0;

	*r = (struct gt_runners){ .list = gt_strdup(""), .killed = gt_strdup("") };
	find_place(place);
	while (next_runner(&list, &one)) {
		bool is_here = !strcmp(one.place, place);

		if (!strcmp(one.rank, without))
			continue;
		if (is_here && !gt_process_start_ns((uint32_t)one.pid)) {
			append(&r->killed, one.rank);
			continue;
		}
		append_runner(&r->list, &one);
		r->count++;
		if (is_here) {
			GT_GROW(r->here, r->here_count, room);
			r->here[r->here_count++] = one.pid;
		}
	}
}

void gt_runners_fini(struct gt_runners *r)
{
	free(r->list);
	free(r->killed);
	free(r->here);
	*r = (struct gt_runners){ 0 };
}

void gt_runners_wait(const struct gt_runners *r, int most_ms)
{
	uint64_t until_ns = gt_now_ns() + (uint64_t)most_ms * 1000000;

	for (size_t i = 0; i < r->here_count; i++) {
		struct pollfd end = { .events = POLLIN };
		uint64_t now_ns = gt_now_ns();

		end.fd = (int)syscall(SYS_pidfd_open, r->here[i], 0);
		if (end.fd < 0)
			continue;
		if (now_ns < until_ns)
			poll(&end, 1, (int)((until_ns - now_ns) / 1000000));
		close(end.fd);
	}
}

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

/* True if `rank` is in a list such as "0,1,2". */
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

/* In the child: its parent is the `gputrack run`. */
static void add_runner(struct gt_info *info, const char *rank)
{
	char *list = gt_runners_add(gt_info_get(info, "runners"), rank, getppid());

	gt_info_set(info, "runners", list);
	free(list);
}

/* Event times come from the host's own clock. */
static void warn_of_hosts(const struct gt_info *theirs, const struct gt_info *ours,
			  const char *rank)
{
	const char *here = gt_info_get(ours, "host"), *there = gt_info_get(theirs, "host");

	if (*here && *there && strcmp(here, there))
		gt_tell("rank %s on %s joins a recording started on %s: the hosts have different "
			"clocks, so times cannot be compared; give each host its own recording "
			"with -o job.$(hostname).gt",
			rank, here, there);
}

static int enter(const struct gt_job *job, struct gt_folder *made, const char *folder,
		 struct gt_info *info, struct gt_error *error)
{
	struct gt_info *theirs = gt_run_info_read(folder);
	const char *ranks = gt_info_get(theirs, "ranks");
	int e;

	/* never join a folder of another user, whatever its `info` says */
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

/* The rank that made the folder tells the remaining ranks what to undo if none of them runs. */
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

/* Removes this rank from the list, and those that were killed and could not remove themselves. */
static void remove_runner(struct gt_info *info, const char *rank, struct gt_runners *others)
{
	const char *before = gt_info_get(info, "ranks_killed");
	char *killed;

	gt_runners_check(others, gt_info_get(info, "runners"), rank);
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
	remove_runner(info, job->rank, &others);
	/* ranks that ran have left recorded data */
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
 * The worst end is recorded: a rank that failed has failed the job. Of several signals the first
 * counts: the launcher ended the others because of it.
 */
static void merge_end(struct gt_info *all, const struct gt_info *one)
{
	const char *signal = gt_info_get(one, "signal"), *status = gt_info_get(one, "exit_status");

	gt_info_set(all, "ended", gt_info_get(one, "ended"));
	if (number_of(one, "duration_ns") > number_of(all, "duration_ns"))
		gt_info_set(all, "duration_ns", gt_info_get(one, "duration_ns"));
	if (number_of(one, "unrecorded"))
		gt_info_setf(all, "unrecorded", "%" PRIu64,
			     number_of(all, "unrecorded") + number_of(one, "unrecorded"));
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
	remove_runner(all, job->rank, &job->others);
	*is_last = !job->others.count;
	e = gt_run_info_write(all, folder, error);
	gt_info_free(all);
	gt_folder_unlock(lock);
	return e;
}
