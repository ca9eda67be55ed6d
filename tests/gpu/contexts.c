/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - memory in several contexts, of two devices if there are two: every way to make a
 * context current, in two threads. usage: contexts [wait]
 *
 * wait: says "ready" once the contexts are there, and goes on after a line of input; for attaching
 * late. The driver is opened at run time. Build: cc tests/gpu/contexts.c -I CUDA/include -ldl
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_calls.h"

static CUcontext primary, other, own;
static CUdevice second;

static void allocate(size_t bytes)
{
	CUdeviceptr block;

	NEED(cuMemAlloc, &block, bytes);
}

/* Memory that belongs to a device, whatever is current. */
static void create_physical(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, second } };
	CUmemGenericAllocationHandle handle;

	NEED(cuMemCreate, &handle, 2 << 20, &prop, 0);
}

static void *work(void *unused)
{
	CUcontext popped;
	CUevent event;

	NEED(cuCtxSetCurrent, other);
	allocate(1 << 20);
	NEED(cuCtxPushCurrent, primary);
	allocate(2 << 20);
	NEED(cuCtxPopCurrent, &popped);
	allocate(3 << 20);
	NEED(cuEventCreate, &event, 0);
	/* a new thread has none below the one that it set */
	NEED(cuCtxSetCurrent, NULL);
	NEED(cuCtxSetCurrent, own);
	allocate(4 << 20);
	return unused;
}

/* By the pointer, as programs do: the compiler knows no type for it. */
static void create_own(void)
{
	CUresult (*create)(CUcontext *, unsigned, CUdevice);

	*(void **)&create = address("cuCtxCreate_v2");
	need("cuCtxCreate_v2", create(&own, 0, second));
}

int main(int argc, char **argv)
{
	pthread_t thread;
	CUcontext popped;
	int count = 0;

	(void)argv;
	NEED(cuInit, 0);
	NEED(cuDeviceGetCount, &count);
	second = count > 1;
	NEED(cuDevicePrimaryCtxRetain, &primary, 0);
	NEED(cuDevicePrimaryCtxRetain, &other, second);
	NEED(cuCtxSetCurrent, primary);
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	allocate(5 << 20);
	create_physical();
	create_own();
	allocate(6 << 20);
	/* refused: the same one stays current */
	(void)CALL(cuCtxPushCurrent, (CUcontext)NULL);
	allocate(7 << 20);
	NEED(cuCtxPopCurrent, &popped);
	allocate(8 << 20);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	NEED(cuCtxPushCurrent, own);
	NEED(cuCtxDestroy, own);
	allocate(9 << 20);
	return 0;
}
