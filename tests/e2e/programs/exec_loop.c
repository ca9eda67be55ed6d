/* SPDX-License-Identifier: MIT */
/*
 * exec_loop: leaks a buffer and executes itself again, --times N (default 5) times in all.
 *
 * The process stays the same, so all of them have one pid. Leaks 1000 bytes in the last one, 2000
 * in the one before it, and so on.
 */
#include "cl_kinds.h"

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	long times = arg_number(&argc, argv, "--times", 5);
	cl_context context;
	char next[32];
	cl_int err;

	arg_none_left(argc, argv);
	context = cl_context_on(cl_pick(platform));
	clCreateBuffer(context, CL_MEM_READ_WRITE, times * 1000, NULL, &err);
	MUST(err);
	MUST(clReleaseContext(context));
	if (times > 1) {
		snprintf(next, sizeof(next), "%ld", times - 1);
		execl("/proc/self/exe", argv[0], "--times", next, platform ? "--platform" : NULL,
		      platform, NULL);
		quit(STATUS_FAILED, "cannot execute myself: %m");
	}
	puts("the last one");
	return STATUS_OK;
}
