/* SPDX-License-Identifier: MIT */
/* cuda_small.c - small_stack.h for CUDA. */
#include "cuda_common.h"

#include "small_stack.h"

static CUcontext context;

static void *allocate(void)
{
	CUdeviceptr block = 0;

	/* each thread has its own current one */
	need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	need(cuMemAlloc(&block, 64), "cuMemAlloc");
	return (void *)(uintptr_t)block;
}

static void release(void *block)
{
	need(cuMemFree((CUdeviceptr)(uintptr_t)block), "cuMemFree");
}

__attribute__((noinline)) static void one(void)
{
	release(allocate());
}

int main(int argc, char **argv)
{
	int status;

	need(cuInit(0), "cuInit");
	need(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
	status = small_main(argc, argv);
	need(cuCtxDestroy_v2(context), "cuCtxDestroy");
	return status;
}
