/* SPDX-License-Identifier: MIT */
/*
 * pool.h - what the preloaded library (report.c) and the pool door (pool.c) know of each other.
 *
 * Allocators above the driver report their blocks to functions of their own (api/pool.def). The
 * preloaded library defines these before the allocator's library does, and passes every call on.
 * When the first block is to be recorded, it loads the door.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* c10::Device. The type is 0 for the CPU; the index is -1 if there is only one. */
struct gt_torch_device {
	int8_t type, index;
};

enum { GT_TORCH_CPU = 0 };
#define GT_TORCH_CPU_DEVICE ((struct gt_torch_device){ GT_TORCH_CPU, -1 })

/* What an allocator reports. */
struct gt_pool_report {
	uint64_t block; /* its address; 0: memory ran out */
	int64_t bytes;  /* negative: the block was freed */
	uint64_t allocated, reserved;
	struct gt_torch_device device;
	const void *caller;
};

/* Exported by the door under this name. */
#define GT_POOL_RECORD "gt_pool_record"
typedef void gt_pool_record_fn(const struct gt_pool_report *report);
