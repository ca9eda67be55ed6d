/* SPDX-License-Identifier: MIT */
/* pool.c - an arena with interned strings, and a map from numbers to pointers. */
#include "symbol/pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_BYTES (64 * 1024)

struct gt_symbol_chunk {
	struct gt_symbol_chunk *older;
	size_t used, size;
	alignas(max_align_t) char bytes[];
};

struct gt_symbol_map_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

void *gt_symbol_pool_alloc(struct gt_symbol_pool *pool, size_t size_bytes)
{
	const size_t align = alignof(max_align_t);
	struct gt_symbol_chunk *chunk = pool->chunk;
	size_t need = (size_bytes + align - 1) / align * align;
	void *result;

	if (!chunk || chunk->size - chunk->used < need) {
		size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;

		chunk = gt_alloc(sizeof(*chunk) + size);
		chunk->older = pool->chunk;
		chunk->size = size;
		pool->chunk = chunk;
	}
	result = chunk->bytes + chunk->used;
	chunk->used += need;
	return result;
}

static uint64_t hash_string(const char *s)
{
	uint64_t hash = 0xcbf29ce484222325u;

	while (*s)
		hash = (hash ^ (unsigned char)*s++) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* Where `s` is, or where it would go: there is always a free slot. */
static const char **find_string(const char **strings, size_t slots, const char *s)
{
	size_t i = hash_string(s) & (slots - 1);

	while (strings[i] && strcmp(strings[i], s) != 0)
		i = (i + 1) & (slots - 1);
	return &strings[i];
}

static void grow_strings(struct gt_symbol_pool *pool)
{
	size_t slots = pool->string_slots ? 2 * pool->string_slots : 256;
	const char **strings = gt_alloc(slots * sizeof(*strings));

	for (size_t i = 0; i < pool->string_slots; i++)
		if (pool->strings[i])
			*find_string(strings, slots, pool->strings[i]) = pool->strings[i];
	free(pool->strings);
	pool->strings = strings;
	pool->string_slots = slots;
}

const char *gt_symbol_pool_string(struct gt_symbol_pool *pool, const char *s)
{
	const char **slot;

	if (!s)
		return NULL;
	if (2 * pool->string_count >= pool->string_slots)
		grow_strings(pool);
	slot = find_string(pool->strings, pool->string_slots, s);
	if (!*slot) {
		size_t size = strlen(s) + 1;

		*slot = memcpy(gt_symbol_pool_alloc(pool, size), s, size);
		pool->string_count++;
	}
	return *slot;
}

void gt_symbol_pool_fini(struct gt_symbol_pool *pool)
{
	while (pool->chunk) {
		struct gt_symbol_chunk *chunk = pool->chunk;

		pool->chunk = chunk->older;
		free(chunk);
	}
	free(pool->strings);
	memset(pool, 0, sizeof(*pool));
}

static struct gt_symbol_map_slot *find_key(const struct gt_symbol_map *map, uint64_t key)
{
	size_t mask = map->slot_count - 1;
	size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & mask;

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & mask;
	return &map->slots[i];
}

void *gt_symbol_map_get(const struct gt_symbol_map *map, uint64_t key)
{
	return map->slot_count ? find_key(map, key)->value : NULL;
}

static void grow_map(struct gt_symbol_map *map)
{
	struct gt_symbol_map old = *map;

	map->slot_count = old.slot_count ? 2 * old.slot_count : 64;
	map->slots = gt_alloc(map->slot_count * sizeof(*map->slots));
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].value)
			*find_key(map, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

void gt_symbol_map_put(struct gt_symbol_map *map, uint64_t key, void *value)
{
	struct gt_symbol_map_slot *slot;

	if (2 * map->count >= map->slot_count)
		grow_map(map);
	slot = find_key(map, key);
	if (!slot->value)
		map->count++;
	slot->key = key;
	slot->value = value;
}

void gt_symbol_map_fini(struct gt_symbol_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}
