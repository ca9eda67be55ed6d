/* SPDX-License-Identifier: MIT */
/* stress_cuda.c - allocates through CUDA's driver API, without its headers and without linking it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "base/tool.h"
#include "cli/stress/stress.h"

typedef int init_fn(unsigned flags);
typedef int device_count_fn(int *count);
typedef int device_get_fn(int *device, int number);
typedef int device_name_fn(char *name, int size, int device);
typedef int retain_fn(void **context, int device);
typedef int release_fn(int device);
typedef int set_current_fn(void *context);
typedef int alloc_fn(uint64_t *block, size_t size);
typedef int free_fn(uint64_t block);

enum { CALL_ALLOC, CALL_FREE, CALL_ENTER, CALL_CLOSE };

static int make(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	uint64_t address = 0;
	int result = ((alloc_fn *)d->own.call[CALL_ALLOC])(&address, (size_t)size_bytes);

	*block = (void *)(uintptr_t)address;
	return result;
}

static int give_back(struct gt_stress_device *d, void *block)
{
	return ((free_fn *)d->own.call[CALL_FREE])((uint64_t)(uintptr_t)block);
}

static int enter(struct gt_stress_device *d)
{
	return ((set_current_fn *)d->own.call[CALL_ENTER])(d->own.context);
}

static void let_go(struct gt_stress_device *d)
{
	((release_fn *)d->own.call[CALL_CLOSE])((int)(intptr_t)d->own.device);
}

static int open_device(struct gt_stress_device *d, const char *library, struct gt_error *error)
{
	static const char *const names[] = { "cuInit",
					     "cuDeviceGetCount",
					     "cuDeviceGet",
					     "cuDeviceGetName",
					     "cuDevicePrimaryCtxRetain",
					     "cuDevicePrimaryCtxRelease_v2",
					     "cuCtxSetCurrent",
					     "cuMemAlloc_v2",
					     "cuMemFree_v2",
					     NULL };
	void *lib = gt_stress_load(library, error), *f[9];
	int result, count = 0, device = 0;

	if (!lib)
		return -ENOENT;
	if (!gt_stress_find(lib, names, f))
		return gt_error_set(error, -ENOENT,
				    "%s is no CUDA driver; `%s doctor` "
				    "tells what is here",
				    library, gt_tool_name());
	result = ((init_fn *)f[0])(0);
	if (!result)
		result = ((device_count_fn *)f[1])(&count);
	if (!result && count > 0)
		result = ((device_get_fn *)f[2])(&device, 0);
	if (result || count <= 0)
		return gt_error_set(error, -ENXIO,
				    "CUDA has no device here (%s: result %d); "
				    "`%s doctor` tells what is missing",
				    library, result, gt_tool_name());
	snprintf(d->name, sizeof d->name, "device 0");
	((device_name_fn *)f[3])(d->name, (int)sizeof d->name, device);
	result = ((retain_fn *)f[4])(&d->own.context, device);
	if (result)
		return gt_error_set(error, -EIO,
				    "CUDA makes no context on %s: "
				    "cuDevicePrimaryCtxRetain gives %d",
				    d->name, result);
	d->own.device = (void *)(intptr_t)device;
	d->own.call[CALL_ALLOC] = f[7];
	d->own.call[CALL_FREE] = f[8];
	d->own.call[CALL_ENTER] = f[6];
	d->own.call[CALL_CLOSE] = f[5];
	d->make = make;
	d->give_back = give_back;
	d->enter = enter;
	d->close = let_go;
	d->make_name = names[7];
	d->give_back_name = names[8];
	return 0;
}

/* clang-format off */
const struct gt_stress_api gt_stress_cuda = {
	.name = "cuda", .title = "CUDA", .library = "libcuda.so.1", .open = open_device,
};
/* clang-format on */
