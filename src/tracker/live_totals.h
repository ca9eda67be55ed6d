/* SPDX-License-Identifier: MIT */
/*
 * live_totals.h - how much is alive in the traced process, and how much was at most since a moment.
 *
 * Sums are kept by atomic additions. A peak belongs to a period, which begins with a mark; a period
 * that no later one exceeded is kept for whoever asks, in a bounded list.
 */
#pragma once

#include "ledger/live.h"

/* What is summed up. */
enum gt_live_sum {
	GT_LIVE_COUNT,  /* resources */
	GT_LIVE_DEVICE, /* bytes of drivers' memory on devices */
	GT_LIVE_BLOCKS, /* bytes of pools' blocks */
	GT_LIVE_SUMS
};

/* A resource is born, and ends. Without a lock. */
void gt_live_totals_add(const struct gt_entry *entry);
void gt_live_totals_remove(const struct gt_entry *entry);
uint64_t gt_live_totals_get(enum gt_live_sum sum);

/* A period begins. */
void gt_live_totals_mark(uint64_t now_ns);
/* The most since a mark, what was alive then included. */
uint64_t gt_live_totals_peak(enum gt_live_sum sum, uint64_t since_ns);

/* Call in a child after fork. */
void gt_live_totals_restart(void);
