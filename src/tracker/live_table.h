/* SPDX-License-Identifier: MIT */
/*
 * live_table.h - the resources that are alive right now, inside the traced process.
 *
 * Off until started: a recording does not need it. Split by handle, so that threads rarely contend.
 * An ending is applied before the driver is called, and undone when the call fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "event/event.h"
#include "guest/recorder.h"
#include "ledger/live.h"

/*
 * Starts it. `from_start`: no call went before, so that a retain of an unknown handle is evidence
 * of one that an untracked call created, or that was thought to have ended.
 */
GT_EXPORT void gt_live_table_start(bool from_start);
/* Starts it to count, with the blocks of pools; stacks are the recording's alone. */
void gt_live_table_start_counting(void);
GT_EXPORT bool gt_live_table_is_on(void);
/* Whether entries have stacks of creation_sites.h, and whether blocks of pools have entries. */
bool gt_live_table_has_stacks(void);
bool gt_live_table_has_pools(void);
/* Call in a child after fork: the parent's resources are not the child's. */
void gt_live_table_restart(bool can_free);

/* How much memory the calls on a living resource have added to the process. */
struct gt_cost {
	int32_t rss_kb, size_kb, data_kb, anon_kb;
	int32_t free_16; /* memory that malloc holds free, in units of 16 bytes */
	uint16_t era;    /* in which all calls read malloc's figures: malloc_use.h; 0: none did */
	bool uncertain;  /* other calls were in flight, and may have caused it */
	bool crowded;    /* there were other threads, whose use of malloc is included */
};

/* What the calls on a destroyed handle left in the process, creation to destruction. */
struct gt_left {
	int64_t kept_kb, size_kb;
	int64_t label_kb; /* the residue of all destroyed handles of its label, this one included */
	bool has_grown;   /* by this handle */
};

/* What an ending removed, to be restored if its call fails. */
struct gt_ending {
	struct gt_entry gone;
	struct gt_cost cost;
	struct gt_left left; /* once the call has succeeded (residue.h) */
	enum gt_change change;
};

/*
 * Applies a creation or retain that succeeded; GT_CHANGE_BORN too for a retain of an unknown
 * handle, which a table that is on from the start then has. `replaced` gets the resource that was
 * still alive under the handle, its end not having been seen; its change is GT_CHANGE_NONE if there
 * was none.
 */
enum gt_change gt_live_table_apply(const struct gt_event *event, struct gt_ending *replaced);

/* Adds the cost of a call to a living resource; needs gt_live_table_enable_costs. */
void gt_live_table_charge(enum gt_kind kind, uint64_t handle, const struct gt_cost *cost);
void gt_live_table_enable_costs(void);
/* Allocates what the first entries will need. */
void gt_live_table_warm(void);

/* Applies an ending, and undoes it. */
void gt_live_table_end(const struct gt_event *event, struct gt_ending *ending);
void gt_live_table_restore(const struct gt_ending *ending);
/* Ends the resources that die with their owner; returns how many. */
size_t gt_live_table_end_owned(uint64_t owner);
/* Ends the resources that the end of `owner` releases; a copy of them, which the caller frees. */
struct gt_entry *gt_live_table_end_dependents(const struct gt_entry *owner, size_t *count);
/* Both of these for a caller that does not count them. */
void gt_live_table_end_with(const struct gt_entry *gone);

/* How many entries `wanted` is true for; it is called with a lock held. */
size_t gt_live_table_count(bool (*wanted)(void *context, const struct gt_entry *entry),
			   void *context);
/*
 * A copy of all entries for which `wanted` is true, newest first, for gt_live_table_free. NULL and
 * 0 if there are none, or no memory. No lock is held when it returns.
 */
GT_EXPORT struct gt_entry *gt_live_table_snapshot(
	size_t *count, bool (*wanted)(void *context, const struct gt_entry *entry), void *context);
/* For the doors, whose own gt_table_free is that of malloc. */
GT_EXPORT void gt_live_table_free(struct gt_entry *copy);
