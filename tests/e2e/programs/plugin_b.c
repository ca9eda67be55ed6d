/* SPDX-License-Identifier: MIT */
/* Plugin b: leaks in leak_in_beta(). */
#include "plugin.h"

/* Its own function, not inlined, so that a report names the plugin that was loaded then. */
__attribute__((noinline)) static cl_int leak_in_beta(cl_context context, size_t size_bytes)
{
	cl_int err;

	clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, NULL, &err);
	return err;
}

cl_int plugin_run(cl_context context, size_t size_bytes)
{
	cl_int err = leak_in_beta(context, size_bytes);

	/* a compare after the call keeps it from becoming a jump */
	return err == CL_SUCCESS ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}
