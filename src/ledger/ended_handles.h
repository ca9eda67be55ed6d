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

/* An end that the hash table does not know of yet. */
struct gt_recent_end {
	struct gt_entry entry;
	uint64_t hash, ended_ns;
	uint32_t ended_stack;
};

enum { GT_ENDED_MAX = 1 << 16, GT_RECENT_MAX = 64 };

/*
 * The latest GT_ENDED_MAX ended handles. Zeroed is empty. The hash table is its own because it
 * forgets: a new handle takes the place of the oldest in the ring. Few handles are ever looked up
 * and the table is large, so ends are added to it many at a time: they wait for memory together.
 */
struct gt_ended_handles {
	void *memory;                 /* of the list, which begins at a cache line */
	struct gt_ended_handle *list; /* a ring */
	uint32_t *heads;              /* by hash: index + 1 */
	size_t head_count;            /* a power of two */
	size_t count;                 /* handles ever */
	struct gt_recent_end recent[GT_RECENT_MAX];
	size_t recent_count;
};

void gt_ended_handles_fini(struct gt_ended_handles *ended);
/* Adds the recent ends to the hash table. */
void gt_ended_handles_add_recent(struct gt_ended_handles *ended);
/* The event has ended the entry; `hash` is its handle's. */
static inline void gt_ended_handles_add(struct gt_ended_handles *ended,
					const struct gt_entry *entry, uint64_t hash,
					const struct gt_event *event)
{
	struct gt_recent_end *end = &ended->recent[ended->recent_count++];

	end->entry = *entry;
	end->hash = hash;
	end->ended_ns = event->time_ns;
	end->ended_stack = event->stack;
	if (ended->recent_count == GT_RECENT_MAX)
		gt_ended_handles_add_recent(ended);
}
/* The latest lifetime of the handle that an event names; NULL: unknown, or long ago. */
const struct gt_ended_handle *gt_ended_handles_find(struct gt_ended_handles *ended,
						    const struct gt_event *event, uint32_t process);
/* Forgets those of the processes that `is_gone` returns true for: their numbers will be reused. */
void gt_ended_handles_forget(struct gt_ended_handles *ended,
			     bool (*is_gone)(const void *context, uint16_t process),
			     const void *context);
