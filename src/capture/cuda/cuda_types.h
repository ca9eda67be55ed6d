/* SPDX-License-Identifier: MIT */
/*
 * cuda_types.h - the types of the CUDA driver API that the rows of cuda.def name.
 *
 * They come from the toolkit's header where there is one (GT_HAVE_CUDA_H), which every row is then
 * compared with. Without a toolkit the driver is tracked all the same: what a call passes has the
 * same size and the same registers below, and only what we look into has fields.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef GT_HAVE_CUDA_H

#include <cuda.h>

#include "capture/cuda/old_names.h" /* before our table is read */

#else

typedef int CUresult, CUdevice, CUjit_option, CUlibraryOption, CUmemAllocationHandleType;
typedef unsigned long long CUdeviceptr, CUmemGenericAllocationHandle, CUtexObject, CUsurfObject;
typedef int CUmemRangeHandleType;
typedef uint64_t cuuint64_t;
typedef uint32_t cuuint32_t;

#define OPAQUE(type) typedef struct type##_st *type;
OPAQUE(CUcontext)
OPAQUE(CUgreenCtx)
OPAQUE(CUdevResourceDesc)
OPAQUE(CUmodule)
OPAQUE(CUlibrary)
OPAQUE(CUstream)
OPAQUE(CUevent)
OPAQUE(CUarray)
OPAQUE(CUmipmappedArray)
OPAQUE(CUmemoryPool)
OPAQUE(CUexternalMemory)
OPAQUE(CUexternalSemaphore)
OPAQUE(CUgraph)
OPAQUE(CUgraphNode)
OPAQUE(CUgraphExec)
OPAQUE(CUfunction)
#undef OPAQUE

/* passed by value */
typedef struct {
	char reserved[64];
} CUipcMemHandle, CUipcEventHandle;

/* only ever pointed to */
typedef struct CUctxCreateParams CUctxCreateParams;
typedef struct CUexecAffinityParam CUexecAffinityParam;
typedef struct CUmemPoolPtrExportData CUmemPoolPtrExportData;
typedef struct CUmulticastObjectProp CUmulticastObjectProp;
typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;
typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS CUDA_GRAPH_INSTANTIATE_PARAMS;
typedef struct CUDA_RESOURCE_DESC CUDA_RESOURCE_DESC;
typedef struct CUDA_RESOURCE_VIEW_DESC CUDA_RESOURCE_VIEW_DESC;
typedef struct CUDA_TEXTURE_DESC CUDA_TEXTURE_DESC;
typedef struct CUDA_LAUNCH_PARAMS CUDA_LAUNCH_PARAMS;
typedef struct CUlaunchConfig CUlaunchConfig;
typedef struct CUstreamBatchMemOpParams CUstreamBatchMemOpParams;

typedef struct {
	size_t Width, Height;
	int Format;
	unsigned NumChannels;
} CUDA_ARRAY_DESCRIPTOR;

typedef struct {
	size_t Width, Height, Depth;
	int Format;
	unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

typedef struct {
	int type, id;
} CUmemLocation;

typedef struct {
	int type, requestedHandleTypes;
	CUmemLocation location;
} CUmemAllocationProp;

typedef struct {
	int allocType, handleTypes;
	CUmemLocation location;
} CUmemPoolProps;

/* clang-format off */
#define SIDE(side, type)                                                                           \
	int side##MemoryType;                                                                      \
	type *side##Host;                                                                          \
	CUdeviceptr side##Device;                                                                  \
	CUarray side##Array;

typedef struct {
	size_t srcXInBytes, srcY;
	SIDE(src, const void)
	size_t srcPitch, dstXInBytes, dstY;
	SIDE(dst, void)
	size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	SIDE(src, const void)
	void *reserved0;
	size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
	SIDE(dst, void)
	void *reserved1;
	size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER;
/* clang-format on */
#undef SIDE

enum { CUDA_SUCCESS = 0, CU_MEM_LOCATION_TYPE_DEVICE = 1 };

#endif
