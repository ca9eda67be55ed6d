/* SPDX-License-Identifier: MIT */
/* pool.c - the door of allocators above the driver: records the blocks that they report. */
#include "capture/pool/pool.h"

#include "guest/guest.h"

#define EXPORT __attribute__((visibility("default")))

enum { OUT_OF_MEMORY = 2 }; /* api/results.c */

/* Under the loader's lock, as other doors start: no thread waits here for one that waits there. */
__attribute__((constructor)) static void start(void)
{
	gt_guest_start();
}

static enum gt_function_id row_of(const struct gt_pool_report *r)
{
	if (!r->block)
		return GT_FN_torchOutOfMemory;
	if (r->device.type == GT_TORCH_CPU)
		return r->bytes < 0 ? GT_FN_torchCpuBlockFreed : GT_FN_torchCpuBlock;
	return r->bytes < 0 ? GT_FN_torchBlockFreed : GT_FN_torchBlock;
}

EXPORT gt_pool_record_fn gt_pool_record;
void gt_pool_record(const struct gt_pool_report *r)
{
	uint64_t bytes = r->bytes < 0 ? 0 - (uint64_t)r->bytes : (uint64_t)r->bytes;
	const uint64_t block[] = { r->block, bytes };
	const uint64_t shortage[] = { bytes, r->allocated, r->reserved };
	struct gt_guest_call g;

	gt_guest_begin(&g, row_of(r), r->block ? block : shortage, r->caller);
	gt_guest_end(&g, r->block ? 0 : OUT_OF_MEMORY, NULL);
}
