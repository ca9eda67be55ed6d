/* SPDX-License-Identifier: MIT */
/* nvtx_python.c - ranges of NVTX for Python's ctypes, as the module nvtx has them. */
#ifdef GT_HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx_stand_in.h"
#endif

int push_range(const char *text);
int pop_range(void);

__attribute__((visibility("default"))) int push_range(const char *text)
{
	return nvtxRangePushA(text);
}

__attribute__((visibility("default"))) int pop_range(void)
{
	return nvtxRangePop();
}
