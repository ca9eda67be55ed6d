/* SPDX-License-Identifier: MIT */
/* containers.c - an arena, interned bytes, a map, a heap that merges streams, address ranges. */
#include "base/containers.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { FIRST_CHUNK = 1 << 10, CHUNK_MAX = 1 << 16 };

struct gt_arena_chunk {
	struct gt_arena_chunk *older;
	size_t used, size;
	uint64_t bytes[];
};

void *gt_arena_alloc(struct gt_arena *a, size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7, room = a->chunk ? 2 * a->chunk->size : FIRST_CHUNK;
	struct gt_arena_chunk *chunk = a->chunk;

	if (!chunk || chunk->size - chunk->used < padded) {
		room = room < CHUNK_MAX ? room : CHUNK_MAX;
		room = room > padded ? room : padded;
		chunk = gt_alloc(sizeof *chunk + room);
		chunk->older = a->chunk;
		chunk->size = room;
		a->chunk = chunk;
	}
	chunk->used += padded;
	return (uint8_t *)chunk->bytes + chunk->used - padded;
}

void gt_arena_fini(struct gt_arena *a)
{
	for (struct gt_arena_chunk *chunk = a->chunk, *older; chunk; chunk = older) {
		older = chunk->older;
		free(chunk);
	}
	a->chunk = NULL;
}

struct item {
	uint64_t hash;
	const void *bytes;
	size_t size;
};

struct gt_intern {
	struct item *items;
	size_t count, room;
	struct gt_arena arena;
	uint32_t *slots; /* item + 1; 0: free */
	size_t mask;
};

struct gt_intern *gt_intern_new(void)
{
	struct gt_intern *in = gt_alloc(sizeof *in);

	in->mask = 255;
	in->slots = gt_alloc((in->mask + 1) * sizeof *in->slots);
	return in;
}

void gt_intern_free(struct gt_intern *in)
{
	if (!in)
		return;
	free(in->items);
	gt_arena_fini(&in->arena);
	free(in->slots);
	free(in);
}

static void grow_slots(struct gt_intern *in)
{
	free(in->slots);
	in->mask = in->mask * 2 + 1;
	in->slots = gt_alloc((in->mask + 1) * sizeof *in->slots);
	for (size_t i = 0; i < in->count; i++) {
		size_t at = in->items[i].hash & in->mask;

		while (in->slots[at])
			at = (at + 1) & in->mask;
		in->slots[at] = (uint32_t)i + 1;
	}
}

/* The slot that holds these bytes, or the free one where they belong. */
static size_t slot_of(const struct gt_intern *in, uint64_t hash, const void *bytes, size_t size)
{
	size_t at = hash & in->mask;

	for (; in->slots[at]; at = (at + 1) & in->mask) {
		const struct item *item = &in->items[in->slots[at] - 1];

		if (item->hash == hash && item->size == size &&
		    (!size || !memcmp(item->bytes, bytes, size)))
			break;
	}
	return at;
}

uint32_t gt_intern(struct gt_intern *in, const void *bytes, size_t size)
{
	uint64_t hash = gt_hash_bytes(bytes, size);
	void *copy;
	size_t at;

	if ((in->count + 1) * 2 > in->mask)
		grow_slots(in);
	at = slot_of(in, hash, bytes, size);
	if (in->slots[at])
		return in->slots[at] - 1;
	in->slots[at] = (uint32_t)in->count + 1;
	copy = gt_arena_alloc(&in->arena, size);
	if (size)
		memcpy(copy, bytes, size);
	GT_GROW(in->items, in->count, in->room);
	in->items[in->count] = (struct item){ .hash = hash, .bytes = copy, .size = size };
	return (uint32_t)in->count++;
}

const char *gt_intern_string(struct gt_intern *in, const char *text)
{
	uint32_t number = gt_intern(in, text, strlen(text) + 1);

	return in->items[number].bytes;
}

