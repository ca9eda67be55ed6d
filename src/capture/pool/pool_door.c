/* SPDX-License-Identifier: MIT */
/* pool_door.c - the door of allocators above the driver: records the blocks that they report. */
#include "capture/pool/pool_door.h"

#include <stdatomic.h>
#include <string.h>

#include "guest/backward.h"

#define EXPORT __attribute__((visibility("default")))

/* Under the loader's lock, as other doors start: no thread waits here for one that waits there. */
__attribute__((constructor)) static void start(void)
{
	gt_guest_start();
}

/* So many blocks of a process have their pool's name: a name is one more record. */
enum { NAMED_MAX = 1 << 16, NAME_MAX_BYTES = 63 };

/* Bytes of a character of UTF-8 that was cut off at its end are left out. */
static void copy_name(char to[NAME_MAX_BYTES + 1], const char *name)
{
	size_t n = strnlen(name, NAME_MAX_BYTES + 1);

	if (n > NAME_MAX_BYTES)
		for (n = NAME_MAX_BYTES; n && ((unsigned char)name[n] & 0xc0) == 0x80;)
			n--;
	memcpy(to, name, n);
	to[n] = '\0';
}

static void name_block(const struct gt_guest_call *g, const struct gt_pool_report *r)
{
	static _Atomic uint32_t named;
	char name[NAME_MAX_BYTES + 1];

	if (!r->pool || !*r->pool || r->bytes < 0 || atomic_load(&named) >= NAMED_MAX)
		return;
	atomic_fetch_add(&named, 1);
	copy_name(name, r->pool);
	gt_guest_name(g, r->block, name);
}

static void record(const struct gt_pool_report *r, const void *caller)
{
	struct gt_guest_call g;
	uint64_t argv[3];

	gt_guest_begin(&g, gt_pool_call(r, argv), argv, caller);
	gt_guest_end(&g, r->block ? 0 : GT_POOL_OUT_OF_MEMORY, NULL);
	name_block(&g, r);
}

extern EXPORT const struct gt_pool_door gt_pool_door;
const struct gt_pool_door gt_pool_door = { .record = record,
					   .backward_begin = gt_backward_begin,
					   .backward_end = gt_backward_end,
					   .backward_worker = gt_backward_worker };
