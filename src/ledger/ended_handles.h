/* SPDX-License-Identifier: MIT */
/*
 * ended_handles.h - handles that ended a while ago, with the lifetime that each had.
 *
 * A report of a handle that is ended again shows both ends, and a retain brings it back to life.
 * For the ledger and the board.
 */
#pragma once

#include "ledger/live.h"

struct gt_ended_handle {
	struct gt_entry entry; /* as it was before its end */
	uint64_t ended_ns;
	uint32_t ended_stack;
	uint32_t next; /* in its hash chain: index + 1 */
};

enum { GT_ENDED_MAX = 1 << 16 };

/*
 * The latest GT_ENDED_MAX ended handles. Zeroed is empty. The hash table is its own because it
 * forgets: a new handle takes the place of the oldest in the ring.
 */
struct gt_ended_handles {
	struct gt_ended_handle *list; /* a ring */
	uint32_t *heads;              /* by hash: index + 1 */
	size_t count;                 /* ever */
};

void gt_ended_handles_fini(struct gt_ended_handles *ended);
/* The event has ended the entry; `hash` is its handle's. */
void gt_ended_handles_add(struct gt_ended_handles *ended, const struct gt_entry *entry,
			  uint64_t hash, const struct gt_event *event);
/* Begin to fetch what it takes to add or find a handle by its hash; first the one, then the other.
 */
GT_PREFETCHES void gt_ended_handles_prefetch(const struct gt_ended_handles *ended, uint64_t hash)
{
	if (ended->list)
		__builtin_prefetch(&ended->heads[hash % GT_ENDED_MAX], 1);
}

GT_PREFETCHES void gt_ended_handles_prefetch_handle(const struct gt_ended_handles *ended,
						    uint64_t hash)
{
	uint32_t index = ended->list ? ended->heads[hash % GT_ENDED_MAX] : 0;

	if (index)
		__builtin_prefetch(&ended->list[index - 1], 1);
}

/* The latest lifetime of the handle that an event names; NULL: unknown, or long ago. */
const struct gt_ended_handle *gt_ended_handles_find(const struct gt_ended_handles *ended,
						    const struct gt_event *event, uint32_t process);
/* Forgets those of the processes that `is_gone` returns true for: their numbers will be reused. */
void gt_ended_handles_forget(struct gt_ended_handles *ended,
			     bool (*is_gone)(const void *context, uint16_t process),
			     const void *context);
