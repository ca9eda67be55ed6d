/* SPDX-License-Identifier: MIT */
/*
 * levelzero_device.h - the device of a Level Zero resource, and its name, for the door and for
 * attach.
 *
 * The door is built with the API's header, and compares enumerators and offsets at compile time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/functions.h"

enum {
	GT_ZE_NO_DEVICE = 0xff,
	GT_ZE_DEVICE_NAME = 40, /* bytes kept of a device's name, with the 0 */
	GT_ZE_PLACE_NAME = 64,
};

/* ze_device_type_t; 0: unknown. */
enum gt_ze_device_type { GT_ZE_GPU = 1, GT_ZE_CPU, GT_ZE_FPGA, GT_ZE_MCA, GT_ZE_NPU };

/* Where ze_device_properties_t has them. */
enum { GT_ZE_PROPERTIES_TYPE = 16, GT_ZE_PROPERTIES_NAME = 112 };

/* A device as a process numbers it. */
struct gt_ze_device {
	uint32_t type;   /* enum gt_ze_device_type */
	uint32_t number; /* in its driver's list (zeDeviceGet) */
	int sub;         /* in the list of its sub-devices; -1: it is a whole device */
	char name[GT_ZE_DEVICE_NAME];
};

/* The argument of a call that says on which device it creates something, or GT_ZE_NO_DEVICE. */
uint8_t gt_ze_device_argument(enum gt_function_id function);
/* "GPU 0: Intel(R) Arc(TM) A770", "GPU 0.1: …" for a sub-device, "Level Zero device 0" without
 * more. */
void gt_ze_device_text(const struct gt_ze_device *device, char *text, size_t size);
