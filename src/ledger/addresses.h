/* SPDX-License-Identifier: MIT */
/*
 * addresses.h - the living block of memory that an address lies in.
 *
 * Few programs free a block by an address inside it, so the blocks are ordered by address only once
 * a free names no known handle; from then on every birth and end keeps the order. A look-up, a
 * birth and an end then take time that grows with the logarithm of the living blocks. For the tool.
 */
#pragma once

#include "ledger/live.h"

/* Zeroed is empty. */
struct gt_addresses {
	void *tree; /* of tsearch(3) */
	bool is_built;
	bool families[GT_KIND_COUNT]; /* those that are freed by addresses inside a block */
	size_t steps;                 /* comparisons ever made */
};

void gt_addresses_fini(struct gt_addresses *a);

/* An entry was born or has ended. */
void gt_addresses_born(struct gt_addresses *a, const struct gt_entry *entry);
void gt_addresses_ended(struct gt_addresses *a, const struct gt_entry *entry);

/*
 * The entry of memory that `event`, which may name a block by an address inside it, means; NULL if
 * the address lies in no block of the process.
 */
struct gt_entry *gt_addresses_find(struct gt_addresses *a, const struct gt_live *l,
				   const struct gt_event *event, uint16_t process);
