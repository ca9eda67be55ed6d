/* SPDX-License-Identifier: MIT */
/*
 * cuda_objects.c - creates and ends something through every CUDA function that gputrack follows.
 *
 * Prints a line for each call, "FUNCTION HANDLE BYTES" for creations and "FUNCTION HANDLE" for
 * endings: what a recording must contain, in this order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_common.h"

#define CREATE(fn, handle, bytes, ...)                                                             \
	do {                                                                                       \
		need(fn(__VA_ARGS__), #fn);                                                        \
		printf("%s 0x%" PRIx64 " %" PRIu64 "\n", #fn, (uint64_t)(handle),                  \
		       (uint64_t)(bytes));                                                         \
	} while (0)
#define END(fn, handle, ...)                                                                       \
	do {                                                                                       \
		uint64_t handle_ = (uint64_t)(handle);                                             \
		need(fn(__VA_ARGS__), #fn);                                                        \
		printf("%s 0x%" PRIx64 "\n", #fn, handle_);                                        \
	} while (0)

static void memory(void)
{
	static char page[4096];
	CUdeviceptr p;
	CUmemoryPool pool;
	size_t pitch;
	void *host;

	CREATE(cuMemAlloc_v2, p, 1000, &p, 1000);
	END(cuMemFree_v2, p, p);
	CREATE(cuMemAllocPitch_v2, p, 1024 * 7, &p, &pitch, 600, 7, 4);
	END(cuMemFree_v2, p, p);
	CREATE(cuMemAllocManaged, p, 2000, &p, 2000, CU_MEM_ATTACH_GLOBAL);
	END(cuMemFree_v2, p, p);
	CREATE(cuMemAllocHost_v2, host, 3000, &host, 3000);
	END(cuMemFreeHost, host, host);
	CREATE(cuMemHostAlloc, host, 4000, &host, 4000, 0);
	END(cuMemFreeHost, host, host);
	CREATE(cuMemHostRegister_v2, page, sizeof page, page, sizeof page, 0);
	END(cuMemHostUnregister, page, page);
	CREATE(cuMemAllocAsync, p, 5000, &p, 5000, NULL);
	END(cuMemFreeAsync, p, p, NULL);
	CREATE(cuMemAllocAsync_ptsz, p, 5001, &p, 5001, NULL);
	END(cuMemFreeAsync_ptsz, p, p, NULL);
	CREATE(cuMemPoolCreate, pool, 0, &pool, &(CUmemPoolProps){ .location.type = 1 });
	CREATE(cuMemAllocFromPoolAsync, p, 6000, &p, 6000, pool, NULL);
	END(cuMemFreeAsync, p, p, NULL);
	CREATE(cuMemAllocFromPoolAsync_ptsz, p, 6001, &p, 6001, pool, NULL);
	END(cuMemFreeAsync_ptsz, p, p, NULL);
	CREATE(cuMemPoolImportPointer, p, 0, &p, pool, &(CUmemPoolPtrExportData){ 0 });
	END(cuMemFree_v2, p, p);
	END(cuMemPoolDestroy, pool, pool);
	CREATE(cuMemPoolImportFromShareableHandle, pool, 0, &pool, NULL, 1, 0);
	END(cuMemPoolDestroy, pool, pool);
}

static void virtual_memory(void)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;

	CREATE(cuMemCreate, h, 8192, &h, 8192, &(CUmemAllocationProp){ .location.type = 1 }, 0);
	CREATE(cuMemAddressReserve, p, 16384, &p, 16384, 0, 0, 0);
	CREATE(cuMemMap, p, 8192, p, 8192, 0, h, 0);
	END(cuMemRetainAllocationHandle, h, &h, (void *)(uintptr_t)p);
	END(cuMemRelease, h, h);
	END(cuMemUnmap, p, p, 8192);
	END(cuMemRelease, h, h);
	END(cuMemAddressFree, p, p, 16384);
	CREATE(cuMemImportFromShareableHandle, h, 0, &h, NULL, 1);
	END(cuMemRelease, h, h);
	CREATE(cuMulticastCreate, h, 0, &h, &(CUmulticastObjectProp){ .numDevices = 1 });
	END(cuMemRelease, h, h);
}

static void arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 100, .Height = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2
	};
	CUDA_ARRAY3D_DESCRIPTOR deep = {
		.Width = 16, .Height = 8, .Depth = 4, .Format = CU_AD_FORMAT_HALF, .NumChannels = 4
	};
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .offset = 0, .size = 777 };
	CUmipmappedArray mipmap;
	CUexternalMemory outside;
	CUipcMemHandle ipc;
	CUdeviceptr p, q;
	CUarray array;

	CREATE(cuArrayCreate_v2, array, 100 * 8, &array, &flat);
	END(cuArrayDestroy, array, array);
	CREATE(cuArray3DCreate_v2, array, 16 * 8 * 4 * 8, &array, &deep);
	END(cuArrayDestroy, array, array);
	CREATE(cuMipmappedArrayCreate, mipmap, 8 * (16 * 8 * 4 + 8 * 4 * 2 + 4 * 2 * 1), &mipmap,
	       &deep, 3);
	END(cuMipmappedArrayDestroy, mipmap, mipmap);
	/* blocks of 4 x 4, and layers that do not get fewer */
	deep.Format = CU_AD_FORMAT_BC1_UNORM;
	deep.Flags = CUDA_ARRAY3D_LAYERED;
	CREATE(cuMipmappedArrayCreate, mipmap, 8 * (4 * 2 * 4 + 2 * 1 * 4), &mipmap, &deep, 2);
	END(cuMipmappedArrayDestroy, mipmap, mipmap);
	deep.Flags = CUDA_ARRAY3D_SPARSE;
	CREATE(cuArray3DCreate_v2, array, 0, &array, &deep);
	END(cuArrayDestroy, array, array);
	need(cuMemAlloc_v2(&q, 4096), "cuMemAlloc_v2");
	printf("cuMemAlloc_v2 0x%" PRIx64 " 4096\n", (uint64_t)q);
	need(cuIpcGetMemHandle(&ipc, q), "cuIpcGetMemHandle");
	CREATE(cuIpcOpenMemHandle, p, 0, &p, ipc, 0);
	CREATE(cuIpcOpenMemHandle_v2, p, 0, &p, ipc, 0); /* the same once more: a reference */
	END(cuIpcCloseMemHandle, p, p);
	END(cuIpcCloseMemHandle, p, p);
	END(cuMemFree_v2, q, q);
	CREATE(cuImportExternalMemory, outside, 0, &outside,
	       &(CUDA_EXTERNAL_MEMORY_HANDLE_DESC){ 0 });
	CREATE(cuExternalMemoryGetMappedBuffer, p, 777, &p, outside, &buffer);
	END(cuMemFree_v2, p, p);
	CREATE(cuExternalMemoryGetMappedMipmappedArray, mipmap, 0, &mipmap, outside,
	       &(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC){ 0 });
	END(cuMipmappedArrayDestroy, mipmap, mipmap);
	END(cuDestroyExternalMemory, outside, outside);
}

