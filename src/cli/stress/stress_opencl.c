/* SPDX-License-Identifier: MIT */
/* stress_opencl.c - allocates through OpenCL, without its headers and without linking it. */
#include <errno.h>
#include <stdio.h>

#include "base/tool.h"
#include "cli/driver_abi.h"
#include "cli/stress/stress.h"

enum { CALL_CREATE, CALL_RELEASE, CALL_CLOSE };

static int make(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	int32_t result = 0;

	*block = ((gt_cl_create_buffer_fn *)d->own.call[CALL_CREATE])(
		d->own.context, GT_CL_MEM_READ_WRITE, (size_t)size_bytes, NULL, &result);
	return *block || result ? result : -1;
}

static int give_back(struct gt_stress_device *d, void *block)
{
	return ((gt_cl_release_fn *)d->own.call[CALL_RELEASE])(block);
}

static void let_go(struct gt_stress_device *d)
{
	((gt_cl_release_fn *)d->own.call[CALL_CLOSE])(d->own.context);
}

/* The first device of all platforms; NULL: there is none. */
static void *find_device(void *const *f)
{
	enum { PLATFORMS_MAX = 64 };
	void *platforms[PLATFORMS_MAX], *device;
	uint32_t count = 0, devices;

	if (((gt_cl_get_platforms_fn *)f[0])(PLATFORMS_MAX, platforms, &count))
		return NULL;
	for (uint32_t i = 0; i < count && i < PLATFORMS_MAX; i++) {
		devices = 0;
		if (!((gt_cl_get_devices_fn *)f[1])(platforms[i], GT_CL_DEVICE_TYPE_ALL, 1, &device,
						    &devices) &&
		    devices)
			return device;
	}
	return NULL;
}

static int open_device(struct gt_stress_device *d, const char *library, struct gt_error *error)
{
	static const char *const names[] = { "clGetPlatformIDs", "clGetDeviceIDs",
					     "clGetDeviceInfo",  "clCreateContext",
					     "clCreateBuffer",   "clReleaseMemObject",
					     "clReleaseContext", NULL };
	void *lib = gt_stress_load(library, error), *f[7];
	int32_t result = 0;

	if (!lib)
		return -ENOENT;
	if (!gt_stress_find(lib, names, f))
		return gt_error_set(error, -ENOENT,
				    "%s is no OpenCL loader; `%s doctor` "
				    "tells what is here",
				    library, gt_tool_name());
	d->own.device = find_device(f);
	if (!d->own.device)
		return gt_error_set(error, -ENXIO,
				    "OpenCL has no device here (%s); "
				    "`%s doctor` tells what is missing",
				    library, gt_tool_name());
	snprintf(d->name, sizeof d->name, "device 0");
	((gt_cl_get_info_fn *)f[2])(d->own.device, GT_CL_DEVICE_NAME, sizeof d->name - 1, d->name,
				    NULL);
	d->own.context =
		((gt_cl_create_context_fn *)f[3])(NULL, 1, &d->own.device, NULL, NULL, &result);
	if (!d->own.context)
		return gt_error_set(error, -EIO,
				    "OpenCL makes no context on %s: clCreateContext "
				    "gives %d",
				    d->name, result);
	d->own.call[CALL_CREATE] = f[4];
	d->own.call[CALL_RELEASE] = f[5];
	d->own.call[CALL_CLOSE] = f[6];
	d->make = make;
	d->give_back = give_back;
	d->close = let_go;
	d->make_name = names[4];
	d->give_back_name = names[5];
	return 0;
}

/* clang-format off */
const struct gt_stress_api gt_stress_opencl = {
	.name = "opencl", .title = "OpenCL", .library = GT_CL_LIBRARY, .open = open_device,
};
/* clang-format on */
