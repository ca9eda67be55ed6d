/* SPDX-License-Identifier: MIT */
/*
 * announce.h - tells `gputrack run` of a new trace, so that it can learn how this process ends, and
 * of a process that cannot record.
 */
#pragma once

#include <stdint.h>

/*
 * `name` is the trace's file name. Sends a descriptor of this process to the tool
 * numbered `watcher` (trace/layout.h); it stays with the tool even if the process ends at once.
 * Does nothing if the tool is gone.
 */
void gt_announce_trace(const char *name, uint64_t watcher);
/* This process makes calls that are not recorded, because it has no access to the recording. */
void gt_announce_unrecorded(uint64_t watcher);