static void things(void)
{
	CUexternalSemaphore semaphore;
	CUgreenCtx green;
	CUtexObject texture;
	CUsurfObject surface;
	CUlibrary library;
	CUmodule module;
	CUstream stream;
	CUevent event;

	CREATE(cuStreamCreate, stream, 0, &stream, 0);
	END(cuStreamDestroy_v2, stream, stream);
	CREATE(cuStreamCreateWithPriority, stream, 0, &stream, 0, 0);
	END(cuStreamDestroy, stream, stream);
	CREATE(cuGreenCtxCreate, green, 0, &green, NULL, 0, 0);
	CREATE(cuGreenCtxStreamCreate, stream, 0, &stream, green, 0, 0);
	END(cuStreamDestroy_v2, stream, stream);
	END(cuGreenCtxDestroy, green, green);
	CREATE(cuEventCreate, event, 0, &event, 0);
	END(cuEventDestroy_v2, event, event);
	CREATE(cuIpcOpenEventHandle, event, 0, &event, (CUipcEventHandle){ { 0 } });
	END(cuEventDestroy, event, event);
	CREATE(cuModuleLoad, module, 0, &module, "code.cubin");
	END(cuModuleUnload, module, module);
	CREATE(cuModuleLoadData, module, 0, &module, "code");
	END(cuModuleUnload, module, module);
	CREATE(cuModuleLoadDataEx, module, 0, &module, "code", 0, NULL, NULL);
	END(cuModuleUnload, module, module);
	CREATE(cuModuleLoadFatBinary, module, 0, &module, "code");
	END(cuModuleUnload, module, module);
	CREATE(cuLibraryLoadData, library, 0, &library, "code", NULL, NULL, 0, NULL, NULL, 0);
	END(cuLibraryUnload, library, library);
	CREATE(cuLibraryLoadFromFile, library, 0, &library, "code", NULL, NULL, 0, NULL, NULL, 0);
	END(cuLibraryUnload, library, library);
	CREATE(cuTexObjectCreate, texture, 0, &texture, NULL, NULL, NULL);
	END(cuTexObjectDestroy, texture, texture);
	CREATE(cuSurfObjectCreate, surface, 0, &surface, NULL);
	END(cuSurfObjectDestroy, surface, surface);
	CREATE(cuImportExternalSemaphore, semaphore, 0, &semaphore, NULL);
	END(cuDestroyExternalSemaphore, semaphore, semaphore);
}

