/* SPDX-License-Identifier: MIT */
/*
 * caching.h - a caching allocator like PyTorch's, over a driver and a report that the user gives.
 *
 * Small and slow: every answer is found by looking at all blocks, so that it can be trusted where
 * ours is compared with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CACHING_POOLS = 4, /* 0: the default one; the others belong to graphs */
	CACHING_PIECE = 2 << 20,
	CACHING_RESERVED = 256 << 20, /* addresses of an expandable segment */
	CACHING_ROUND = 512,
	CACHING_MAX = 4096,
};

struct caching_driver {
	uint64_t (*allocate)(void *context, uint64_t size);
	void (*free)(void *context, uint64_t address);
	/* of an expandable segment: its addresses, and memory for a piece of them */
	uint64_t (*reserve)(void *context, uint64_t size);
	void (*map)(void *context, uint64_t address, uint64_t size);
	void (*unmap)(void *context, uint64_t address, uint64_t size);
	/* a block was given out, or, with a negative size, taken back */
	void (*report)(void *context, uint64_t address, int64_t size, uint64_t allocated,
		       uint64_t reserved);
	void *context;
};

struct caching_range {
	uint64_t address, size;
	int pool;
};

struct caching {
	struct caching_driver driver;
	bool expandable;
	uint64_t reservation[CACHING_POOLS];
	struct caching_range segments[CACHING_MAX], blocks[CACHING_MAX];
	size_t segment_count, block_count;
	uint64_t allocated, reserved;
};

/* 0: the limits above are reached. */
uint64_t caching_malloc(struct caching *c, int pool, uint64_t size);
void caching_free(struct caching *c, size_t block);
/* Gives back every segment without a block. */
void caching_trim(struct caching *c);

/* Cached bytes in segments with a block, and the largest piece in which a block could lie. */
uint64_t caching_fragmented(const struct caching *c);
uint64_t caching_largest_free(const struct caching *c);
