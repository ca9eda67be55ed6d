/* SPDX-License-Identifier: MIT */
/* cl.c - the context for the Fortran program. */
#include "../gpu.h"

void *cl_open(void)
{
	gpu_open();
	return gpu_context;
}
