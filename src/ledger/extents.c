/* SPDX-License-Identifier: MIT */
/* extents.c - the memory that blocks of pools lie in, by address. */
#include "ledger/extents.h"

#include <search.h>
#include <stdlib.h>

#include "base/mem.h"

/* Extents that overlap are equal: an address is an extent of one byte, and finds the one around it.
 */
static int compare(const void *x, const void *y)
{
	const struct gt_extent *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->last < b->first ? -1 : a->first > b->last;
}

void gt_extents_forget(struct gt_extents *x)
{
	tdestroy(x->abandoned, free);
	x->abandoned = NULL;
}

void gt_extents_fini(struct gt_extents *x)
{
	gt_extents_forget(x);
	tdestroy(x->tree, free);
	*x = (struct gt_extents){ 0 };
}

/* Memory that has an address, and bytes of its own or of what it maps. */
static bool is_extent(const struct gt_entry *e)
{
	enum gt_kind kind = gt_entry_kind(e);

	if (!e->size || e->handle + e->size < e->handle)
		return false;
	return kind == GT_HELD_MAPPING ||
	       (gt_kinds[kind].family == GT_DEVICE_MEMORY && gt_kind_on_device(kind));
}

static struct gt_extent *find(const struct gt_extents *x, const struct gt_extent *key)
{
	struct gt_extent **found = tfind(key, &x->tree, compare);

	return found ? *found : NULL;
}

/* Adds an extent to the sums, or takes it off before it changes. */
static void count(struct gt_extents *x, const struct gt_extent *e, bool is_there)
{
	struct gt_extent_sums *sums = &x->sums[e->place % GT_EXTENT_PLACES];
	bool is_segment = gt_kind_is_cache((enum gt_kind)e->kind);
	uint64_t bytes = e->last - e->first + 1 - e->used;

	if (e->is_gone)
		return;
	if (e->used)
		sums->pinned += is_there ? bytes : 0 - bytes;
	else if (is_segment)
		sums->idle += is_there ? bytes : 0 - bytes;
}

static void take_out(struct gt_extents *x, struct gt_extent *extent)
{
	struct gt_extent **kept = NULL;

	count(x, extent, false);
	tdelete(extent, &x->tree, compare);
	if (extent->used)
		gt_memory_check(kept = tsearch(extent, &x->abandoned, compare));
	if (!kept || *kept != extent)
		free(extent);
}

bool gt_extents_lack(const struct gt_extents *x, const struct gt_entry *block)
{
	struct gt_extent key = { .first = block->handle,
				 .last = block->handle + (block->size ? block->size - 1 : 0),
				 .process = block->process };

	return x->abandoned && tfind(&key, &x->abandoned, compare);
}

void gt_extents_born(struct gt_extents *x, const struct gt_live *l, const struct gt_entry *e)
{
	const struct gt_entry *owner = e;
	struct gt_extent key, *kept;

	if (!x->is_built || !is_extent(e))
		return;
	if (gt_entry_kind(e) == GT_HELD_MAPPING)
		owner = gt_live_held_by(l, e);
	if (!owner)
		return;
	key = (struct gt_extent){ .first = e->handle,
				  .last = e->handle + e->size - 1,
				  .handle = owner->handle,
				  .kind = (uint8_t)gt_entry_kind(owner),
				  .is_mapping = owner != e,
				  .process = e->process,
				  .place = owner->place };
	/* the end of one that overlaps it was not seen */
	while ((kept = find(x, &key)))
		take_out(x, kept);
	kept = gt_alloc(sizeof *kept);
	*kept = key;
	gt_memory_check(tsearch(kept, &x->tree, compare));
	count(x, kept, true);
}

const struct gt_extent *gt_extents_find(const struct gt_extents *x, uint16_t process,
					uint64_t address)
{
	return find(x,
		    &(struct gt_extent){ .first = address, .last = address, .process = process });
}

