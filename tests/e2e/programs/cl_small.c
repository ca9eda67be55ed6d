/* SPDX-License-Identifier: MIT */
/* cl_small.c - small_stack.h for OpenCL. */
#include "cl_common.h"

#include "small_stack.h"

static cl_context context;

static void *allocate(void)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &error);

	MUST(error);
	return buffer;
}

static void release(void *block)
{
	MUST(clReleaseMemObject(block));
}

__attribute__((noinline)) static void one(void)
{
	release(allocate());
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int error;
	int status;

	if (clGetPlatformIDs(1, &platform, NULL))
		return STATUS_SKIPPED;
	MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	MUST(error);
	status = small_main(argc, argv);
	MUST(clReleaseContext(context));
	return status;
}
