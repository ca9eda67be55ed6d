/* SPDX-License-Identifier: MIT */
/*
 * short_threads: --threads N (default 1000) threads that each make a buffer and end, eight at once.
 *
 * Each releases the buffer of the thread before it in its column; nothing is left.
 */
#include "cl_kinds.h"

#include <pthread.h>

#define COLUMNS 8

static cl_context context;
static cl_mem buffers[COLUMNS];

static void *work(void *argument)
{
	cl_mem *mine = argument, old = *mine;
	cl_int err;

	*mine = clCreateBuffer(context, CL_MEM_READ_WRITE, 32, NULL, &err);
	MUST(err);
	if (old)
		MUST(clReleaseMemObject(old));
	return NULL;
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	long count = arg_number(&argc, argv, "--threads", 1000);
	pthread_t threads[COLUMNS];

	arg_none_left(argc, argv);
	context = cl_context_on(cl_pick(platform));
	for (long i = 0; i < count; i += COLUMNS) {
		for (int k = 0; k < COLUMNS; k++)
			if (pthread_create(&threads[k], NULL, work, &buffers[k]))
				quit(STATUS_FAILED, "cannot start a thread");
		for (int k = 0; k < COLUMNS; k++)
			pthread_join(threads[k], NULL);
	}
	for (int k = 0; k < COLUMNS; k++)
		MUST(clReleaseMemObject(buffers[k]));
	MUST(clReleaseContext(context));
	printf("%ld threads\n", (count + COLUMNS - 1) / COLUMNS * COLUMNS);
	return STATUS_OK;
}
