/* SPDX-License-Identifier: MIT */
/*
 * accounts.h - the sums of a ledger: by kind, call site, process and place, now and at the peak.
 *
 * For ledger.c, which decides what lives and what ends.
 */
#pragma once

#include "ledger/addresses.h"
#include "ledger/extents.h"
#include "ledger/ledger.h"
#include "ledger/misuse.h"

/* Bytes that a process holds now. */
struct gt_process_bytes {
	uint64_t device, host;
	uint64_t pooled; /* the part of `device` in blocks of pools */
	bool ended;
};

struct gt_ledger_private {
	uint32_t *site_of; /* by stack: first site + 1 */
	size_t site_of_size;
	struct gt_references references;
	struct gt_misuse misuse;
	struct gt_addresses addresses;
	struct gt_extents extents;
	struct gt_process_bytes *held; /* by process */
	size_t held_size;
};

void gt_account_birth(struct gt_ledger *l, const struct gt_entry *e);
void gt_account_end(struct gt_ledger *l, const struct gt_entry *e);
/* The end of an entry is undone: it was none. */
void gt_account_revival(struct gt_ledger *l, const struct gt_entry *e, uint64_t time_ns);
/* The row of memory that a pool of this API has cached; its own row if there is none. */
uint16_t gt_cached_row(const struct gt_entry *e, enum gt_api pool);
/* A new entry is a segment of a pool if others from its call site are. */
void gt_account_recognise(const struct gt_ledger *l, struct gt_entry *e);
/* A block of a pool takes bytes of a segment, or returns them (gt_extent_move_fn). */
void gt_account_move(void *ledger, struct gt_entry *segment, const struct gt_entry *block,
		     int64_t bytes);
/* Takes an entry off those that ended processes left. */
void gt_account_forget_gone(struct gt_ledger *l, const struct gt_entry *e);
/* Completes each site's share of the peak. */
void gt_account_peak(struct gt_ledger *l);
