/* SPDX-License-Identifier: MIT */
/* cuda_common.h - what the CUDA test programs share: all versions of all functions, one check. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "../../../src/capture/cuda/old_names.h"

/* Versions that the header has no longer, or only for programs built in another way. */
CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *params, int count, unsigned int flags,
			CUdevice dev);
CUresult cuCtxDestroy(CUcontext ctx);
CUresult cuDevicePrimaryCtxRelease(CUdevice dev);
CUresult cuDevicePrimaryCtxReset(CUdevice dev);
CUresult cuEventDestroy(CUevent event);
CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log,
			    size_t size);
CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log,
			       size_t size);
CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *pointer, size_t size, CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *pointer, size_t size, CUmemoryPool pool,
				      CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream);
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params);

static inline void need(CUresult result, const char *what)
{
	if (result) {
		fprintf(stderr, "%s failed: %d\n", what, (int)result);
		exit(3);
	}
}
