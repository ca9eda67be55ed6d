/* SPDX-License-Identifier: MIT */
/* helper.c - the helper library of a test suite: all its tests make buffers here. */
#include "helper.h"

#include "../gpu.h"

static cl_mem checked(size_t bytes)
{
	cl_int error;
	cl_mem mem = clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, NULL, &error);

	return error ? NULL : mem;
}

static cl_mem filled(size_t bytes)
{
	return checked(bytes);
}

void *helper_buffer(size_t bytes)
{
	if (!gpu_context)
		gpu_open();
	return filled(bytes);
}
