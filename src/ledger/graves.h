/* SPDX-License-Identifier: MIT */
/* graves.h - handles that have ended, for a while: whoever ends one again is told of both ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ledger/live.h"

struct gt_grave {
	uint64_t handle;
	uint32_t created_stack, ended_stack;
	uint16_t process, function; /* of the creation */
	uint32_t next;              /* in its hash chain: index + 1 */
};

/* Zeroed is empty. The last 65,536 are kept. */
struct gt_graves {
	struct gt_grave *list; /* a ring */
	uint32_t *heads;       /* by hash: index + 1 */
	size_t count;          /* ever */
};

void gt_graves_fini(struct gt_graves *g);
void gt_graves_add(struct gt_graves *g, const struct gt_entry *e, uint32_t ended_stack);
/* The latest end of this handle, NULL if it is not remembered; valid until the next is added. */
const struct gt_grave *gt_graves_find(const struct gt_graves *g, uint32_t process,
				      enum gt_kind kind, uint64_t handle);
