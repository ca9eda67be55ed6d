/* SPDX-License-Identifier: MIT */
/* stack_tree.c - stacks as a tree of frames: stacks share the frames of their common callers. */
#include "trace/stack_tree.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_BUCKETS = 64 };

/* gt_intern would keep each key apart from its number, at three times the size. */
static size_t bucket_of(const struct gt_stack_tree *t, uint32_t parent, uint64_t frame)
{
	uint64_t h = (frame ^ (uint64_t)parent << 32 ^ parent) * 0x9e3779b97f4a7c15u;

	return (h ^ h >> 32) & (t->bucket_count - 1);
}

static uint32_t find(const struct gt_stack_tree *t, uint32_t parent, uint64_t frame)
{
	uint32_t at = t->bucket_count ? t->buckets[bucket_of(t, parent, frame)] : 0;

	while (at && (t->nodes[at].frame != frame || t->nodes[at].parent != parent))
		at = t->nodes[at].next;
	return at;
}

static size_t bytes_of(size_t nodes, size_t buckets)
{
	return nodes * sizeof(struct gt_stack_node) + buckets * sizeof(uint32_t);
}

size_t gt_stack_tree_bytes(const struct gt_stack_tree *t)
{
	return bytes_of(t->count, t->bucket_count);
}

void gt_stack_tree_fini(struct gt_stack_tree *t)
{
	if (t->budget)
		t->budget->used_bytes -= gt_stack_tree_bytes(t);
	free(t->nodes);
	free(t->buckets);
	*t = (struct gt_stack_tree){ .budget = t->budget };
}

/* Sets the number of buckets for so many nodes. */
static void spread(struct gt_stack_tree *t, size_t bucket_count)
{
	free(t->buckets);
	t->buckets = gt_alloc(bucket_count * sizeof *t->buckets);
	t->bucket_count = bucket_count;
	for (size_t i = 1; i < t->count; i++) {
		struct gt_stack_node *node = &t->nodes[i];
		uint32_t *bucket = &t->buckets[bucket_of(t, node->parent, node->frame)];

		node->next = *bucket;
		*bucket = (uint32_t)i;
	}
}

/* Takes memory for so many more nodes from the budget; false, and none, if it is used up. */
static bool reserve(struct gt_stack_tree *t, size_t more)
{
	size_t first = !t->count, count = t->count + first + more, buckets = t->bucket_count;
	size_t bytes;

	if (count > UINT32_MAX)
		return false;
	while (buckets < count)
		buckets = buckets ? buckets * 2 : FIRST_BUCKETS;
	bytes = bytes_of(count, buckets) - gt_stack_tree_bytes(t);
	if (t->budget && t->budget->limit_bytes &&
	    (t->budget->used_bytes > t->budget->limit_bytes ||
	     bytes > t->budget->limit_bytes - t->budget->used_bytes))
		return false;
	if (t->budget)
		t->budget->used_bytes += bytes;
	if (first) {
		GT_GROW(t->nodes, t->count, t->room);
		t->nodes[t->count++] = (struct gt_stack_node){ 0 };
	}
	if (buckets != t->bucket_count)
		spread(t, buckets);
	return true;
}

static uint32_t add(struct gt_stack_tree *t, uint32_t parent, uint64_t frame)
{
	uint32_t *bucket = &t->buckets[bucket_of(t, parent, frame)];

	GT_GROW(t->nodes, t->count, t->room);
	t->nodes[t->count] =
		(struct gt_stack_node){ .frame = frame, .parent = parent, .next = *bucket };
	*bucket = (uint32_t)t->count;
	return (uint32_t)t->count++;
}

uint32_t gt_stack_tree_add(struct gt_stack_tree *t, const uint64_t *frames, size_t count)
{
	uint32_t node = 0, next;

	while (count && (next = find(t, node, frames[count - 1]))) {
		node = next;
		count--;
	}
	if (count && !reserve(t, count)) {
		if (t->budget)
			t->budget->refused++;
		return 0;
	}
	while (count--)
		node = add(t, node, frames[count]);
	return node;
}

uint32_t gt_stack_tree_child(struct gt_stack_tree *t, uint32_t parent, uint64_t frame)
{
	uint32_t node = find(t, parent, frame);

	if (!node && reserve(t, 1))
		node = add(t, parent, frame);
	return node;
}

size_t gt_stack_tree_get(const struct gt_stack_tree *t, uint32_t node, uint64_t *frames,
			 size_t most)
{
	size_t count = 0;

	for (; node && count < most; node = t->nodes[node].parent)
		frames[count++] = t->nodes[node].frame;
	return count;
}