static void graphs(void)
{
	CUgraphExec exec;
	CUgraph graph, clone;

	CREATE(cuGraphCreate, graph, 0, &graph, 0);
	CREATE(cuGraphClone, clone, 0, &clone, graph);
	CREATE(cuGraphInstantiate, exec, 0, &exec, graph, NULL, NULL, 0);
	END(cuGraphExecDestroy, exec, exec);
	CREATE(cuGraphInstantiate_v2, exec, 0, &exec, graph, NULL, NULL, 0);
	END(cuGraphExecDestroy, exec, exec);
	CREATE(cuGraphInstantiateWithFlags, exec, 0, &exec, graph, 0);
	END(cuGraphExecDestroy, exec, exec);
	CREATE(cuGraphInstantiateWithParams, exec, 0, &exec, graph, NULL);
	END(cuGraphExecDestroy, exec, exec);
	CREATE(cuGraphInstantiateWithParams_ptsz, exec, 0, &exec, graph, NULL);
	END(cuGraphExecDestroy, exec, exec);
	END(cuGraphDestroy, clone, clone);
	END(cuGraphDestroy, graph, graph);
	CREATE(cuStreamEndCapture, graph, 0, NULL, &graph);
	END(cuGraphDestroy, graph, graph);
	CREATE(cuStreamEndCapture_ptsz, graph, 0, NULL, &graph);
	END(cuGraphDestroy, graph, graph);
}

static void contexts(void)
{
	CUcontext primary, same, context;

	CREATE(cuDevicePrimaryCtxRetain, primary, 0, &primary, 0);
	CREATE(cuDevicePrimaryCtxRetain, same, 0, &same, 0);
	END(cuDevicePrimaryCtxRelease, same, 0);
	END(cuDevicePrimaryCtxRelease_v2, primary, 0);
	CREATE(cuDevicePrimaryCtxRetain, primary, 0, &primary, 0);
	END(cuDevicePrimaryCtxReset_v2, primary, 0);
	CREATE(cuDevicePrimaryCtxRetain, primary, 0, &primary, 0);
	END(cuDevicePrimaryCtxReset, primary, 0);
	CREATE(cuCtxCreate, context, 0, &context, 0, 0);
	END(cuCtxDestroy, context, context);
	CREATE(cuCtxCreate_v3, context, 0, &context, NULL, 0, 0, 0);
	END(cuCtxDestroy_v2, context, context);
	CREATE(cuCtxCreate_v4, context, 0, &context, NULL, 0, 0);
	END(cuCtxDestroy_v2, context, context);
}

int main(void)
{
	CUcontext context;

	need(cuInit(0), "cuInit");
	contexts();
	CREATE(cuCtxCreate_v2, context, 0, &context, 0, 0);
	memory();
	virtual_memory();
	arrays();
	things();
	graphs();
	END(cuCtxDestroy_v2, context, context);
	return 0;
}
