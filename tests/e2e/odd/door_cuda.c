/* SPDX-License-Identifier: MIT */
/* door_cuda.c - counted calls of CUDA's driver API, on memory that needs no context. */
#include "odd.h"

#include <cuda.h>

const char *const door_library = "libcuda.so.1";

enum { BYTES = 2 << 20 }; /* a real driver has no smaller ones */

static const CUmemAllocationProp memory = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

static void check(CUresult code, const char *what)
{
	if (code != CUDA_SUCCESS)
		fail("%s: %d", what, (int)code);
}

void door_open(void)
{
	if (cuInit(0))
		skip("no CUDA driver");
}

void door_close(void)
{
}

void *door_create(void)
{
	CUmemGenericAllocationHandle handle;
	CUresult code;

	COUNTED(code = cuMemCreate(&handle, BYTES, &memory, 0));
	check(code, "cuMemCreate");
	return (void *)(uintptr_t)handle;
}

void door_release(void *object)
{
	CUresult code;

	COUNTED(code = cuMemRelease((uintptr_t)object));
	check(code, "cuMemRelease");
}

void door_crash(void)
{
	count_begin();
	cuMemCreate((CUmemGenericAllocationHandle *)(uintptr_t)64, BYTES, &memory, 0);
}

bool door_call_back(void (*called)(void))
{
	(void)called;
	return false;
}
