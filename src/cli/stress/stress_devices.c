/* SPDX-License-Identifier: MIT */
/* stress_devices.c - memory by CUDA, Level Zero and OpenCL, without headers and without linking. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "base/tool.h"
#include "cli/driver_abi.h"
#include "cli/stress/stress.h"

/* Indexes of gt_stress_device.calls, in the order of the API's names. */
enum { CU_INIT, CU_COUNT, CU_GET, CU_NAME, CU_RETAIN, CU_CLOSE, CU_ENTER, CU_ALLOC, CU_FREE };
enum { ZE_INIT, ZE_DRIVERS, ZE_DEVICES, ZE_PROPERTIES, ZE_CONTEXT, ZE_ALLOC, ZE_FREE, ZE_CLOSE };
enum { CL_PLATFORMS, CL_DEVICES, CL_INFO, CL_CONTEXT, CL_ALLOC, CL_FREE, CL_CLOSE };

typedef int init_fn(unsigned flags);
typedef int device_count_fn(int *count);
typedef int device_get_fn(int *device, int number);
typedef int device_name_fn(char *name, int size, int device);
typedef int retain_fn(void **context, int device);
typedef int release_fn(int device);
typedef int set_current_fn(void *context);
typedef int alloc_fn(uint64_t *block, size_t size);
typedef int free_fn(uint64_t block);

static int cuda_allocate(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	uint64_t address = 0;
	int result = ((alloc_fn *)d->calls[CU_ALLOC])(&address, (size_t)size_bytes);

	*block = (void *)(uintptr_t)address;
	return result;
}

static int cuda_release(struct gt_stress_device *d, void *block)
{
	return ((free_fn *)d->calls[CU_FREE])((uint64_t)(uintptr_t)block);
}

static int cuda_enter(struct gt_stress_device *d)
{
	return ((set_current_fn *)d->calls[CU_ENTER])(d->context);
}

static void cuda_close(struct gt_stress_device *d)
{
	((release_fn *)d->calls[CU_CLOSE])((int)(intptr_t)d->device);
}

static int cuda_open(struct gt_stress_device *d, const char *library, struct gt_error *error)
{
	int count = 0, device = 0, result = ((init_fn *)d->calls[CU_INIT])(0);

	if (!result)
		result = ((device_count_fn *)d->calls[CU_COUNT])(&count);
	if (!result && count > 0)
		result = ((device_get_fn *)d->calls[CU_GET])(&device, 0);
	if (result || count <= 0)
		return gt_error_set(error, -ENXIO,
				    "there is no CUDA device (%s: result %d), see `%s doctor`",
				    library, result, gt_tool_name());
	((device_name_fn *)d->calls[CU_NAME])(d->name, (int)sizeof d->name, device);
	d->device = (void *)(intptr_t)device;
	result = ((retain_fn *)d->calls[CU_RETAIN])(&d->context, device);
	return result ? gt_error_set(error, -EIO,
				     "CUDA cannot create a context on %s: cuDevicePrimaryCtxRetain "
				     "returned %d",
				     d->name, result) :
			0;
}

static int levelzero_allocate(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	const struct gt_ze_device_mem_alloc_desc desc = { .stype = GT_ZE_DEVICE_MEM_ALLOC_DESC };

	return (int)((gt_ze_alloc_fn *)d->calls[ZE_ALLOC])(d->context, &desc, (size_t)size_bytes, 0,
							   d->device, block);
}

static int levelzero_release(struct gt_stress_device *d, void *block)
{
	return (int)((gt_ze_free_fn *)d->calls[ZE_FREE])(d->context, block);
}

static void levelzero_close(struct gt_stress_device *d)
{
	((gt_ze_destroy_context_fn *)d->calls[ZE_CLOSE])(d->context);
}

/* Takes the first device of all drivers. */
static int levelzero_open(struct gt_stress_device *d, const char *library, struct gt_error *error)
{
	enum { DRIVERS_MAX = 16 };
	const struct gt_ze_context_desc desc = { .stype = GT_ZE_CONTEXT_DESC };
	struct gt_ze_device_properties properties = { .stype = GT_ZE_DEVICE_PROPERTIES };
	void *drivers[DRIVERS_MAX], *driver = NULL;
	uint32_t count = DRIVERS_MAX, one, result;

	if (((gt_ze_init_fn *)d->calls[ZE_INIT])(0) ||
	    ((gt_ze_get_drivers_fn *)d->calls[ZE_DRIVERS])(&count, drivers))
		count = 0;
	for (uint32_t i = 0; i < count && i < DRIVERS_MAX && !d->device; i++) {
		one = 1;
		driver = drivers[i];
		if (((gt_ze_get_devices_fn *)d->calls[ZE_DEVICES])(driver, &one, &d->device) ||
		    !one)
			d->device = NULL;
	}
	if (!d->device)
		return gt_error_set(error, -ENXIO,
				    "there is no Level Zero device (%s), see `%s doctor`", library,
				    gt_tool_name());
	((gt_ze_get_properties_fn *)d->calls[ZE_PROPERTIES])(d->device, &properties);
	properties.name[sizeof properties.name - 1] = '\0';
	if (*properties.name)
		snprintf(d->name, sizeof d->name, "%s", properties.name);
	result = ((gt_ze_create_context_fn *)d->calls[ZE_CONTEXT])(driver, &desc, &d->context);
	return result ? gt_error_set(error, -EIO,
				     "Level Zero cannot create a context on %s: zeContextCreate "
				     "returned 0x%x",
				     d->name, result) :
			0;
}

