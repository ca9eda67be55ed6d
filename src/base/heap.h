/* SPDX-License-Identifier: MIT */
/* heap.h - merges streams: items by key, the smallest first, equal keys by item. For the tool. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_heap_item {
	uint64_t key;
	uint32_t item;
};

struct gt_heap {
	struct gt_heap_item *items; /* items[0] is the smallest */
	size_t count, room;
};

void gt_heap_push(struct gt_heap *h, uint64_t key, uint32_t item);
/* The first item has a new key. */
void gt_heap_rekey(struct gt_heap *h, uint64_t key);
void gt_heap_pop(struct gt_heap *h);
void gt_heap_fini(struct gt_heap *h);
