/* SPDX-License-Identifier: MIT */
/* devices.c - the devices that a program has listed, as places of what it creates on them. */
#include <stdatomic.h>
#include <string.h>

#include "api/levelzero_device.h"
#include "capture/levelzero/levelzero.h"

enum { DEVICES_MAX = 64 };

/* Entries stay: devices do. */
static struct known {
	_Atomic uint64_t handle; /* 0: the entry is being filled in, or free */
	uint32_t number;         /* in its driver's list; that of the whole, for a sub-device */
	uint16_t place;
} devices[DEVICES_MAX];
static _Atomic uint32_t used;

ze_result_t (*gt_ze_get_properties)(ze_device_handle_t device, ze_device_properties_t *properties);

#define IS(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "src/api: " #theirs)
IS(GT_ZE_GPU, ZE_DEVICE_TYPE_GPU);
IS(GT_ZE_CPU, ZE_DEVICE_TYPE_CPU);
IS(GT_ZE_FPGA, ZE_DEVICE_TYPE_FPGA);
IS(GT_ZE_MCA, ZE_DEVICE_TYPE_MCA);
IS(GT_ZE_NPU, ZE_DEVICE_TYPE_VPU);
IS(GT_ZE_PROPERTIES_TYPE, offsetof(ze_device_properties_t, type));
IS(GT_ZE_PROPERTIES_NAME, offsetof(ze_device_properties_t, name));

static const struct known *find(uint64_t handle)
{
	uint32_t count = atomic_load(&used);

	for (uint32_t i = 0; i < count && i < DEVICES_MAX; i++)
		if (atomic_load(&devices[i].handle) == handle)
			return &devices[i];
	return NULL;
}

static uint16_t make_place(ze_device_handle_t device, struct gt_ze_device *d)
{
	ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	char text[GT_ZE_PLACE_NAME];

	if (gt_ze_get_properties && !gt_ze_get_properties(device, &properties)) {
		d->type = properties.type;
		memcpy(d->name, properties.name, sizeof d->name - 1);
	}
	gt_ze_device_text(d, text, sizeof text);
	return gt_guest_place(GT_LEVELZERO, text);
}

void gt_ze_devices_listed(const ze_device_handle_t *list, uint32_t count, ze_device_handle_t whole)
{
	const struct known *of = whole ? find((uintptr_t)whole) : NULL;

	if (whole && !of)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_ze_device d = { .number = of ? of->number : i, .sub = of ? (int)i : -1 };
		uint16_t place;
		uint32_t at;

		if (!list[i] || find((uintptr_t)list[i]))
			continue;
		place = make_place(list[i], &d);
		at = atomic_fetch_add(&used, 1);
		if (at >= DEVICES_MAX) {
			atomic_store(&used, DEVICES_MAX);
			return;
		}
		devices[at].number = d.number;
		devices[at].place = place;
		atomic_store(&devices[at].handle, (uintptr_t)list[i]);
	}
}

uint16_t gt_ze_place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	uint8_t argument = gt_ze_device_argument(call->function);
	const struct known *device = NULL;

	(void)row;
	(void)handle;
	if (argument != GT_ZE_NO_DEVICE && call->argv[argument])
		device = find(call->argv[argument]);
	return device ? device->place : 0;
}
