/* SPDX-License-Identifier: MIT */
/*
 * device_sampler.h - the GPUs' own word on their memory, taken beside the program while it runs.
 *
 * A thread of the tool asks NVML ten times a second and writes what has changed, the first and the
 * last value of each series, into the recording's system.trace. Without NVML nothing happens.
 */
#pragma once

#include <sys/types.h>

/* Names of the series. */
#define GT_SERIES_DEVICE_USED  "device memory used"
#define GT_SERIES_PROGRAM_USED "device memory used by the program"

struct gt_device_sampler;

/* `folder` is the recording's, `pid` the program's. NULL when no thread can be had. */
struct gt_device_sampler *gt_device_sampler_start(const char *folder, pid_t pid);
/* Takes the last values, waits for the thread, ends the trace. NULL is nothing. */
void gt_device_sampler_stop(struct gt_device_sampler *sampler);
