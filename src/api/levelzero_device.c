/* SPDX-License-Identifier: MIT */
/* levelzero_device.c - the device of a Level Zero resource, and its name. */
#include "api/levelzero_device.h"

#include "base/small_printf.h"

uint8_t gt_ze_device_argument(enum gt_function_id function)
{
#define ON_DEVICE(fn)                                                                              \
	case GT_FN_##fn: return fn##__hDevice
	switch (function) {
		ON_DEVICE(zeCommandQueueCreate);
		ON_DEVICE(zeModuleCreate);
		ON_DEVICE(zeEventCounterBasedCreate);
		ON_DEVICE(zeImageCreate);
		ON_DEVICE(zeImageViewCreateExp);
		ON_DEVICE(zeImageViewCreateExt);
		ON_DEVICE(zeSamplerCreate);
		ON_DEVICE(zeMemAllocDevice);
		ON_DEVICE(zeMemAllocShared);
		ON_DEVICE(zeMemOpenIpcHandle);
		ON_DEVICE(zePhysicalMemCreate);
		ON_DEVICE(zeDeviceReserveCacheExt);
		ON_DEVICE(zeDeviceImportExternalSemaphoreExt);
		ON_DEVICE(zeCommandListCreate);
		ON_DEVICE(zeCommandListCreateImmediate);
		ON_DEVICE(zexCounterBasedEventCreate);
		ON_DEVICE(zexCounterBasedEventCreate2);
		ON_DEVICE(zexMemOpenIpcHandles);
	default: return GT_ZE_NO_DEVICE;
	}
}

void gt_ze_device_text(const struct gt_ze_device *d, char *text, size_t size)
{
	static const char *const types[] = {
		[GT_ZE_GPU] = "GPU", [GT_ZE_CPU] = "CPU", [GT_ZE_FPGA] = "FPGA",
		[GT_ZE_MCA] = "MCA", [GT_ZE_NPU] = "NPU",
	};
	const char *type = d->type < sizeof types / sizeof *types ? types[d->type] : NULL;
	char sub[16] = "";

	if (d->sub >= 0)
		gt_snprintf(sub, sizeof sub, ".%d", d->sub);
	gt_snprintf(text, size, "%s %u%s%s%s", type ? type : "Level Zero device", d->number, sub,
		    *d->name ? ": " : "", d->name);
}
