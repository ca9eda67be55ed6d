/* SPDX-License-Identifier: MIT */
/* cuda_door.h - which of the two ways into CUDA a program gets. */
#pragma once

#include <stdbool.h>

/* What --cuda-door says; the names are in this order. */
enum gt_cuda_way { GT_CUDA_AUTO, GT_CUDA_DIRECT_WAY, GT_CUDA_CUPTI_WAY };

extern const char *const gt_cuda_way_names[];

/* What --pools says, likewise. */
enum gt_pools_wanted { GT_POOLS_AUTO, GT_POOLS_GPU, GT_POOLS_CPU, GT_POOLS_NONE };

extern const char *const gt_pools_wanted_names[];

/* True if the loader would find libcuda.so.1 for a program of this environment. */
bool gt_cuda_is_installed(void);

/* Sets the variables for it in this process's environment. False: no way is in this build. */
bool gt_cuda_open_door(enum gt_cuda_way way, enum gt_pools_wanted pools);