uint32_t gt_intern_find(const struct gt_intern *in, const void *bytes, size_t size)
{
	/* a free slot holds 0, which becomes GT_NOT_INTERNED */
	return in->slots[slot_of(in, gt_hash_bytes(bytes, size), bytes, size)] - 1;
}

const void *gt_intern_get(const struct gt_intern *in, uint32_t number, size_t *size)
{
	*size = in->items[number].size;
	return in->items[number].bytes;
}

size_t gt_intern_count(const struct gt_intern *in)
{
	return in->count;
}

void **gt_map_at(struct gt_map *map, uint64_t key)
{
	size_t number;

	if (!map->keys)
		map->keys = gt_intern_new();
	number = gt_intern(map->keys, &key, sizeof key);
	if (number == map->count) {
		GT_GROW(map->values, map->count, map->room);
		map->values[map->count++] = NULL;
	}
	return &map->values[number];
}

void **gt_map_find(const struct gt_map *map, uint64_t key)
{
	uint32_t number = map->keys ? gt_intern_find(map->keys, &key, sizeof key) : GT_NOT_INTERNED;

	return number == GT_NOT_INTERNED ? NULL : &map->values[number];
}

void gt_map_fini(struct gt_map *map)
{
	gt_intern_free(map->keys);
	free(map->values);
	*map = (struct gt_map){ 0 };
}

static bool item_before(const struct gt_heap_item *a, const struct gt_heap_item *b)
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
	for (; i && item_before(&h->items[i], &h->items[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&h->items[i], &h->items[(i - 1) / 2]);
}

/*
 * Moves the first item down to where it belongs. Items are copied as they were written, member by
 * member: a processor that loads 16 bytes which two stores wrote waits until both have reached the
 * cache, behind all stores before them.
 */
static void sift_down(struct gt_heap *h)
{
	struct gt_heap_item *items = h->items;
	struct gt_heap_item moved = { .key = items[0].key, .item = items[0].item };
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
		if (child + 1 < h->count && item_before(&items[child + 1], &items[child]))
			child++;
		if (!item_before(&items[child], &moved))
			break;
		items[i].key = items[child].key;
		items[i].item = items[child].item;
	}
	items[i].key = moved.key;
	items[i].item = moved.item;
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

struct piece {
	uint64_t first, last; /* inclusive, so that the last address of all fits */
	uint32_t owner;
};

/* Pieces that overlap compare equal: a search for a range finds any piece in its way. */
static int by_address(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->last < y->first ? -1 : x->first > y->last;
}

static void add_piece(struct gt_ranges *r, uint64_t first, uint64_t last, uint32_t owner)
{
	struct piece *piece = gt_alloc(sizeof *piece);

	*piece = (struct piece){ .first = first, .last = last, .owner = owner };
	gt_memory_check(tsearch(piece, &r->pieces, by_address));
}

void gt_ranges_put(struct gt_ranges *r, uint64_t start, uint64_t size, uint32_t owner)
{
	struct piece range = { .first = start, .last = start + size - 1 };
	struct piece **found;

	if (!size)
		return;
	if (range.last < range.first)
		range.last = UINT64_MAX;
	while ((found = tfind(&range, &r->pieces, by_address))) {
		struct piece *below = *found;

		tdelete(below, &r->pieces, by_address);
		if (below->first < range.first)
			add_piece(r, below->first, range.first - 1, below->owner);
		if (below->last > range.last)
			add_piece(r, range.last + 1, below->last, below->owner);
		free(below);
	}
	add_piece(r, range.first, range.last, owner);
}

bool gt_ranges_find(const struct gt_ranges *r, uint64_t address, uint32_t *owner)
{
	struct piece wanted = { .first = address, .last = address };
	struct piece **found = tfind(&wanted, &r->pieces, by_address);

	if (found)
		*owner = (*found)->owner;
	return found;
}

void gt_ranges_fini(struct gt_ranges *r)
{
	tdestroy(r->pieces, free);
	r->pieces = NULL;
}
