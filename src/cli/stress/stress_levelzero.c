/* SPDX-License-Identifier: MIT */
/* stress_levelzero.c - allocates through Level Zero, without its headers and without linking it. */
#include <errno.h>
#include <stdio.h>

#include "base/tool.h"
#include "cli/driver_abi.h"
#include "cli/stress/stress.h"

enum { CALL_ALLOC, CALL_FREE, CALL_CLOSE };

static int make(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	const struct gt_ze_device_mem_alloc_desc desc = { .stype = GT_ZE_DEVICE_MEM_ALLOC_DESC };

	return (int)((gt_ze_alloc_fn *)d->own.call[CALL_ALLOC])(
		d->own.context, &desc, (size_t)size_bytes, 0, d->own.device, block);
}

static int give_back(struct gt_stress_device *d, void *block)
{
	return (int)((gt_ze_free_fn *)d->own.call[CALL_FREE])(d->own.context, block);
}

static void let_go(struct gt_stress_device *d)
{
	((gt_ze_destroy_context_fn *)d->own.call[CALL_CLOSE])(d->own.context);
}

/* The first device of all drivers; NULL: there is none. */
static void *find_device(void *const *f, void **driver)
{
	enum { DRIVERS_MAX = 16 };
	void *drivers[DRIVERS_MAX], *device = NULL;
	uint32_t count = DRIVERS_MAX, one;

	if (((gt_ze_init_fn *)f[0])(0) || ((gt_ze_get_drivers_fn *)f[1])(&count, drivers))
		return NULL;
	for (uint32_t i = 0; i < count && i < DRIVERS_MAX && !device; i++) {
		one = 1;
		*driver = drivers[i];
		if (((gt_ze_get_devices_fn *)f[2])(drivers[i], &one, &device) || !one)
			device = NULL;
	}
	return device;
}

static int open_device(struct gt_stress_device *d, const char *library, struct gt_error *error)
{
	static const char *const names[] = { "zeInit",
					     "zeDriverGet",
					     "zeDeviceGet",
					     "zeDeviceGetProperties",
					     "zeContextCreate",
					     "zeMemAllocDevice",
					     "zeMemFree",
					     "zeContextDestroy",
					     NULL };
	const struct gt_ze_context_desc desc = { .stype = GT_ZE_CONTEXT_DESC };
	struct gt_ze_device_properties properties = { .stype = GT_ZE_DEVICE_PROPERTIES };
	void *lib = gt_stress_load(library, error), *f[8], *driver = NULL;
	uint32_t result;

	if (!lib)
		return -ENOENT;
	if (!gt_stress_find(lib, names, f))
		return gt_error_set(error, -ENOENT,
				    "%s is no Level Zero loader; `%s doctor` "
				    "tells what is here",
				    library, gt_tool_name());
	d->own.device = find_device(f, &driver);
	if (!d->own.device)
		return gt_error_set(error, -ENXIO,
				    "Level Zero has no device here (%s); "
				    "`%s doctor` tells what is missing",
				    library, gt_tool_name());
	((gt_ze_get_properties_fn *)f[3])(d->own.device, &properties);
	properties.name[sizeof properties.name - 1] = '\0';
	snprintf(d->name, sizeof d->name, "%s", *properties.name ? properties.name : "device 0");
	result = ((gt_ze_create_context_fn *)f[4])(driver, &desc, &d->own.context);
	if (result)
		return gt_error_set(error, -EIO,
				    "Level Zero makes no context on %s: "
				    "zeContextCreate gives 0x%x",
				    d->name, result);
	d->own.call[CALL_ALLOC] = f[5];
	d->own.call[CALL_FREE] = f[6];
	d->own.call[CALL_CLOSE] = f[7];
	d->make = make;
	d->give_back = give_back;
	d->close = let_go;
	d->make_name = names[5];
	d->give_back_name = names[6];
	return 0;
}

/* clang-format off */
const struct gt_stress_api gt_stress_levelzero = {
	.name = "levelzero", .title = "Level Zero", .library = GT_ZE_LIBRARY, .open = open_device,
};
/* clang-format on */
