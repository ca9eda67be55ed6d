/* SPDX-License-Identifier: MIT */
/* containers.h - an arena, interned bytes, a map, a heap that merges streams, address ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that is freed all at once. Zeroed is empty. */
struct gt_arena {
	struct gt_arena_chunk *chunk;
};

/* Zeroed; aligned for pointers and 64-bit words. */
void *gt_arena_alloc(struct gt_arena *a, size_t size);
void gt_arena_fini(struct gt_arena *a);

/*
 * Byte strings by number: equal ones have the same number, counting from 0. This is the tool's hash
 * table; the few others say why they are not this one.
 */
struct gt_intern;

#define GT_NOT_INTERNED UINT32_MAX

struct gt_intern *gt_intern_new(void);
void gt_intern_free(struct gt_intern *in);

/* The number of these bytes, which are copied when they are new. */
uint32_t gt_intern(struct gt_intern *in, const void *bytes, size_t size);
/* The number of these bytes, or GT_NOT_INTERNED. */
uint32_t gt_intern_find(const struct gt_intern *in, const void *bytes, size_t size);
/* The one copy of a text, borrowed until gt_intern_free. */
const char *gt_intern_string(struct gt_intern *in, const char *text);
/* The bytes of a number, borrowed until gt_intern_free. Aligned for 64-bit words. */
const void *gt_intern_get(const struct gt_intern *in, uint32_t number, size_t *size);
size_t gt_intern_count(const struct gt_intern *in);

/* From 64-bit keys to pointers. Zeroed is empty. */
struct gt_map {
	struct gt_intern *keys;
	void **values;
	size_t count, room;
};

/* The value of a key, for the caller to read or set; NULL at first. Good until the next call. */
void **gt_map_at(struct gt_map *map, uint64_t key);
/* … NULL where it has none. */
void **gt_map_find(const struct gt_map *map, uint64_t key);
void gt_map_fini(struct gt_map *map);

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
 * Address ranges. A new range hides the parts of older ones that it overlaps. Look-up takes
 * logarithmic time, and so does insertion on average.
 */
struct gt_ranges {
	void *pieces; /* a tree of pieces that do not overlap */
};

/* An empty range changes nothing; a range that would wrap around ends at the last address. */
void gt_ranges_put(struct gt_ranges *r, uint64_t start, uint64_t size, uint32_t owner);
/* False when no range covers the address. */
bool gt_ranges_find(const struct gt_ranges *r, uint64_t address, uint32_t *owner);
void gt_ranges_fini(struct gt_ranges *r);
