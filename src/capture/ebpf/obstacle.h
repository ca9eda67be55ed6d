/* obstacle.h - why BPF programs cannot be used here, in one line that says what to do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What the machine and the process are like, as far as attaching depends on it. */
struct gt_surroundings {
	unsigned kernel_major, kernel_minor;
	bool has_types;          /* /sys/kernel/btf/vmlinux */
	bool locked_down;        /* confidentiality: programs may not read memory */
	bool seccomp;            /* a filter stands before system calls */
	uint64_t capabilities;   /* effective */
};

void gt_surroundings_look(struct gt_surroundings *s);

/* 0, or an error that can be seen before anything is tried. */
int gt_obstacle_before(const struct gt_surroundings *s, struct gt_error *error);
/* Why the kernel has refused: `code` is what it said, `what` was tried, `detail` its own words. */
int gt_obstacle_after(const struct gt_surroundings *s, int code, const char *what,
		      const char *detail, struct gt_error *error);

/*
 * Gives up for good all capabilities but those needed to go on: to attach to further libraries and
 * to look at processes and their files. 0 or -errno.
 */
int gt_privileges_drop(void);
