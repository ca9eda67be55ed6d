/* SPDX-License-Identifier: MIT */
/*
 * pool_door.h - what the preloaded library (pool_report.c) and the pool door know of each other.
 *
 * Allocators above the driver report their blocks to functions of their own (api/pool.def). The
 * preloaded library defines these before the allocator's library does, and passes every call on.
 * When the first block is to be recorded, it loads the door.
 */
#pragma once

#include "api/pool_report.h"

/* Exported by the door under this name. `caller`: the address that the function returns to. */
#define GT_POOL_DOOR "gt_pool_door"
struct gt_pool_door {
	void (*record)(const struct gt_pool_report *report, const void *caller);
	/* guest/backward.h */
	void (*backward_begin)(const void *caller);
	void (*backward_end)(void);
	void (*backward_worker)(const void *caller);
};

/* In the preloaded library: the door, if a block has been recorded; NULL: there is none. */
const struct gt_pool_door *gt_report_door(void);
/* The function of this name in the library that it belongs to, or one that does nothing. */
void *gt_report_next(_Atomic(void *) *slot, const char *symbol);
/* Tells the door, before the first block of a thread of PyTorch's engine, that it is one. */
void gt_report_thread(const struct gt_pool_door *door);
