/* SPDX-License-Identifier: MIT */
/* targets.c - which processes and APIs attach and top follow. */
#include "cli/attach/targets.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "cli/cli.h"

void gt_targets_add(struct gt_targets *t, uint32_t pid)
{
	if (t->count == GT_TARGETS_MAX)
		return;
	t->fds[t->count] = -1;
	t->pids[t->count++] = pid;
}

static int parse_pids(struct gt_targets *t, const struct gt_syntax *syntax, const char *text)
{
	char *list = gt_strdup(text), *rest = list, *word;
	int status = 0;

	while (!status && (word = strsep(&rest, ","))) {
		uint64_t pid;

		if (!gt_count_parse(word, &pid) || !pid || pid > INT_MAX) {
			status = gt_syntax_wrong(syntax, "'%s' is not a process id", word);
		} else if (t->count == GT_TARGETS_MAX) {
			status = gt_syntax_wrong(syntax, "-p takes at most %d processes",
						 GT_TARGETS_MAX);
		} else {
			gt_targets_add(t, (uint32_t)pid);
		}
	}
	free(list);
	return status;
}

static int parse_api(struct gt_targets *t, const struct gt_syntax *syntax, const char *text)
{
	for (int api = 0; api < GT_API_COUNT; api++)
		if (!strcmp(text, gt_api_keys[api])) {
			t->wanted[api] = t->some_apis = true;
			return 0;
		}
	return gt_syntax_wrong(syntax, "--api is cuda, levelzero or opencl, not '%s'", text);
}

int gt_targets_parse(struct gt_targets *t, const struct gt_syntax *syntax,
		     const struct gt_texts *pids, const struct gt_texts *apis)
{
	int status = 0;

	for (size_t i = 0; i < pids->count && !status; i++)
		status = parse_pids(t, syntax, pids->items[i]);
	for (size_t i = 0; i < apis->count && !status; i++)
		status = parse_api(t, syntax, apis->items[i]);
	t->everyone = !t->count;
	return status;
}

int gt_targets_check(struct gt_targets *t, struct gt_error *error)
{
	for (size_t i = 0; i < t->count; i++) {
		t->fds[i] = (int)syscall(SYS_pidfd_open, (pid_t)t->pids[i], 0);
		if (t->fds[i] < 0 && errno == ESRCH)
			return gt_error_set(error, -ESRCH,
					    "there is no process %u: `ps` lists the running ones",
					    t->pids[i]);
		/* the error differs between kernels */
		if (t->fds[i] < 0 && (errno == EINVAL || errno == ENOENT))
			return gt_error_set(error, -EINVAL,
					    "%u is a thread, not a process: see "
					    "Tgid in /proc/%u/status",
					    t->pids[i], t->pids[i]);
		if (t->fds[i] < 0)
			return gt_error_set(error, -errno, "cannot track process %u: %s",
					    t->pids[i], strerror(errno));
	}
	return 0;
}

void gt_targets_fini(struct gt_targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
	t->count = 0;
}

/* "libcuda.so, libOpenCL.so": the libraries of the APIs to follow. */
static void name_libraries(const struct gt_targets *t, char *names, size_t size)
{
	size_t used = 0;

	for (int api = 0; api < GT_API_COUNT && used < size; api++)
		if (!t->some_apis || t->wanted[api])
			used += (size_t)snprintf(names + used, size - used, "%s%s",
						 used ? ", " : "", gt_api_libraries[api]);
}

/* Why nothing of the processes is tracked, though they have loaded libraries. */
static int explain_untracked(const struct gt_targets *t, const struct gt_libraries *l,
			     struct gt_error *error)
{
	if (*l->refusal.text)
		return gt_error_set(error, GT_TARGETS_UNTRACKED, "nothing can be tracked: %s",
				    l->refusal.text);
	return gt_error_set(error, GT_TARGETS_UNTRACKED,
			    "nothing can be tracked: the GPU libraries of process %u export none "
			    "of the functions that gputrack knows",
			    t->pids[0]);
}

