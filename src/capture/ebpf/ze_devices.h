/* SPDX-License-Identifier: MIT */
/* ze_devices.h - the Level Zero devices of a traced process, as its own questions reveal them. */
#pragma once

#include "api/levelzero_device.h"
#include "capture/ebpf/places.h"

struct gt_ze_devices;

void gt_ze_devices_free(struct gt_ze_devices *d);
/*
 * Takes a question about devices (GT_PROBE_ASKED + enum gt_probe_asked) of which the answer has
 * arrived; others are ignored. `*d` is made at the first; NULL is none.
 */
void gt_ze_devices_take(struct gt_ze_devices **d, const struct gt_probe_call *asked,
			const uint64_t *array);
/* The place of what a call has created with these arguments; 0: unknown, or on no device. */
uint16_t gt_ze_devices_place(const struct gt_ze_devices *d, struct gt_places *p,
			     enum gt_function_id function, const uint64_t *argv);
