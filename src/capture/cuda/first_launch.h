/* SPDX-License-Identifier: MIT */
/* first_launch.h - the first launch of each kernel on each stream, which takes device memory. */
#pragma once

#include "capture/cuda/cuda.h"
#include "capture/cuda/direct.h"

/* By entry: wrappers of the functions that launch a kernel; NULL for others. */
extern void *const gt_cuda_launch_wrappers[GT_ENTRIES];

/* Before the first wrapper is called. */
void gt_cuda_launch_start(void *(*find)(void *, const char *), void *handle);
/* Code has been unloaded: the driver may give its kernels' addresses to others. */
void gt_cuda_launch_forget(void);
