/* SPDX-License-Identifier: MIT */
/* with_nsys.h - `gputrack run --with nsys`: Nsight Systems records, its export is imported. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem.h"
#include "trace/info.h"

struct gt_with_nsys {
	char *const *argv; /* the program */
	bool no_stacks;
	bool keep; /* what nsys wrote: NAME.nsys-rep, NAME.sqlite beside NAME.gt */
	/* In our process, when there is an export: names the recording's folder, which is made. */
	const char *(*folder)(void *context, pid_t pid);
	void *context;
	struct gt_info *info; /* gets what the export says; written by the caller */
	int program_status;   /* set: the program's, or -1 when it did not run */
};

/*
 * Runs the program under nsys, exports and imports. Gives the status of waitpid that nsys passed on
 * from the program, and nsys's pid; or -1 and one line: no nsys, or what it said when it failed.
 */
int gt_with_nsys(struct gt_with_nsys *with, pid_t *pid, struct gt_error *error);
