/* SPDX-License-Identifier: MIT */
/* upload.c - a C library of the project that Python calls. */
#include "../gpu.h"

void *upload_open(void)
{
	gpu_open();
	return gpu_context;
}

void upload(const void *data, size_t bytes)
{
	clCreateBuffer(gpu_context, CL_MEM_COPY_HOST_PTR, bytes, (void *)data, NULL);
}
