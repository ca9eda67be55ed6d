/* SPDX-License-Identifier: MIT */
/* parents.h - the modules of processes that make no calls but have children that do. */
#pragma once

#include "capture/ebpf/calls.h"
#include "capture/ebpf/modules.h"

enum { GT_PARENTS_MAX = 64 };

/* Zeroed is initialised. */
struct gt_parents {
	struct gt_parent {
		uint32_t pid, exec;   /* pid 0: none */
		uint64_t start;       /* 0: met before it had a child, when … */
		uint64_t start_ticks; /* … only this was known */
		struct gt_modules modules;
	} list[GT_PARENTS_MAX];
	size_t next; /* the oldest, which is replaced next */
};

void gt_parents_fini(struct gt_parents *p);
/* The process has mapped something: its modules are read again when they are needed. */
void gt_parents_stale(struct gt_parents *p, uint32_t pid);
/*
 * A process that may have children which call: reads its modules now. When its first child is heard
 * of, both may have ended.
 */
void gt_parents_meet(struct gt_parents *p, struct gt_images *images, uint32_t pid);
/*
 * The modules that the parent of the process in the news has; NULL if it has become another program
 * since, or has ended. Good until the next call.
 */
const struct gt_modules *gt_parents_get(struct gt_parents *p, struct gt_images *images,
					const struct gt_probe_event *child);
