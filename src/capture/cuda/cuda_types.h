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
typedef uint64_t cuuint64_t;

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

enum { CUDA_SUCCESS = 0, CU_MEM_LOCATION_TYPE_DEVICE = 1 };

#endif
