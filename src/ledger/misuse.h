/* SPDX-License-Identifier: MIT */
/*
 * misuse.h - releases of ended resources, failed calls, and calls that never returned.
 *
 * Handles that ended are remembered for a while, so that a report of a handle that is ended again
 * can show both ends. For the ledger alone.
 */
#pragma once

#include "ledger/ledger.h"

struct gt_ended_handle {
	uint64_t handle;
	uint32_t created_stack, ended_stack;
	uint16_t process, function; /* of the creation */
	uint32_t next;              /* in its hash chain: index + 1 */
};

/*
 * The latest 65,536 ended handles. Zeroed is empty. The hash table is its own because it forgets: a
 * new handle takes the place of the oldest in the ring.
 */
struct gt_ended_handles {
	struct gt_ended_handle *list; /* a ring */
	uint32_t *heads;              /* by hash: index + 1 */
	size_t count;                 /* ever */
};

void gt_ended_handles_fini(struct gt_ended_handles *ended);
void gt_ended_handles_add(struct gt_ended_handles *ended, const struct gt_entry *e,
			  uint32_t ended_stack);

/* Records a call that failed or never returned; `is_alive`: the program still held its handle. */
void gt_misuse_failed_call(struct gt_ledger *l, const struct gt_ended_handles *ended,
			   const struct gt_event *e, uint32_t process, bool is_alive);
/* Records a call that ended a handle that is not alive. */
void gt_misuse_unknown_handle(struct gt_ledger *l, const struct gt_ended_handles *ended,
			      const struct gt_event *e, uint32_t process);
