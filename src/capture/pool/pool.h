/* SPDX-License-Identifier: MIT */
/*
 * pool.h - what the preloaded library (report.c) and the pool door (pool.c) know of each other.
 *
 * Allocators above the driver report their blocks to functions of their own (api/pool.def). The
 * preloaded library defines these before the allocator's library does, and passes every call on.
 * When the first block is to be recorded, it loads the door.
 */
#pragma once

#include "api/pool_report.h"

/* Exported by the door under this name. `caller`: whom the report returns to. */
#define GT_POOL_RECORD "gt_pool_record"
typedef void gt_pool_record_fn(const struct gt_pool_report *report, const void *caller);
