/* SPDX-License-Identifier: MIT */
/* heap.c - merges streams: items by key, the smallest first. */
#include "base/heap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

static bool before(const struct gt_heap_item *a, const struct gt_heap_item *b)
{
	return a->key != b->key ? a->key < b->key : a->item < b->item;
}

static void swap(struct gt_heap_item *a, struct gt_heap_item *b)
{
	struct gt_heap_item old = *a;

	*a = *b;
	*b = old;
}

void gt_heap_push(struct gt_heap *h, uint64_t key, uint32_t item)
{
	size_t i = h->count;

	GT_GROW(h->items, h->count, h->room);
	h->items[h->count++] = (struct gt_heap_item){ .key = key, .item = item };
	for (; i && before(&h->items[i], &h->items[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&h->items[i], &h->items[(i - 1) / 2]);
}

static void sift_down(struct gt_heap *h)
{
	for (size_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
		if (child + 1 < h->count && before(&h->items[child + 1], &h->items[child]))
			child++;
		if (!before(&h->items[child], &h->items[i]))
			return;
		swap(&h->items[i], &h->items[child]);
	}
}

void gt_heap_rekey(struct gt_heap *h, uint64_t key)
{
	h->items[0].key = key;
	sift_down(h);
}

void gt_heap_pop(struct gt_heap *h)
{
	h->items[0] = h->items[--h->count];
	sift_down(h);
}

void gt_heap_fini(struct gt_heap *h)
{
	free(h->items);
	*h = (struct gt_heap){ 0 };
}
