/* SPDX-License-Identifier: MIT */
/* pool_report.h - what an allocator above the driver reports: a call of a pool table. */
#pragma once

#include "api/functions.h"

/* c10::Device. The index is -1 where there is only one. */
struct gt_torch_device {
	int8_t type, index;
};

enum { GT_TORCH_CPU = 0, GT_TORCH_CUDA = 1 };
#define GT_TORCH_CPU_DEVICE ((struct gt_torch_device){ GT_TORCH_CPU, -1 })

struct gt_pool_report {
	uint64_t block;               /* its address; 0: memory ran out */
	int64_t bytes;                /* negative: the block was freed */
	uint64_t allocated, reserved; /* the pool's totals after that; 0: not told */
	struct gt_torch_device device;
	bool is_own;      /* of the program's own pool … */
	const char *pool; /* … of this name; NULL: not told */
};

/* The columns of a REPORT row, for an initialiser. */
#define GT_POOL_COLUMNS(block_, bytes_, allocated_, reserved_, device_)                            \
	{                                                                                          \
		.block = (uint64_t)(uintptr_t)(block_), .bytes = (bytes_),                         \
		.allocated = (uint64_t)(allocated_), .reserved = (uint64_t)(reserved_),            \
		.device = (device_)                                                                \
	}

enum { GT_POOL_OUT_OF_MEMORY = 2 }; /* in results.c */

/* What the report means, as a call: its row, and the words of its arguments. */
static inline enum gt_function_id gt_pool_call(const struct gt_pool_report *r, uint64_t argv[3])
{
	uint64_t bytes = r->bytes < 0 ? 0 - (uint64_t)r->bytes : (uint64_t)r->bytes;

	argv[0] = r->block ? r->block : bytes;
	argv[1] = r->block ? bytes : r->allocated;
	argv[2] = r->block ? 0 : r->reserved;
	if (r->is_own)
		return r->bytes < 0 ? GT_FN_gputrack_pool_end : GT_FN_gputrack_pool_block;
	if (!r->block)
		return GT_FN_torchOutOfMemory;
	if (r->device.type == GT_TORCH_CPU)
		return r->bytes < 0 ? GT_FN_torchCpuBlockFreed : GT_FN_torchCpuBlock;
	return r->bytes < 0 ? GT_FN_torchBlockFreed : GT_FN_torchBlock;
}