void gt_extents_ended(struct gt_extents *x, const struct gt_entry *e)
{
	struct gt_extent key = { .first = e->handle, .last = e->handle, .process = e->process };
	struct gt_extent *found;
	enum gt_kind kind = gt_entry_kind(e);

	if (!x->is_built || (kind != GT_HELD_MAPPING && gt_kinds[kind].family != GT_DEVICE_MEMORY))
		return;
	found = find(x, &key);
	/* otherwise a younger one that overlaps it has taken its place */
	if (found && found->first == e->handle && found->is_mapping == (kind == GT_HELD_MAPPING))
		take_out(x, found);
}

struct building {
	struct gt_extents *extents;
	const struct gt_live *live;
};

static bool add(void *context, const struct gt_entry *entry)
{
	const struct building *b = context;

	gt_extents_born(b->extents, b->live, entry);
	return true;
}

static void build(struct gt_extents *x, const struct gt_live *l)
{
	struct building b = { x, l };

	x->is_built = true;
	gt_live_each(l, add, &b);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Calls `change` on each extent that the block lies in, with the bytes of it in there. */
static void each_part(struct gt_extents *x, const struct gt_live *l, const struct gt_entry *block,
		      gt_extent_move_fn *move, void *context, bool is_born)
{
	uint64_t at = block->handle, end = block->handle + block->size;

	while (at < end) {
		struct gt_extent key = { .first = at, .last = at, .process = block->process };
		struct gt_extent *extent = find(x, &key);
		struct gt_entry *segment;
		uint64_t bytes;

		if (!extent)
			return;
		bytes = least(end - at, extent->last - at + 1);
		at += bytes;
		segment =
			gt_live_find(l, block->process, (enum gt_kind)extent->kind, extent->handle);
		if (!segment)
			continue;
		/* blocks that overlap, after lost events, have no more than there is */
		bytes = least(bytes, is_born ? segment->size : extent->used);
		count(x, extent, false);
		extent->used += is_born ? bytes : 0 - bytes;
		move(context, segment, block, is_born ? (int64_t)bytes : -(int64_t)bytes);
		/* it may have turned out to be a segment just now */
		extent->kind = (uint8_t)gt_entry_kind(segment);
		count(x, extent, true);
	}
}

void gt_extents_block_born(struct gt_extents *x, const struct gt_live *l, struct gt_entry *block,
			   gt_extent_move_fn *move, void *context)
{
	const struct gt_extent *extent;
	const struct gt_entry *segment;

	if (!x->is_built)
		build(x, l);
	extent = gt_extents_find(x, block->process, block->handle);
	segment = extent ? gt_live_find(l, block->process, (enum gt_kind)extent->kind,
					extent->handle) :
			   NULL;
	if (segment && !block->place)
		block->place = segment->place;
	each_part(x, l, block, move, context, true);
}

void gt_extents_block_ended(struct gt_extents *x, const struct gt_live *l,
			    const struct gt_entry *block, gt_extent_move_fn *move, void *context)
{
	each_part(x, l, block, move, context, false);
}

struct walk {
	void (*each)(void *context, const struct gt_extent *extent);
	void *context;
};

static void visit(const void *node, VISIT order, void *context)
{
	const struct walk *w = context;

	if (order == postorder || order == leaf)
		w->each(w->context, *(const struct gt_extent *const *)node);
}

void gt_extents_each(const struct gt_extents *x,
		     void (*each)(void *context, const struct gt_extent *extent), void *context)
{
	struct walk w = { each, context };

	twalk_r(x->tree, visit, &w);
}

struct leaving {
	struct gt_extents *extents;
	uint16_t process;
};

static void leave(const void *node, VISIT order, void *context)
{
	const struct leaving *l = context;
	struct gt_extent *extent = *(struct gt_extent *const *)node;

	if ((order != postorder && order != leaf) || extent->process != l->process)
		return;
	count(l->extents, extent, false);
	extent->is_gone = true;
}

void gt_extents_process_ended(struct gt_extents *x, uint16_t process)
{
	struct leaving l = { x, process };

	twalk_r(x->tree, leave, &l);
}
