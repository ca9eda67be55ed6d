/* SPDX-License-Identifier: MIT */
/* targets.h - whom attach and top follow: processes by number, all of them, some APIs only. */
#pragma once

#include "capture/ebpf/tracer.h"
#include "cli/options.h"

enum { GT_TARGETS_MAX = 1000 };

struct gt_targets {
	bool everyone; /* no process was named */
	uint32_t pids[GT_TARGETS_MAX];
	int fds[GT_TARGETS_MAX]; /* readable when the process has ended */
	size_t count;
	bool wanted[GT_API_COUNT], some_apis;
};

/* Lists of numbers, names of APIs, as typed. 0, or the exit status after the user was told. */
int gt_targets_parse(struct gt_targets *t, const struct gt_syntax *usage,
		     const struct gt_texts *pids, const struct gt_texts *apis);
/* One more, whom the caller knows to be there. */
void gt_targets_add(struct gt_targets *t, uint32_t pid);
/* Are they there? 0, or -errno and the sentence. */
int gt_targets_check(struct gt_targets *t, struct gt_error *error);
void gt_targets_fini(struct gt_targets *t);

/*
 * Probes what the processes have, and what they may load. How many libraries of ours they have
 * mapped, or -errno and the sentence.
 */
int gt_targets_probe(const struct gt_targets *t, struct gt_tracer *tracer, struct gt_error *error);
/* True when all that were named have ended; children that are still there are followed on. */
bool gt_targets_ended(const struct gt_targets *t, const struct gt_tracer *tracer);
