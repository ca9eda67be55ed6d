/* SPDX-License-Identifier: MIT */
/* local_time.h - wall-clock time as the recorded machine had it: that of nvidia-smi's logs. */
#pragma once

#include "trace/recording.h"

enum { GT_LOCAL_TIME = 40 };

/*
 * "2025/12/21 17:29:59.956432", as nvidia-smi writes it, at a time of the recording's clock; "-" if
 * it is not known. An import knows the profiled machine's zone; others are taken to be this one's.
 */
const char *gt_local_time(char out[GT_LOCAL_TIME], const struct gt_recording *r, uint64_t time_ns);
