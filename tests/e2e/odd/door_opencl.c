/* SPDX-License-Identifier: MIT */
/* door_opencl.c - counted calls of OpenCL. */
#include "odd.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

const char *const door_library = "libOpenCL.so.1";

static cl_context context;

static void check(cl_int code, const char *what)
{
	if (code != CL_SUCCESS)
		fail("%s: %d", what, code);
}

void door_open(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;

	if (clGetPlatformIDs(1, &platform, NULL))
		skip("no OpenCL platform");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	COUNTED(context = clCreateContext(NULL, 1, &device, NULL, NULL, &code));
	check(code, "clCreateContext");
}

void door_close(void)
{
	cl_int code;

	COUNTED(code = clReleaseContext(context));
	check(code, "clReleaseContext");
}

void *door_create(void)
{
	cl_mem buffer;
	cl_int code;

	COUNTED(buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &code));
	check(code, "clCreateBuffer");
	return buffer;
}

void door_release(void *object)
{
	cl_int code;

	COUNTED(code = clReleaseMemObject((cl_mem)object));
	check(code, "clReleaseMemObject");
}

void door_crash(void)
{
	count_begin();
	clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 64, (void *)64, NULL);
}

static void CL_CALLBACK pass_on(cl_mem memory, void *called)
{
	(void)memory;
	((void (*)(void))called)();
}

bool door_call_back(void (*called)(void))
{
	cl_mem buffer = door_create();

	check(clSetMemObjectDestructorCallback(buffer, pass_on, (void *)called), "destructor");
	count_begin();
	check(clReleaseMemObject(buffer), "clReleaseMemObject");
	count_end();
	return true;
}
