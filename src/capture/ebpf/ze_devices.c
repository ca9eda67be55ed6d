/* SPDX-License-Identifier: MIT */
/* ze_devices.c - the Level Zero devices of a traced process, as its own questions reveal them. */
#include "capture/ebpf/ze_devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DEVICES_MAX = 64 };

struct entry {
	uint64_t handle, whole; /* whole: the device that a sub-device is of; 0: it is none */
	bool is_listed;         /* its number is known */
	struct gt_ze_device device;
};

struct gt_ze_devices {
	struct entry list[DEVICES_MAX];
	size_t count;
};

void gt_ze_devices_free(struct gt_ze_devices *d)
{
	free(d);
}

static const struct entry *find(const struct gt_ze_devices *d, uint64_t handle)
{
	for (size_t i = 0; d && i < d->count; i++)
		if (d->list[i].handle == handle)
			return &d->list[i];
	return NULL;
}

/* NULL if there are too many. */
static struct entry *find_or_add(struct gt_ze_devices *d, uint64_t handle)
{
	struct entry *e = (struct entry *)find(d, handle);

	if (e || !handle || d->count == DEVICES_MAX)
		return e;
	e = &d->list[d->count++];
	*e = (struct entry){ .handle = handle, .device = { .sub = -1 } };
	return e;
}

/* The array has the devices, or with `whole` its sub-devices, from the first on. */
static void take_list(struct gt_ze_devices *d, const struct gt_probe_call *c, const uint64_t *array,
		      uint64_t whole)
{
	for (uint32_t i = 0; i < c->array; i++) {
		struct entry *e = find_or_add(d, array[i]);

		if (!e)
			continue;
		e->is_listed = true;
		e->whole = whole;
		e->device.sub = whole ? (int)i : -1;
		e->device.number = whole ? 0 : i;
	}
}

static void take_properties(struct gt_ze_devices *d, const struct gt_probe_call *c)
{
	struct entry *e = c->unread ? NULL : find_or_add(d, c->words[0]);

	if (!e)
		return;
	e->device.type = (uint32_t)c->copies[0];
	memcpy(e->device.name, &c->copies[1], sizeof e->device.name - 1);
}

void gt_ze_devices_take(struct gt_ze_devices **d, const struct gt_probe_call *c,
			const uint64_t *array)
{
	unsigned asked = c->row - GT_PROBE_ASKED;

	if ((uint32_t)c->ret || asked < GT_ASKED_DEVICES || asked > GT_ASKED_DEVICE_NAME)
		return;
	if (!*d)
		*d = gt_alloc(sizeof **d);
	if (asked == GT_ASKED_DEVICE_NAME)
		take_properties(*d, c);
	else
		take_list(*d, c, array, asked == GT_ASKED_SUB_DEVICES ? c->words[0] : 0);
}

uint16_t gt_ze_devices_place(const struct gt_ze_devices *d, struct gt_places *p,
			     enum gt_function_id function, const uint64_t *argv)
{
	uint8_t argument = gt_ze_device_argument(function);
	const struct entry *e = argument == GT_ZE_NO_DEVICE ? NULL : find(d, argv[argument]);
	const struct entry *whole = e && e->whole ? find(d, e->whole) : e;
	char text[GT_ZE_PLACE_NAME];
	struct gt_ze_device device;

	if (!e || !e->is_listed || !whole || !whole->is_listed)
		return 0;
	device = e->device;
	device.number = whole->device.number;
	gt_ze_device_text(&device, text, sizeof text);
	return gt_places_number(p, GT_LEVELZERO, text);
}
