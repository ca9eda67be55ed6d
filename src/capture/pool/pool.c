/* SPDX-License-Identifier: MIT */
/* pool.c - the door of allocators above the driver: records the blocks that they report. */
#include "capture/pool/pool.h"

#include "guest/guest.h"

#define EXPORT __attribute__((visibility("default")))

/* Under the loader's lock, as other doors start: no thread waits here for one that waits there. */
__attribute__((constructor)) static void start(void)
{
	gt_guest_start();
}

EXPORT gt_pool_record_fn gt_pool_record;
void gt_pool_record(const struct gt_pool_report *r, const void *caller)
{
	struct gt_guest_call g;
	uint64_t argv[3];

	gt_guest_begin(&g, gt_pool_call(r, argv), argv, caller);
	gt_guest_end(&g, r->block ? 0 : GT_POOL_OUT_OF_MEMORY, NULL);
}
