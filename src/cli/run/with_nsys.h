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
	/* In our process, once there is an export: names the recording's folder, then made. */
	const char *(*folder)(void *context, pid_t pid);
	void *context;
	struct gt_info *info; /* receives the facts of the export; the caller writes it */
	int program_status;   /* result: the program's, or -1 if it did not run */
};

/*
 * Runs the program under nsys, exports and imports. Returns the program's waitpid status as nsys
 * forwards it, and nsys's pid; or -1 and the error: there is no nsys, or its own message.
 */
int gt_with_nsys(struct gt_with_nsys *with, pid_t *pid, struct gt_error *error);
