/* SPDX-License-Identifier: MIT */
/* device_numbers.h - the devices and platforms that resources are on, each with a number. */
#pragma once

#include <stdint.h>

#include "api/functions.h"

/* The number of a device, which the trace then has by name; 0: there are too many. */
uint16_t gt_device_number(enum gt_api api, const char *name);

/* In a child, whose trace is new: after gt_recorder_restart. */
void gt_device_numbers_restart(void);
