/* SPDX-License-Identifier: MIT */
/*
 * tap.h - how a tracer of ours sees the calls of a recorded process without touching its stack.
 *
 * attach and top see the result of a call by a probe of its return. For that the kernel replaces
 * the return address of the loader's function on the stack, and a layer below it, as our doors of
 * OpenCL and Level Zero are, cannot see who called. So they probe these functions instead, which do
 * nothing: each call ends in one of them, and a probe where a function begins changes no stack.
 */
#pragma once

#include "api/functions.h"
#include "event/tap_state.h"
#include "guest/settings.h"

/* For tracers that come when doors are open already. */
GT_EXPORT extern struct gt_tap_state gt_tap_state;

/* A door under a loader calls this before it is given the first call. */
GT_EXPORT void gt_tap_open(enum gt_api api);

/* Probed. */
GT_EXPORT void gt_tap_opened(uint64_t table, uint64_t doors);
GT_EXPORT void gt_tap_begin(uint32_t function);
GT_EXPORT void gt_tap_call(uint32_t function, uint64_t ret);
