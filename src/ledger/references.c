/* SPDX-License-Identifier: MIT */
/* references.c - who keeps living entries: the program's own references, and their holders. */
#include "ledger/references.h"

#include <stdlib.h>

#include "base/mem.h"

void gt_references_fini(struct gt_references *r)
{
	free(r->holders);
	free(r->retain_stacks);
}

void gt_references_born(struct gt_references *r, const struct gt_live *l,
			const struct gt_entry *entry, uint32_t slot)
{
	const struct gt_entry *held = gt_live_held_by(l, entry);
	uint32_t held_slot;

	if (slot < r->holder_size)
		r->holders[slot] = 0;
	if (!held)
		return;
	held_slot = gt_live_slot(l, held);
	gt_reach(&r->holders, &r->holder_size, held_slot);
	r->holders[held_slot]++;
}

void gt_references_ended(struct gt_references *r, const struct gt_live *l,
			 const struct gt_entry *entry)
{
	const struct gt_entry *held = gt_live_held_by(l, entry);

	/* none in a damaged recording: times may lie */
	if (held && gt_references_holders(r, l, held))
		r->holders[gt_live_slot(l, held)]--;
}

void gt_references_retained(struct gt_references *r, const struct gt_live *l,
			    const struct gt_entry *entry, uint32_t stack)
{
	uint32_t slot = gt_live_slot(l, entry);

	gt_reach(&r->retain_stacks, &r->retain_size, slot);
	r->retain_stacks[slot] = stack;
}

uint32_t gt_references_holders(const struct gt_references *r, const struct gt_live *l,
			       const struct gt_entry *entry)
{
	uint32_t slot;

	if (!r->holder_size) /* as in most recordings: nothing is looked up */
		return 0;
	slot = gt_live_slot(l, entry);
	return slot < r->holder_size ? r->holders[slot] : 0;
}

uint32_t gt_references_own(const struct gt_references *r, const struct gt_live *l,
			   const struct gt_entry *entry)
{
	return entry->refs - gt_references_holders(r, l, entry);
}

uint32_t gt_references_retain_stack(const struct gt_references *r, const struct gt_live *l,
				    const struct gt_entry *entry)
{
	uint32_t slot = gt_live_slot(l, entry);

	return gt_references_own(r, l, entry) > 1 && slot < r->retain_size ?
		       r->retain_stacks[slot] :
		       0;
}
