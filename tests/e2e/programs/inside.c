/* SPDX-License-Identifier: MIT */
/*
 * inside: makes one call with a handle or an address that the driver cannot read, and dies in it.
 *
 * --call first|create|enqueue|retain|release, --platform SUBSTRING. `first` is the first tracked
 * call of the program; before the others it makes a context and a queue.
 */
#include "cl_kinds.h"

#define BAD ((void *)0x10)

int main(int argc, char **argv)
{
	struct cl_choice choice = cl_pick(arg_take(&argc, argv, "--platform"));
	const char *call = arg_take(&argc, argv, "--call");
	cl_command_queue queue;
	cl_context context;
	cl_int err;

	arg_none_left(argc, argv);
	if (!strcmp(call, "first"))
		clCreateContext(BAD, 1, &choice.device, NULL, NULL, &err);
	context = cl_context_on(choice);
	queue = clCreateCommandQueue(context, choice.device, 0, &err);
	MUST(err);
	if (!strcmp(call, "create"))
		clCreateBuffer(BAD, CL_MEM_READ_WRITE, 4096, NULL, &err);
	if (!strcmp(call, "enqueue"))
		clEnqueueMarkerWithWaitList(queue, 1, BAD, NULL);
	if (!strcmp(call, "retain"))
		clRetainCommandQueue(BAD);
	if (!strcmp(call, "release"))
		clReleaseCommandQueue(BAD);
	return 3;
}
