/* SPDX-License-Identifier: MIT */
/* pool.h - what a macro and an inline function do to a stack. */
#pragma once

#include "../../gpu.h"

#define NEW_BUFFER(bytes) clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, (bytes), NULL, NULL)

static inline cl_mem pool_take(size_t bytes)
{
	return clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
}

static inline cl_mem pool_take_rounded(size_t bytes)
{
	return pool_take((bytes + 255) & ~(size_t)255);
}
