/* SPDX-License-Identifier: MIT */
/*
 * accounts.h - the sums of a ledger: by kind, call site, process and place, now and at the peak.
 *
 * For ledger.c, which decides what lives and what ends; account_sums.h has the births and ends.
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

enum { GT_SITE_GUESSES = 1 << 13 };

struct gt_ledger_private {
	uint32_t *site_of; /* by stack: first site + 1 */
	size_t site_of_size;
	uint32_t site_guesses[GT_SITE_GUESSES]; /* site + 1; 0: none */
	struct gt_references references;
	struct gt_misuse misuse;
	struct gt_addresses addresses;
	struct gt_extents extents;
	bool knows_more; /* than entries and their accounts: set when an event is not a plain one */
	struct gt_process_bytes *held; /* by process */
	size_t held_size;
};

/* Where the site of resources that `function` created through `stack` probably is to be found. */
static inline uint32_t *gt_site_guess(struct gt_ledger_private *p, uint32_t stack,
				      uint16_t function)
{
	/* stacks have consecutive numbers: those of one function do not meet */
	return &p->site_guesses[(stack + function * 1031u) % GT_SITE_GUESSES];
}

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
