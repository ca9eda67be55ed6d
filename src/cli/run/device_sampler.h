/* SPDX-License-Identifier: MIT */
/*
 * device_sampler.h - samples the GPUs' memory use while the program runs.
 *
 * A thread of the tool queries NVML ten times a second and writes changes, and the first and last
 * value of each series, into the recording's system.trace. Without NVML nothing happens.
 */
#pragma once

#include <sys/types.h>

struct gt_device_sampler;

/* `folder` is the recording's, `pid` the program's. NULL if no thread can be started. */
struct gt_device_sampler *gt_device_sampler_start(const char *folder, pid_t pid);
/* Takes the last samples, waits for the thread, ends the trace. NULL is ignored. */
void gt_device_sampler_stop(struct gt_device_sampler *sampler);
