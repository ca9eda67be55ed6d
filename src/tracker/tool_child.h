/* SPDX-License-Identifier: MIT */
/*
 * tool_child.h - the gputrack program, as a child of the traced process that raises no SIGCHLD.
 *
 * What needs debug information or the recording is asked of it: nothing that reads these runs in
 * the traced process. Uses malloc: only for when the program asks, or ends.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { GT_TOOL_ARGS = 8 };

struct gt_tool_call {
	const char *argv[GT_TOOL_ARGS]; /* from the subcommand on */
	bool is_configured;             /* it reads the user's configuration, as if typed here */
	bool with_errors;               /* what it says on stderr is part of the answer */
};

struct gt_tool_child {
	FILE *to, *from;
	pid_t pid; /* 0: it does not run */
};

/* False: there is no such program, or no memory. */
bool gt_tool_start(struct gt_tool_child *child, const struct gt_tool_call *call);
/* To be called when all answers are read: it is killed. Does nothing if it did not start. */
void gt_tool_stop(struct gt_tool_child *child);