static int scan_targets(const struct gt_targets *t, struct gt_tracer *tracer,
			struct gt_error *error)
{
	int mapped = 0;

	for (size_t i = 0; i < t->count; i++) {
		int e = gt_tracer_follow(tracer, t->pids[i], error);

		if (e)
			return e;
		e = gt_tracer_scan(tracer, t->pids[i], error);
		if (e == -EACCES || e == -EPERM)
			return GT_TARGETS_UNTRACKED;
		if (e < 0)
			return e;
		mapped += e;
	}
	return mapped;
}

int gt_targets_probe(const struct gt_targets *t, struct gt_tracer *tracer, struct gt_error *error)
{
	char names[128];
	struct gt_libraries *l = gt_tracer_libraries(tracer);
	size_t functions = 0;
	int mapped;

	for (int i = 0; i < GT_API_COUNT; i++)
		l->unwanted[i] = t->some_apis && !t->wanted[i];
	mapped = scan_targets(t, tracer, error);
	if (mapped < 0)
		return mapped;
	if (mapped && !gt_tracer_has_library(tracer))
		return explain_untracked(t, l, error);
	/* first: no process may use up the limits that these count for too */
	gt_libraries_installed(l, getenv("LD_LIBRARY_PATH"));
	if (t->everyone)
		gt_libraries_everywhere(l);
	l->is_settled = true;
	for (size_t i = 0; i < l->count; i++)
		functions += l->list[i].functions;
	if (!functions && *l->refusal.text)
		return gt_error_set(error, GT_TARGETS_UNTRACKED, "%s", l->refusal.text);
	if (!functions) {
		name_libraries(t, names, sizeof names);
		return gt_error_set(error, GT_TARGETS_UNTRACKED,
				    "nothing to probe: no %s is installed here or loaded by %s; "
				    "install a driver, or check LD_LIBRARY_PATH",
				    names, t->everyone ? "a process" : "the process");
	}
	return mapped;
}

int gt_targets_status(int error)
{
	return error == GT_TARGETS_UNTRACKED ? GT_EXIT_UNTRACKED : GT_EXIT_FAILED;
}

void gt_targets_tell_untracked(const struct gt_targets *t, struct gt_tracer *tracer)
{
	const struct gt_libraries *l = gt_tracer_libraries(tracer);
	char names[128];

	name_libraries(t, names, sizeof names);
	if (*l->refusal.text)
		gt_tell("nothing was tracked: %s", l->refusal.text);
	else if (t->everyone)
		gt_tell("nothing was tracked: no process loaded %s meanwhile", names);
	else
		gt_tell("nothing was tracked: process %u did not load %s meanwhile, nor did its "
			"children; `ps` shows whether another process makes the GPU calls",
			t->pids[0], names);
}

bool gt_targets_ended(const struct gt_targets *t, const struct gt_tracer *tracer)
{
	size_t ended = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct pollfd fd = { .fd = t->fds[i], .events = POLLIN };

		ended += poll(&fd, 1, 0) > 0;
	}
	return t->count && ended == t->count && !gt_tracer_running(tracer);
}

void gt_targets_tell_dropped(struct gt_tracer *tracer, size_t *told)
{
	const struct gt_libraries *l = gt_tracer_libraries(tracer);

	for (; *told < l->dropped_count; ++*told) {
		const struct gt_dropped_libraries *d = &l->dropped[*told];

		gt_tell("process %u has mapped more libraries than are probed, so its calls into "
			"%zu of them are not recorded: at most %d are probed for a process, %d in "
			"all%s",
			d->pid, d->count, GT_LIBRARIES_OF_PROCESS, GT_LIBRARIES_MAX,
			d->is_full ? "; -p PID probes those of one process first" : "");
	}
}
