/* SPDX-License-Identifier: MIT */
/* traced_stacks.c - the stacks of a traced process, and their numbers. */
#include "capture/ebpf/traced_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capture/ebpf/calls.h"

/*
 * A frame in the tree: the number of an image, and an offset from its lowest address. Frames in no
 * image are addresses, with the highest bit set.
 */
enum { OFFSET_BITS = 40, FIRST_RECENT = 256, MOST_RECENT = 32768 };

#define NO_IMAGE (UINT64_C(1) << 63)

/* Fixed in size, as the tree knows all stacks: a newer stack replaces an older one. */
struct gt_recent_stack {
	uint64_t key;
	uint32_t number;
};

void gt_traced_stacks_fini(struct gt_traced_stacks *s)
{
	if (s->tree.budget)
		s->tree.budget->used_bytes -= s->arrays_bytes;
	gt_stack_tree_fini(&s->tree);
	free(s->numbers);
	free(s->nodes);
	free(s->recent);
	*s = (struct gt_traced_stacks){ 0 };
}

uint32_t gt_traced_stacks_recent(const struct gt_traced_stacks *s, uint64_t key)
{
	const struct gt_recent_stack *at =
		s->recent_count ? &s->recent[key & (s->recent_count - 1)] : NULL;

	return at && at->key == key ? at->number : 0;
}

void gt_traced_stacks_moved(struct gt_traced_stacks *s)
{
	if (s->recent_count)
		memset(s->recent, 0, s->recent_count * sizeof *s->recent);
}

static uint64_t frame_in(const struct gt_mapped *at, uint64_t address)
{
	if (!at || !at->image->number || at->image->number >= 1u << (63 - OFFSET_BITS) ||
	    (address - at->start) >> OFFSET_BITS)
		return NO_IMAGE | address;
	return (uint64_t)at->image->number << OFFSET_BITS | (address - at->start);
}

uint32_t gt_traced_stacks_node(struct gt_traced_stacks *s, const struct gt_modules *modules,
			       const uint64_t *addresses, size_t count)
{
	const struct gt_mapped *at = NULL;
	uint64_t frames[GT_PROBE_FRAMES];

	if (count > GT_PROBE_FRAMES)
		count = GT_PROBE_FRAMES;
	for (size_t i = 0; i < count; i++) {
		at = gt_modules_find_near(modules, at, addresses[i]);
		frames[i] = frame_in(at, addresses[i]);
	}
	return gt_stack_tree_add(&s->tree, frames, count);
}

uint32_t gt_traced_stacks_number(const struct gt_traced_stacks *s, uint32_t node)
{
	return node < s->number_count ? s->numbers[node] : 0;
}

static void remember(struct gt_traced_stacks *s, uint64_t key, uint32_t number)
{
	if (s->last > s->recent_count && s->recent_count < MOST_RECENT) {
		free(s->recent);
		s->recent_count = s->recent_count ? s->recent_count * 2 : FIRST_RECENT;
		s->recent = gt_alloc(s->recent_count * sizeof *s->recent);
	}
	s->recent[key & (s->recent_count - 1)] = (struct gt_recent_stack){ key, number };
}

void gt_traced_stacks_set(struct gt_traced_stacks *s, uint32_t node, uint64_t key, uint32_t number)
{
	size_t bytes;

	GT_REACH(s->numbers, s->number_count, node);
	GT_REACH(s->nodes, s->node_count, number);
	s->numbers[node] = number;
	s->nodes[number] = node;
	if (number > s->last)
		s->last = number;
	bytes = s->number_count * sizeof *s->numbers + s->node_count * sizeof *s->nodes;
	if (s->tree.budget)
		s->tree.budget->used_bytes += bytes - s->arrays_bytes;
	s->arrays_bytes = bytes;
	remember(s, key, number);
}

size_t gt_traced_stacks_get(const struct gt_traced_stacks *s, const struct gt_images *images,
			    uint32_t number, struct gt_traced_frame *frames, size_t most)
{
	uint64_t list[GT_PROBE_FRAMES];
	size_t count;

	if (number >= s->node_count)
		return 0;
	count = gt_stack_tree_get(&s->tree, s->nodes[number], list,
				  most < GT_PROBE_FRAMES ? most : GT_PROBE_FRAMES);
	for (size_t i = 0; i < count; i++) {
		uint64_t image = list[i] & NO_IMAGE ? 0 : list[i] >> OFFSET_BITS;

		frames[i] = (struct gt_traced_frame){ .address = list[i] };
		if (!image || image > images->count)
			continue;
		frames[i].image = images->list[image - 1];
		frames[i].address =
			frames[i].image->low + (list[i] & ((UINT64_C(1) << OFFSET_BITS) - 1));
	}
	return count;
}
