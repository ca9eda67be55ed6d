/* SPDX-License-Identifier: MIT */
/* touch.h - copies, sets and launches, recorded with the memory that they name: --touches. */
#pragma once

#include "capture/cuda/cuda.h"
#include "capture/cuda/direct.h"

/* By entry: the wrappers of the rows of cuda_touch.def; NULL for others. */
extern void *const gt_cuda_touch_wrappers[GT_ENTRIES];

/* Before the first wrapper is called. False if there is no memory for it. */
bool gt_cuda_touch_start(void *(*find)(void *, const char *), void *handle);
/* A call has created `handle`: work may name it from now on. */
void gt_cuda_touch_created(const struct gt_call *call, enum gt_function_id row, uint64_t handle);
/*
 * A texture or surface object was made of the memory that a CUDA_RESOURCE_DESC describes: kernels
 * name the object, not the memory.
 */
void gt_cuda_touch_bound(const void *descriptor);
/* Code has been unloaded: the driver may give its kernels' addresses to others. */
void gt_cuda_touch_forget(void);