static int opencl_allocate(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	int32_t result = 0;

	*block = ((gt_cl_create_buffer_fn *)d->calls[CL_ALLOC])(d->context, GT_CL_MEM_READ_WRITE,
								(size_t)size_bytes, NULL, &result);
	return *block || result ? result : -1;
}

static int opencl_release(struct gt_stress_device *d, void *block)
{
	return ((gt_cl_release_fn *)d->calls[CL_FREE])(block);
}

static void opencl_close(struct gt_stress_device *d)
{
	((gt_cl_release_fn *)d->calls[CL_CLOSE])(d->context);
}

/* Takes the first device of all platforms. */
static int opencl_open(struct gt_stress_device *d, const char *library, struct gt_error *error)
{
	enum { PLATFORMS_MAX = 64 };
	gt_cl_get_devices_fn *get_devices = (gt_cl_get_devices_fn *)d->calls[CL_DEVICES];
	void *platforms[PLATFORMS_MAX], *device;
	uint32_t count = 0, devices;
	int32_t result = 0;

	if (((gt_cl_get_platforms_fn *)d->calls[CL_PLATFORMS])(PLATFORMS_MAX, platforms, &count))
		count = 0;
	for (uint32_t i = 0; i < count && i < PLATFORMS_MAX && !d->device; i++) {
		devices = 0;
		if (!get_devices(platforms[i], GT_CL_DEVICE_TYPE_ALL, 1, &device, &devices) &&
		    devices)
			d->device = device;
	}
	if (!d->device)
		return gt_error_set(error, -ENXIO,
				    "there is no OpenCL device (%s), see `%s doctor`", library,
				    gt_tool_name());
	((gt_cl_get_info_fn *)d->calls[CL_INFO])(d->device, GT_CL_DEVICE_NAME, sizeof d->name - 1,
						 d->name, NULL);
	d->context = ((gt_cl_create_context_fn *)d->calls[CL_CONTEXT])(NULL, 1, &d->device, NULL,
								       NULL, &result);
	return d->context ?
		       0 :
		       gt_error_set(
			       error, -EIO,
			       "OpenCL cannot create a context on %s: clCreateContext returned %d",
			       d->name, result);
}

/* clang-format off */
const struct gt_stress_api gt_stress_apis[GT_STRESS_APIS] = {
	{ .title = "CUDA", .library = "libcuda.so.1", .library_kind = "CUDA driver",
	  .names = { "cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
		     "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent",
		     "cuMemAlloc_v2", "cuMemFree_v2" },
	  .allocate_name = "cuMemAlloc_v2", .open = cuda_open, .allocate = cuda_allocate,
	  .release = cuda_release, .enter = cuda_enter, .close = cuda_close },
	{ .title = "Level Zero", .library = GT_ZE_LIBRARY, .library_kind = "Level Zero loader",
	  .names = { "zeInit", "zeDriverGet", "zeDeviceGet", "zeDeviceGetProperties",
		     "zeContextCreate", "zeMemAllocDevice", "zeMemFree", "zeContextDestroy" },
	  .allocate_name = "zeMemAllocDevice", .open = levelzero_open,
	  .allocate = levelzero_allocate, .release = levelzero_release, .close = levelzero_close },
	{ .title = "OpenCL", .library = GT_CL_LIBRARY, .library_kind = "OpenCL loader",
	  .names = { "clGetPlatformIDs", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext",
		     "clCreateBuffer", "clReleaseMemObject", "clReleaseContext" },
	  .allocate_name = "clCreateBuffer", .open = opencl_open, .allocate = opencl_allocate,
	  .release = opencl_release, .close = opencl_close },
};
/* clang-format on */

int gt_stress_open(struct gt_stress_device *d, const struct gt_stress_api *api, const char *library,
		   struct gt_error *error)
{
	const char *why;
	void *loaded = gt_tool_load(library, RTLD_NOW | RTLD_LOCAL, &why);

	*d = (struct gt_stress_device){ .api = api, .name = "device 0" };
	if (!loaded)
		return gt_error_set(error, -ENOENT, "%s", why);
	for (size_t i = 0; i < GT_STRESS_CALLS && api->names[i]; i++) {
		d->calls[i] = dlsym(loaded, api->names[i]);
		if (!d->calls[i])
			return gt_error_set(error, -ENOENT, "%s is not the %s, see `%s doctor`",
					    library, api->library_kind, gt_tool_name());
	}
	return api->open(d, library, error);
}
