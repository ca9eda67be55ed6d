/* SPDX-License-Identifier: MIT */
/* process.c - whether a process that was recorded is still there. */
#include <string.h>
#include <sys/utsname.h>

#include "base/process.h"
#include "trace/recording.h"

enum { SECOND = 1000000000 };

bool gt_process_runs(const struct gt_process *process)
{
	struct utsname system;
	uint64_t began;

	/* of one that became another program, the number lives on: trace/ends.h knows */
	if (process->state != GT_TRACE_RUNNING || process->end_ns)
		return false;
	if (!*process->host || uname(&system) || strcmp(process->host, system.nodename))
		return false;
	began = gt_process_start_ns(process->pid);
	/* a number that is used again belongs to somebody who came later */
	return began && began <= process->start_real_ns + SECOND;
}

bool gt_process_goes_on(const struct gt_process *process)
{
	return process->went_on || process->state == GT_TRACE_STOPPED || gt_process_runs(process);
}
