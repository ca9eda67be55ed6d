/* SPDX-License-Identifier: MIT */
/* pool.h - memory for names and frames that lives as long as the symbolizer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_intern;
struct gt_symbol_chunk;

/* Starts zeroed. */
struct gt_symbol_pool {
	struct gt_symbol_chunk *chunk;
	struct gt_intern *numbers; /* of the strings */
	const char **strings;
	size_t string_count, string_room;
};

/* Zeroed, aligned for any type, freed with the pool. */
void *gt_symbol_pool_alloc(struct gt_symbol_pool *pool, size_t size_bytes);
/* The pool's own copy of `s`, the same pointer for equal strings. NULL gives NULL. */
const char *gt_symbol_pool_string(struct gt_symbol_pool *pool, const char *s);
void gt_symbol_pool_fini(struct gt_symbol_pool *pool);

/* From 64-bit keys to pointers. Starts zeroed. */
struct gt_symbol_map {
	struct gt_intern *keys;
	void **values;
	size_t count, room;
};

/* NULL when the key is not there. */
void *gt_symbol_map_get(struct gt_symbol_map *map, uint64_t key);
/* `value` is not NULL; an earlier value of the key is replaced. */
void gt_symbol_map_put(struct gt_symbol_map *map, uint64_t key, void *value);
void gt_symbol_map_fini(struct gt_symbol_map *map);
