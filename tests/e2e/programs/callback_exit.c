/* SPDX-License-Identifier: MIT */
/*
 * callback_exit: ends the program from a callback of the driver, by exit, _exit or SIGKILL.
 *
 * --how exit|_exit|kill, --platform SUBSTRING. Two buffers are alive by then.
 */
#include "cl_kinds.h"

#include <signal.h>

static const char *how;

static void CL_CALLBACK called(cl_event event, cl_int status, void *unused)
{
	(void)event;
	(void)status;
	(void)unused;
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(5);
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	struct cl_choice choice = cl_pick(arg_take(&argc, argv, "--platform"));
	cl_context context = cl_context_on(choice);
	char bytes[16] = "";
	cl_command_queue queue;
	cl_mem buffer;
	cl_event event;
	cl_int err;

	how = arg_take(&argc, argv, "--how");
	arg_none_left(argc, argv);
	queue = clCreateCommandQueue(context, choice.device, 0, &err);
	MUST(err);
	clCreateBuffer(context, CL_MEM_READ_WRITE, 1000, NULL, &err);
	MUST(err);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 2000, NULL, &err);
	MUST(err);
	event = clCreateUserEvent(context, &err);
	MUST(err);
	MUST(clSetEventCallback(event, CL_COMPLETE, called, NULL));
	MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(bytes), bytes, 0, NULL, NULL));
	MUST(clSetUserEventStatus(event, CL_COMPLETE));
	for (;;)
		pause();
}
