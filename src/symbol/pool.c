/* SPDX-License-Identifier: MIT */
/* pool.c - an arena with interned strings, and a map from numbers to pointers. */
#include "symbol/pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"

#define CHUNK_BYTES (64 * 1024)

struct gt_symbol_chunk {
	struct gt_symbol_chunk *older;
	size_t used, size;
	alignas(max_align_t) char bytes[];
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

const char *gt_symbol_pool_string(struct gt_symbol_pool *pool, const char *s)
{
	size_t size, number;

	if (!s)
		return NULL;
	size = strlen(s) + 1;
	if (!pool->numbers)
		pool->numbers = gt_intern_new();
	number = gt_intern(pool->numbers, s, size);
	if (number == pool->string_count) {
		/* a copy of our own: interned bytes move */
		GT_GROW(pool->strings, pool->string_count, pool->string_room);
		pool->strings[pool->string_count++] =
			memcpy(gt_symbol_pool_alloc(pool, size), s, size);
	}
	return pool->strings[number];
}

void gt_symbol_pool_fini(struct gt_symbol_pool *pool)
{
	while (pool->chunk) {
		struct gt_symbol_chunk *chunk = pool->chunk;

		pool->chunk = chunk->older;
		free(chunk);
	}
	gt_intern_free(pool->numbers);
	free(pool->strings);
	memset(pool, 0, sizeof(*pool));
}

static void **value_at(struct gt_symbol_map *map, uint64_t key)
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

void *gt_symbol_map_get(struct gt_symbol_map *map, uint64_t key)
{
	return *value_at(map, key);
}

void gt_symbol_map_put(struct gt_symbol_map *map, uint64_t key, void *value)
{
	*value_at(map, key) = value;
}

void gt_symbol_map_fini(struct gt_symbol_map *map)
{
	gt_intern_free(map->keys);
	free(map->values);
	memset(map, 0, sizeof(*map));
}
