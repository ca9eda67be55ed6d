/* SPDX-License-Identifier: MIT */
/* places.h - the places where resources live (devices), each with a number. */
#pragma once

#include <stdint.h>

#include "api/functions.h"

/* The number of a place, which the trace then has by name; 0: there are too many. */
uint16_t gt_places_number(enum gt_api api, const char *name);

/* In a child, whose trace is new: after gt_recorder_restart. */
void gt_places_restart(void);
