/* SPDX-License-Identifier: MIT */
/* cl_small.c - small_stack.h for OpenCL. */
#include "cl_common.h"

#include "small_stack.h"

#ifdef WITH_RANGES
#include "nvtx_stand_in.h"
#endif

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

/* In a phase that is new, within two that were known before. */
__attribute__((noinline)) static void one(void)
{
#ifdef WITH_RANGES
	static char name[] = "range 0000";

	for (int i = 9; i > 5 && ++name[i] > '9'; i--)
		name[i] = '0';
	nvtxRangePushA(name);
	release(allocate());
	nvtxRangePop();
#else
	release(allocate());
#endif
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
#ifdef WITH_RANGES
	/* NVTX loads a tool now, which takes what dlopen takes */
	nvtxRangeStartA("of the process");
	nvtxRangePushA("of the thread");
#endif
	status = small_main(argc, argv);
	MUST(clReleaseContext(context));
	return status;
}
