/* SPDX-License-Identifier: MIT */
/* cuda_plugin.c - a library that links the driver, for programs that load it RTLD_LOCAL. */
#include "cuda_common.h"

__attribute__((visibility("default"))) int use_cuda(void);
int use_cuda(void)
{
	CUcontext context;
	CUdeviceptr memory;
	CUresult result = cuInit(0);

	result = result ? result : cuDevicePrimaryCtxRetain(&context, 0);
	result = result ? result : cuCtxSetCurrent(context);
	return (int)(result ? result : cuMemAlloc(&memory, 1000));
}
