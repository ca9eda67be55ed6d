/* SPDX-License-Identifier: MIT */
/* ranges.c - which of many ranges of addresses was the last to be laid over an address. */
#include "base/ranges.h"

#include <search.h>
#include <stdlib.h>

#include "base/mem.h"

struct piece {
	uint64_t first, last; /* both in it, so that the last address of all can be */
	uint32_t owner;
};

/* Pieces that overlap are equal: looking for one finds any that is in its way. */
static int compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->last < y->first ? -1 : x->first > y->last;
}

static void add(struct gt_ranges *r, uint64_t first, uint64_t last, uint32_t owner)
{
	struct piece *piece = gt_alloc(sizeof *piece);

	*piece = (struct piece){ .first = first, .last = last, .owner = owner };
	gt_memory_check(tsearch(piece, &r->pieces, compare));
}

void gt_ranges_put(struct gt_ranges *r, uint64_t start, uint64_t size, uint32_t owner)
{
	struct piece range = { .first = start, .last = start + size - 1 };
	struct piece **found;

	if (!size)
		return;
	if (range.last < range.first)
		range.last = UINT64_MAX;
	while ((found = tfind(&range, &r->pieces, compare))) {
		struct piece *below = *found;

		tdelete(below, &r->pieces, compare);
		if (below->first < range.first)
			add(r, below->first, range.first - 1, below->owner);
		if (below->last > range.last)
			add(r, range.last + 1, below->last, below->owner);
		free(below);
	}
	add(r, range.first, range.last, owner);
}

bool gt_ranges_find(const struct gt_ranges *r, uint64_t address, uint32_t *owner)
{
	struct piece wanted = { .first = address, .last = address };
	struct piece **found = tfind(&wanted, &r->pieces, compare);

	if (found)
		*owner = (*found)->owner;
	return found;
}

void gt_ranges_fini(struct gt_ranges *r)
{
	tdestroy(r->pieces, free);
	r->pieces = NULL;
}
