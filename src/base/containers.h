/* SPDX-License-Identifier: MIT */
/* containers.h - interned byte strings, a heap that merges streams, layered address ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Byte strings by number: equal ones have the same number, counting from 0. */
struct gt_intern;

#define GT_NOT_INTERNED UINT32_MAX

struct gt_intern *gt_intern_new(void);
void gt_intern_free(struct gt_intern *in);

/* The number of these bytes, which are copied when they are new. */
uint32_t gt_intern(struct gt_intern *in, const void *bytes, size_t size);
/* The number of these bytes, or GT_NOT_INTERNED. */
uint32_t gt_intern_find(const struct gt_intern *in, const void *bytes, size_t size);
/* Borrowed until the next gt_intern call. Aligned for 64-bit words. */
const void *gt_intern_get(const struct gt_intern *in, uint32_t number, size_t *size);
size_t gt_intern_count(const struct gt_intern *in);

/* Items by key, the smallest first, equal keys by item: merges streams. */
struct gt_heap_item {
	uint64_t key;
	uint32_t item;
};

struct gt_heap {
	struct gt_heap_item *items; /* items[0] is the smallest */
	size_t count, room;
};

void gt_heap_push(struct gt_heap *h, uint64_t key, uint32_t item);
/* Gives the first item a new key. */
void gt_heap_rekey(struct gt_heap *h, uint64_t key);
void gt_heap_pop(struct gt_heap *h);
void gt_heap_fini(struct gt_heap *h);

/*
 * Address ranges, each of which covers what was put there before: which one is on top at an
 * address? Finding takes logarithmic time, and so does putting on average.
 */
struct gt_ranges {
	void *pieces; /* a tree of pieces that do not overlap */
};

/* An empty range changes nothing; a range that would wrap around ends at the last address. */
void gt_ranges_put(struct gt_ranges *r, uint64_t start, uint64_t size, uint32_t owner);
/* False when no range covers the address. */
bool gt_ranges_find(const struct gt_ranges *r, uint64_t address, uint32_t *owner);
void gt_ranges_fini(struct gt_ranges *r);
