/* SPDX-License-Identifier: MIT */
/* addresses.c - the living block of memory that an address lies in. */
#include "ledger/addresses.h"

#include <search.h>
#include <stdlib.h>

#include "base/mem.h"

struct block {
	uint64_t first, last;
	size_t *steps; /* of a key: counts comparisons */
	uint16_t process;
	uint8_t family;
};

/* Blocks that overlap are equal: an address is a block of one byte, and finds the one around it. */
static int compare(const void *x, const void *y)
{
	const struct block *a = x, *b = y;

	if (a->steps)
		++*a->steps;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return a->last < b->first ? -1 : a->first > b->last;
}

static bool is_block(const struct gt_addresses *a, const struct gt_entry *e)
{
	return a->is_built && a->families[gt_kinds[gt_entry_kind(e)].family] && e->size &&
	       e->handle + e->size > e->handle;
}

static struct block block_of(struct gt_addresses *a, const struct gt_entry *e)
{
	return (struct block){ .first = e->handle,
			       .last = e->handle + e->size - 1,
			       .steps = &a->steps,
			       .process = e->process,
			       .family = gt_kinds[gt_entry_kind(e)].family };
}

void gt_addresses_fini(struct gt_addresses *a)
{
	tdestroy(a->tree, free);
	*a = (struct gt_addresses){ 0 };
}

/* Takes the block out of the tree that overlaps the key. */
static void take_out(struct gt_addresses *a, const struct block *key, struct block *block)
{
	tdelete(key, &a->tree, compare);
	free(block);
}

void gt_addresses_born(struct gt_addresses *a, const struct gt_entry *entry)
{
	struct block key, *kept, **found;

	if (!is_block(a, entry))
		return;
	key = block_of(a, entry);
	/* the end of a block that overlaps it was not seen */
	while ((found = tfind(&key, &a->tree, compare)))
		take_out(a, &key, *found);
	kept = gt_alloc(sizeof *kept);
	*kept = key;
	gt_memory_check(tsearch(kept, &a->tree, compare));
}

void gt_addresses_ended(struct gt_addresses *a, const struct gt_entry *entry)
{
	struct block key, **found;

	if (!is_block(a, entry))
		return;
	key = block_of(a, entry);
	found = tfind(&key, &a->tree, compare);
	/* otherwise a younger one that overlaps it has taken its place */
	if (found && (*found)->first == key.first)
		take_out(a, &key, *found);
}

static bool add(void *addresses, const struct gt_entry *entry)
{
	gt_addresses_born(addresses, entry);
	return true;
}

static void build(struct gt_addresses *a, const struct gt_live *l)
{
	for (int i = 0; i < GT_FN_COUNT; i++)
		if (gt_functions[i].handle.inside)
			a->families[gt_kinds[gt_functions[i].kind].family] = true;
	a->is_built = true;
	gt_live_each(l, add, a);
}

struct gt_entry *gt_addresses_find(struct gt_addresses *a, const struct gt_live *l,
				   const struct gt_event *event, uint16_t process)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[event->function].kind;
	const struct block address = { .first = event->handle,
				       .last = event->handle,
				       .steps = &a->steps,
				       .process = process,
				       .family = gt_kinds[kind].family };
	struct block **found;

	if (!a->is_built)
		build(a, l);
	found = tfind(&address, &a->tree, compare);
	return found ? gt_live_find(l, process, kind, (*found)->first) : NULL;
}
