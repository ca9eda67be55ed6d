/* SPDX-License-Identifier: MIT */
/*
 * follow.h - an event with all that follows from it: whatever is born, whatever ends.
 *
 * live.h applies an event to the one entry that it names. A context takes what it owns along,
 * memory lives as long as its last mapping, a buffer as long as its last sub-buffer, and one call
 * unmaps several: here each of these is told, too. For the tool.
 */
#pragma once

#include "ledger/live.h"

enum gt_ended_by {
	GT_ENDED_BY_CALL,     /* that named it, or the range it lay in */
	GT_ENDED_BY_CREATION, /* of another under its handle: its end was not seen */
	GT_ENDED_BY_OWNER,    /* which took it along */
	GT_ENDED_BY_HOLDER,   /* the last of those that kept it alive let go */
	GT_ENDED_BY_PROCESS,  /* it was alive when its process ended; told by ledgers alone */
};

struct gt_follower {
	void (*born)(void *context, const struct gt_entry *entry, uint32_t slot);
	/* `entry` is a copy: its slot is free already, or another's. */
	void (*ended)(void *context, const struct gt_entry *entry, uint32_t slot,
		      enum gt_ended_by by);
	void *context;
};

/* As gt_live_apply, but what was born and ended is told to `f`; ends on want of memory. */
enum gt_change gt_live_follow(struct gt_live *l, const struct gt_event *event, uint16_t process,
			      const struct gt_follower *f, struct gt_entry **entry);
