/* SPDX-License-Identifier: MIT */
/*
 * direct.h - what the preloaded library (preload.c) and the CUDA door (direct.c) know of each
 * other.
 *
 * The preloaded library is in every process below `gputrack run`, so it is small and needs libc
 * alone. When a program reaches for the driver, it loads the door and gives out the door's
 * wrappers. Both number the functions alike: the rows of cuda.def, those of cuda_touch.def,
 * then those that hand functions out.
 */
#pragma once

#include <stddef.h>

/* clang-format off */
enum gt_cuda_entry {
#define FN(fn, ...) GT_ENTRY_##fn,
#define TOUCH FN
#define ALSO(...)
#include "api/cuda.def"
#undef TOUCH
#undef FN
#undef ALSO
	GT_ENTRY_cuGetProcAddress, GT_ENTRY_cuGetProcAddress_v2,
	GT_ENTRIES
};
/* clang-format on */

/* A function that is not there is NULL. */
struct gt_cuda_entries {
	void *driver[GT_ENTRIES];  /* what the driver exports */
	void *wrapper[GT_ENTRIES]; /* the door's, which stands before it */
	void *next[GT_ENTRIES];    /* what the wrapper calls: the former, or what it stands for */
};

/* Of the door. */
extern struct gt_cuda_entries gt_cuda_entries;

/*
 * Exported by the door under this name. Finds the functions of the driver with `find` (a dlsym) and
 * `handle`, which dlopen gave: in the C library, a struct link_map. NULL: nothing is recorded in
 * this process. May be called more than once, by any thread.
 */
#define GT_CUDA_DIRECT "gt_cuda_direct"
typedef const struct gt_cuda_entries *gt_cuda_direct_fn(void *(*find)(void *, const char *),
							void *handle);

/* Exported by the preloaded library: where it is, CUPTI's way is not taken. */
#define GT_CUDA_PRELOADED "gt_cuda_preloaded"
