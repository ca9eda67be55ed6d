/* SPDX-License-Identifier: MIT */
/* obstacle.h - why BPF programs cannot be used here, in one line that says what to do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* The properties of the machine and of this process on which attaching depends. */
struct gt_surroundings {
	unsigned kernel_major, kernel_minor;
	bool has_types;        /* /sys/kernel/btf/vmlinux */
	bool locked_down;      /* confidentiality: BPF programs may not read memory */
	bool seccomp;          /* system calls are filtered */
	uint64_t capabilities; /* effective */
};

void gt_surroundings_look(struct gt_surroundings *s);

/* A requirement of attaching, and whether it is met here. */
struct gt_need {
	const char *name; /* "kernel" */
	bool is_met;
	int code;       /* -errno when it is not */
	char text[160]; /* what was found, or what is missing: "attaching needs Linux 5.15 …" */
	const char *remedy; /* when it is not met */
};

enum { GT_NEED_COUNT = 4 };

/* All requirements, in the order in which they are checked. */
void gt_needs_look(const struct gt_surroundings *s, struct gt_need out[GT_NEED_COUNT]);
/* True when we may inspect processes of other users, which attaching to them requires. */
bool gt_may_look_at_others(const struct gt_surroundings *s);

/* 0, or the code and the message of the first requirement that is not met. */
int gt_obstacle_before(const struct gt_surroundings *s, struct gt_error *error);
/* Explains a refusal: `code` is the kernel's, `what` was attempted, `detail` is its message. */
int gt_obstacle_after(const struct gt_surroundings *s, int code, const char *what,
		      const char *detail, struct gt_error *error);

/*
 * Drops all capabilities for good, except those needed to attach to further libraries and to
 * inspect processes and their files, and those in `also`, a bit for each. 0 or -errno.
 */
int gt_privileges_drop(uint64_t also);
