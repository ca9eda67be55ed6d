/*
 * opencl.h - what the OpenCL programs of doc/guide.md share: a device, a context, a queue.
 */
#ifndef GUIDE_OPENCL_H
#define GUIDE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 200
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <CL/cl.h>

struct gpu {
	cl_context context;
	cl_command_queue queue;
	cl_device_id device;
};

static inline void check(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "%s failed with error %d\n", what, (int)error);
	exit(1);
}

static inline void gpu_open(struct gpu *gpu)
{
	cl_platform_id platform;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu->device, NULL), "clGetDeviceIDs");
	gpu->context = clCreateContext(NULL, 1, &gpu->device, NULL, NULL, &error);
	check(error, "clCreateContext");
	gpu->queue = clCreateCommandQueueWithProperties(gpu->context, gpu->device, NULL, &error);
	check(error, "clCreateCommandQueueWithProperties");
}

static inline void gpu_close(struct gpu *gpu)
{
	clReleaseCommandQueue(gpu->queue);
	clReleaseContext(gpu->context);
}

static inline cl_mem gpu_buffer(struct gpu *gpu, size_t size_bytes)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, size_bytes, NULL, &error);

	check(error, "clCreateBuffer");
	return buffer;
}

#endif
/* SPDX-License-Identifier: MIT */
