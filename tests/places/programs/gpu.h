/* SPDX-License-Identifier: MIT */
/* gpu.h - the context of a small program that makes buffers. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static cl_context gpu_context;
static cl_device_id gpu_device;

static inline void gpu_open(void)
{
	cl_platform_id platform;

	clGetPlatformIDs(1, &platform, NULL);
	clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu_device, NULL);
	gpu_context = clCreateContext(NULL, 1, &gpu_device, NULL, NULL, NULL);
}
