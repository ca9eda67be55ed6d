/* SPDX-License-Identifier: MIT */
/* targets.h - which processes and APIs attach and top follow. */
#pragma once

#include <errno.h>

#include "capture/ebpf/tracer.h"
#include "cli/options.h"

enum {
	GT_TARGETS_MAX = 1000,
	GT_TARGETS_UNTRACKED = -ENODATA, /* an error: no call of the processes can be seen */
};

struct gt_targets {
	bool everyone; /* no process was named */
	uint32_t pids[GT_TARGETS_MAX];
	int fds[GT_TARGETS_MAX]; /* readable when the process has ended */
	size_t count;
	bool wanted[GT_API_COUNT], some_apis;
};

/* From lists of pids and names of APIs, as typed. 0, or the exit status after a message. */
int gt_targets_parse(struct gt_targets *t, const struct gt_syntax *syntax,
		     const struct gt_texts *pids, const struct gt_texts *apis);
/* Adds a process that is known to exist. */
void gt_targets_add(struct gt_targets *t, uint32_t pid);
/* Checks that the processes exist. 0, or -errno and the error. */
int gt_targets_check(struct gt_targets *t, struct gt_error *error);
void gt_targets_fini(struct gt_targets *t);

/*
 * Probes the libraries that the processes have loaded and those that they may load. Returns how
 * many they have loaded, or -errno and the error: GT_TARGETS_UNTRACKED if none can be probed.
 */
int gt_targets_probe(const struct gt_targets *t, struct gt_tracer *tracer, struct gt_error *error);
/* The exit status for an error of gt_targets_probe. */
int gt_targets_status(int error);
/* At the end: says why no call of a process could be seen. */
void gt_targets_tell_untracked(const struct gt_targets *t, struct gt_tracer *tracer);
/* True if all named processes and their children have ended. */
bool gt_targets_ended(const struct gt_targets *t, const struct gt_tracer *tracer);

/* Tells about processes with more libraries than are probed; from the `told`th on, updates it. */
void gt_targets_tell_dropped(struct gt_tracer *tracer, size_t *told);
