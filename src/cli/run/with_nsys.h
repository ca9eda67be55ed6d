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

/* True for the name of a report of Nsight Systems: .nsys-rep, or .qdrep as older versions have it.
 */
bool gt_nsys_is_report(const char *file);
/* The export of a report, in a temporary folder. */
struct gt_nsys_export {
	char folder[4096], file[4096 + 32];
};
/* Runs `nsys export`. 0, or -1 and the error: there is no nsys, or its own message. */
int gt_nsys_export_make(struct gt_nsys_export *export, const char *report, struct gt_error *error);
void gt_nsys_export_remove(const struct gt_nsys_export *export);
