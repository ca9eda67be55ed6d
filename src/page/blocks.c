/* SPDX-License-Identifier: MIT */
/* blocks.c - the blocks of device memory that took the most bytes for the longest time. */
#include "page/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void gt_page_blocks_init(struct gt_page_blocks *b, const struct gt_block_limits *limits)
{
	*b = (struct gt_page_blocks){ .start_ns = limits->start_ns,
				      .end_ns = limits->end_ns,
				      .closed = UINT32_MAX,
				      .segment_max = limits->segments };
	for (size_t i = 0; i < GT_BLOCK_LEVELS; i++) {
		struct gt_block_level *level = &b->levels[i];

		level->window_count = limits->windows[i];
		level->max = limits->blocks[i];
		level->width_ns = (b->end_ns - b->start_ns) / level->window_count + 1;
		level->windows = gt_alloc(level->window_count * sizeof *level->windows);
	}
}

void gt_page_blocks_fini(struct gt_page_blocks *b)
{
	for (size_t i = 0; i < GT_BLOCK_LEVELS; i++) {
		for (size_t k = 0; k < b->levels[i].window_count; k++) {
			gt_heap_fini(&b->levels[i].windows[k].heap);
			free(b->levels[i].windows[k].list);
		}
		free(b->levels[i].windows);
	}
	free(b->ending);
	gt_page_segments_fini(b);
}

uint64_t gt_page_block_weight(uint64_t bytes, uint64_t from_ns, uint64_t to_ns)
{
	/* one more, so that those that lived for no time are ranked by size */
	double weight = (double)bytes * ((double)(to_ns > from_ns ? to_ns - from_ns : 0) + 1);
	uint64_t bits;

	/* of numbers that are not negative, the bits are in order too */
	memcpy(&bits, &weight, sizeof bits);
	return bits;
}

static struct gt_block_window *window_of(const struct gt_page_blocks *b, size_t level,
					 uint64_t born_ns)
{
	const struct gt_block_level *at = &b->levels[level];
	uint64_t since = born_ns > b->start_ns ? born_ns - b->start_ns : 0;
	uint64_t number = at->window_count > 1 ? since / at->width_ns : 0;

	return &at->windows[number < at->window_count ? number : at->window_count - 1];
}

static bool has_room(const struct gt_page_blocks *b, size_t level, const struct gt_block_window *w,
		     uint64_t weight)
{
	return w->count < b->levels[level].max || (w->count && weight > w->heap.items[0].key);
}

static uint64_t weight_of(const struct gt_page_blocks *b, const struct gt_page_block *block)
{
	return gt_page_block_weight(block->size, block->born_ns,
				    block->ended_ns ? block->ended_ns : b->end_ns);
}

/* True if a level has room for a block of this weight. */
static bool is_wanted(const struct gt_page_blocks *b, uint64_t born_ns, uint64_t weight)
{
	for (size_t i = 0; i < GT_BLOCK_LEVELS; i++)
		if (has_room(b, i, window_of(b, i, born_ns), weight))
			return true;
	return false;
}

/* Into the first level that has room; what has to go from there is ranked by the next ones. */
static void rank(struct gt_page_blocks *b, const struct gt_page_block *one)
{
	struct gt_page_block block = *one;
	uint64_t weight = weight_of(b, &block);

	for (size_t i = 0; i < GT_BLOCK_LEVELS; i++) {
		struct gt_block_window *w = window_of(b, i, block.born_ns);

		if (!has_room(b, i, w, weight))
			continue;
		if (w->count < b->levels[i].max) {
			GT_GROW(w->list, w->count, w->room);
			w->list[w->count] = block;
			gt_heap_push(&w->heap, weight, (uint32_t)w->count++);
			return;
		}
		uint32_t place = w->heap.items[0].item;
		uint64_t least = w->heap.items[0].key;
		struct gt_page_block gone = w->list[place];

		w->list[place] = block;
		gt_heap_rekey(&w->heap, weight);
		block = gone;
		weight = least;
	}
}

static bool has_address(enum gt_kind kind)
{
	enum gt_kind family = (enum gt_kind)gt_kinds[kind].family;

	return family == GT_DEVICE_MEMORY || family == GT_SVM || family == GT_STATIC_MEMORY ||
	       gt_kinds[kind].habits & GT_POOLED;
}

static struct gt_page_block block_of(const struct gt_page_blocks *b, const struct gt_ledger *l,
				     const struct gt_life *life)
{
	const struct gt_entry *e = life->entry;
	bool goes_on = life->ended == GT_LIFE_GOES_ON;

	return (struct gt_page_block){
		.handle = e->handle,
		.size = (uint64_t)life->bytes,
		.born_ns = e->time_ns,
		.ended_ns = goes_on ? 0 : b->now_ns,
		.site = (uint32_t)(gt_ledger_site(l, e) - l->sites),
		.stack = e->stack,
		.tid = e->tid,
		.phase = life->phase,
		.process = e->process,
		.place = e->place,
		.function = e->function,
		.ended_by = (uint8_t)life->by,
		.has_address = has_address(gt_entry_kind(e)),
	};
}

void gt_page_blocks_take(struct gt_page_blocks *b, const struct gt_ledger *l,
			 const struct gt_life *life)
{
	bool goes_on = life->ended == GT_LIFE_GOES_ON;
	struct gt_page_block block;
	uint64_t weight;

	if (!gt_kind_on_device(gt_entry_kind(life->entry)) || gt_page_segments_take(b, l, life) ||
	    life->bytes <= 0)
		return;
	b->total++;
	weight = gt_page_block_weight((uint64_t)life->bytes, life->entry->time_ns,
				      goes_on ? b->end_ns : b->now_ns);
	if (!is_wanted(b, life->entry->time_ns, weight))
		return;
	block = block_of(b, l, life);
	if (goes_on) {
		rank(b, &block);
		return;
	}
	GT_GROW(b->ending, b->ending_count, b->ending_room);
	b->ending[b->ending_count++] = block;
}

void gt_page_blocks_applied(struct gt_page_blocks *b, uint32_t stack)
{
	for (size_t i = 0; i < b->ending_count; i++) {
		struct gt_page_block *block = &b->ending[i];

		block->freed_stack = block->ended_by == GT_ENDED_BY_PROCESS ? 0 : stack;
		rank(b, block);
	}
	b->ending_count = 0;
}
