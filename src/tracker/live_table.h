/* SPDX-License-Identifier: MIT */
/*
 * live_table.h - the live ledger inside the traced process, for whoever asks what is alive right
 * now.
 *
 * Off until started: a recording does not need it. Split by handle, so that threads rarely meet.
 * An ending is applied before the driver is called, and taken back when the call fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "event/event.h"
#include "guest/recorder.h"
#include "ledger/live.h"

GT_EXPORT void gt_live_table_start(void);
GT_EXPORT bool gt_live_table_is_on(void);
/* In a child after fork: what the parent had alive is the parent's. */
void gt_live_table_restart(bool can_free);

/* What the calls on a living resource have cost the process. */
struct gt_cost {
	int32_t rss_kb, size_kb, data_kb, anon_kb;
	bool uncertain; /* other calls were in flight: the cost may be theirs */
};

/* What an ending took away, to be put back when its call fails. */
struct gt_ending {
	struct gt_entry gone;
	struct gt_cost cost;
	enum gt_change change;
};

/*
 * A creation or retain that has happened. `replaced` is what lived under the handle until now and
 * whose end was not seen; its change is GT_CHANGE_NONE where there was nothing.
 */
enum gt_change gt_live_table_apply(const struct gt_event *event, struct gt_ending *replaced);

/* Charges a call to a living resource; needs gt_live_table_enable_costs. */
void gt_live_table_charge(enum gt_kind kind, uint64_t handle, const struct gt_cost *cost);
void gt_live_table_enable_costs(void);
/* Takes the memory that the first entries will need. */
void gt_live_table_warm(void);

void gt_live_table_end(const struct gt_event *event, struct gt_ending *ending);
void gt_live_table_restore(const struct gt_ending *ending);
/* Ends what dies with an owner that has ended; gives the number of entries. */
size_t gt_live_table_end_owned(uint64_t owner);
/* Ends what goes with an owner that takes it along: a copy of it, which the caller frees. */
struct gt_entry *gt_live_table_end_dependents(const struct gt_entry *owner, size_t *count);

/*
 * A copy of all entries that `wanted` agrees to, newest first; the caller frees it. NULL and 0
 * when there are none, or no memory. No lock is held when it returns.
 */
GT_EXPORT struct gt_entry *gt_live_table_snapshot(
	size_t *count, bool (*wanted)(void *context, const struct gt_entry *entry), void *context);
