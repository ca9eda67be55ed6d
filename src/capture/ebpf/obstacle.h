/* SPDX-License-Identifier: MIT */
/* obstacle.h - why BPF programs cannot be used here, in one line that says what to do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* What the machine and the process are like, as far as attaching depends on it. */
struct gt_surroundings {
	unsigned kernel_major, kernel_minor;
	bool has_types;        /* /sys/kernel/btf/vmlinux */
	bool locked_down;      /* confidentiality: programs may not read memory */
	bool seccomp;          /* a filter stands before system calls */
	uint64_t capabilities; /* effective */
};

void gt_surroundings_look(struct gt_surroundings *s);

/* Something that attaching cannot do without, as it is here. */
struct gt_need {
	const char *name; /* "kernel" */
	bool is_met;
	int code;       /* -errno when it is not */
	char text[160]; /* what there is, or what is missing: "attaching needs Linux 5.15 …" */
	const char *remedy; /* when it is not met */
};

enum { GT_NEED_COUNT = 4 };

/* All of them, in the order in which they are asked for. */
void gt_needs_look(const struct gt_surroundings *s, struct gt_need out[GT_NEED_COUNT]);
/* May look into processes of other users, which attaching to those takes. */
bool gt_may_look_at_others(const struct gt_surroundings *s);

/* 0, or the first need that is not met. */
int gt_obstacle_before(const struct gt_surroundings *s, struct gt_error *error);
/* Why the kernel has refused: `code` is what it said, `what` was tried, `detail` its own words. */
int gt_obstacle_after(const struct gt_surroundings *s, int code, const char *what,
		      const char *detail, struct gt_error *error);

/*
 * Gives up for good all capabilities but those needed to go on: to attach to further libraries and
 * to look at processes and their files. 0 or -errno.
 */
int gt_privileges_drop(void);
