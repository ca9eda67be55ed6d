/* SPDX-License-Identifier: MIT */
/* pool.c - the pools above the driver at a moment: segments, blocks, and what lies between. */
#include "replay/pool.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ledger/extents.h"

struct gathering {
	struct gt_pools *pools;
	const struct gt_ledger *ledger;
	uint64_t last; /* address of the segment before */
	bool was_mapping;
};

/* True if a block can lie in both this extent and the one before it. */
static bool continues_run(const struct gathering *g, const struct gt_extent *extent)
{
	const struct gt_pools *p = g->pools;

	return p->run_count && g->was_mapping && extent->is_mapping &&
	       p->runs[p->run_count - 1].process == extent->process &&
	       g->last + 1 == extent->first &&
	       !gt_live_find(&g->ledger->live, extent->process, GT_RESERVATION, extent->first);
}

static void add_segment(void *context, const struct gt_extent *extent)
{
	struct gathering *g = context;
	struct gt_pools *p = g->pools;
	const struct gt_entry *entry = gt_live_find(&g->ledger->live, extent->process,
						    (enum gt_kind)extent->kind, extent->handle);
	uint64_t size = extent->last - extent->first + 1;

	if (!entry || (!extent->used && !gt_kind_is_cache(gt_entry_kind(entry))))
		return;
	if (!continues_run(g, extent)) {
		GT_GROW(p->runs, p->run_count, p->run_room);
		p->runs[p->run_count++] = (struct gt_pool_run){ .address = extent->first,
								.process = extent->process,
								.place = entry->place };
	}
	p->runs[p->run_count - 1].size += size;
	GT_GROW(p->segments, p->segment_count, p->segment_room);
	p->segments[p->segment_count++] = (struct gt_pool_segment){ .address = extent->first,
								    .size = size,
								    .live = extent->used,
								    .cached = size - extent->used,
								    .run = p->run_count - 1,
								    .stack = entry->stack,
								    .process = extent->process,
								    .place = entry->place };
	p->reserved += size;
	p->live += extent->used;
	g->last = extent->last;
	g->was_mapping = extent->is_mapping;
}

static bool add_block(void *context, const struct gt_entry *entry)
{
	struct gathering *g = context;
	struct gt_pools *p = g->pools;

	if (!gt_entry_is_pooled(entry))
		return true;
	GT_GROW(p->blocks, p->block_count, p->block_room);
	p->blocks[p->block_count++] = (struct gt_pool_block){ .entry = entry, .is_loose = true };
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct gt_entry *x = ((const struct gt_pool_block *)a)->entry;
	const struct gt_entry *y = ((const struct gt_pool_block *)b)->entry;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->handle > y->handle) - (x->handle < y->handle);
}

/* Where a block lies: before a range of addresses, in it, or behind it. */
static int position(const struct gt_entry *block, uint16_t process, uint64_t address, uint64_t size)
{
	if (block->process != process)
		return block->process < process ? -1 : 1;
	if (block->handle + block->size <= address)
		return -1;
	return block->handle >= address + size;
}

/* Both are in order: each segment's blocks are next to one another. */
static void assign_blocks(struct gt_pools *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->segment_count; i++) {
		struct gt_pool_segment *s = &p->segments[i];

		while (at < p->block_count &&
		       position(p->blocks[at].entry, s->process, s->address, s->size) < 0)
			at++;
		s->first_block = at;
		while (at + s->block_count < p->block_count &&
		       !position(p->blocks[at + s->block_count].entry, s->process, s->address,
				 s->size))
			s->block_count++;
		for (size_t k = at; k < at + s->block_count; k++) {
			p->blocks[k].is_loose = false;
			p->blocks[k].pinned += s->cached;
			p->blocks[k].pinned_alone += s->block_count == 1 ? s->cached : 0;
		}
		p->cached += s->cached;
		p->fragmented += s->block_count ? s->cached : 0;
	}
}

static void add_free_piece(struct gt_pools *p, struct gt_pool_run *run, uint64_t size)
{
	if (!size)
		return;
	run->free_pieces++;
	p->free_pieces++;
	if (size > run->largest_free)
		run->largest_free = size;
	if (size > p->largest_free)
		p->largest_free = size;
}

static void find_free_pieces(struct gt_pools *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->run_count; i++) {
		struct gt_pool_run *run = &p->runs[i];
		uint64_t free_from = run->address, end = run->address + run->size;

		for (; at < p->block_count; at++) {
			const struct gt_entry *block = p->blocks[at].entry;
			int where = position(block, run->process, run->address, run->size);

			if (where > 0)
				break;
			if (where < 0)
				continue;
			if (block->handle > free_from)
				add_free_piece(p, run, block->handle - free_from);
			free_from = block->handle + block->size;
		}
		if (free_from < end)
			add_free_piece(p, run, end - free_from);
	}
}

void gt_pools_init(struct gt_pools *p, const struct gt_ledger *l)
{
	struct gathering g = { .pools = p, .ledger = l };

	*p = (struct gt_pools){ 0 };
	gt_extents_each(gt_ledger_extents(l), add_segment, &g);
	gt_live_each(&l->live, add_block, &g);
	if (p->block_count)
		qsort(p->blocks, p->block_count, sizeof *p->blocks, by_address);
	assign_blocks(p);
	find_free_pieces(p);
	for (size_t i = 0; i < p->block_count; i++)
		p->loose += p->blocks[i].is_loose ? p->blocks[i].entry->size : 0;
}

void gt_pools_fini(struct gt_pools *p)
{
	free(p->segments);
	free(p->runs);
	free(p->blocks);
	*p = (struct gt_pools){ 0 };
}

static int most_first(const void *a, const void *b)
{
	const struct gt_pool_pin *x = a, *y = b;

	if (x->pinned_alone != y->pinned_alone)
		return x->pinned_alone > y->pinned_alone ? -1 : 1;
	if (x->pinned != y->pinned)
		return x->pinned > y->pinned ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

/* Adds a segment's cached bytes once to each site with a block in it. */
static void pin_segment(const struct gt_pools *p, const struct gt_ledger *l,
			const struct gt_pool_segment *s, struct gt_pool_pin *by_site,
			size_t *seen_in)
{
	size_t number = (size_t)(s - p->segments) + 1, sites = 0, site = 0;

	for (size_t i = 0; i < s->block_count; i++) {
		const struct gt_entry *block = p->blocks[s->first_block + i].entry;

		site = (size_t)(gt_ledger_site(l, block) - l->sites);
		by_site[site].blocks++;
		by_site[site].bytes += block->size;
		if (seen_in[site] == number)
			continue;
		seen_in[site] = number;
		by_site[site].site = &l->sites[site];
		by_site[site].pinned += s->cached;
		sites++;
	}
	if (sites == 1)
		by_site[site].pinned_alone += s->cached;
}

size_t gt_pools_pins(const struct gt_pools *p, const struct gt_ledger *l, struct gt_pool_pin **pins)
{
	struct gt_pool_pin *by_site = gt_alloc(l->site_count * sizeof *by_site);
	size_t *seen_in = gt_alloc(l->site_count * sizeof *seen_in), count = 0;

	for (size_t i = 0; i < p->segment_count; i++)
		if (p->segments[i].cached)
			pin_segment(p, l, &p->segments[i], by_site, seen_in);
	for (size_t i = 0; i < l->site_count; i++)
		if (by_site[i].pinned)
			by_site[count++] = by_site[i];
	qsort(by_site, count, sizeof *by_site, most_first);
	free(seen_in);
	*pins = by_site;
	return count;
}
