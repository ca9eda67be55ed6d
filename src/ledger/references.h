/* SPDX-License-Identifier: MIT */
/*
 * references.h - who keeps living entries: the program's own references, and their holders.
 *
 * An entry counts both in `refs`. What holds others (GT_HOLDS: mappings, sub-buffers) is counted
 * here once more, and where the program last retained an entry is kept. By the entries' slots.
 */
#pragma once

#include "ledger/live.h"

/* Zeroed is empty. */
struct gt_references {
	uint32_t *holders;
	size_t holder_size;
	uint32_t *retain_stacks;
	size_t retain_size;
};

void gt_references_fini(struct gt_references *r);

/* An entry is born, or has ended: it holds something else from now on, or no longer. */
void gt_references_born(struct gt_references *r, const struct gt_live *l,
			const struct gt_entry *entry, uint32_t slot);
void gt_references_ended(struct gt_references *r, const struct gt_live *l,
			 const struct gt_entry *entry);
void gt_references_retained(struct gt_references *r, const struct gt_live *l,
			    const struct gt_entry *entry, uint32_t stack);

/* How many hold it. */
uint32_t gt_references_holders(const struct gt_references *r, const struct gt_live *l,
			       const struct gt_entry *entry);
/* Those that are the program's: 0 when only its holders keep it. */
uint32_t gt_references_own(const struct gt_references *r, const struct gt_live *l,
			   const struct gt_entry *entry);
/* Where it was last retained, if it is retained still; 0 for none. */
uint32_t gt_references_retain_stack(const struct gt_references *r, const struct gt_live *l,
				    const struct gt_entry *entry);
