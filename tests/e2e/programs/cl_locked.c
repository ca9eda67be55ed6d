/* SPDX-License-Identifier: MIT */
/*
 * cl_locked: creates and releases buffers, most of them when its system calls are restricted.
 *
 * --filter none|kill|trap as in lock_down.h, --calls N (100). Prints how many buffers were made.
 */
#include "cl_common.h"
#include "lock_down.h"

static void one(cl_context context)
{
	cl_int err;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &err);

	MUST(err);
	MUST(clReleaseMemObject(buffer));
}

int main(int argc, char **argv)
{
	const char *filter = arg_take(&argc, argv, "--filter");
	long calls = arg_number(&argc, argv, "--calls", 100);
	cl_context context = cl_context_on(cl_pick(NULL));
	char line[64];
	int n;

	one(context);
	lock_down(filter ? filter : "none");
	for (long i = 0; i < calls; i++)
		one(context);
	/* stdio would ask what kind of file this is */
	n = snprintf(line, sizeof line, "made %ld\n", calls + 1);
	return write(STDOUT_FILENO, line, (size_t)n) != n;
}
