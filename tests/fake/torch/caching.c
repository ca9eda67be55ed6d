/* SPDX-License-Identifier: MIT */
/* caching.c - a caching allocator like PyTorch's, over a driver that the user gives. */
#include "caching.h"

#include <stdlib.h>

static bool overlap(const struct caching_range *a, uint64_t address, uint64_t size)
{
	return a->address < address + size && address < a->address + a->size;
}

static bool is_free(const struct caching *c, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < c->block_count; i++)
		if (overlap(&c->blocks[i], address, size))
			return false;
	return true;
}

/* Bytes of a pool from this address on without a gap, in one allocation or in adjacent pieces. */
static uint64_t extent_from(const struct caching *c, int pool, uint64_t address)
{
	uint64_t end = address;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < c->segment_count && !more; i++) {
			const struct caching_range *s = &c->segments[i];

			more = s->pool == pool && s->address <= end && end < s->address + s->size &&
			       (end == address || c->expandable);
			end = more ? s->address + s->size : end;
		}
	}
	return end - address;
}

/* Blocks begin where a segment does, or where another block ends. */
static uint64_t find_place(const struct caching *c, int pool, uint64_t size)
{
	uint64_t best = 0;

	for (size_t i = 0; i < c->segment_count + c->block_count; i++) {
		const struct caching_range *r =
			i < c->segment_count ? &c->segments[i] : &c->blocks[i - c->segment_count];
		uint64_t at = i < c->segment_count ? r->address : r->address + r->size;

		if (r->pool == pool && (!best || at < best) && is_free(c, at, size) &&
		    extent_from(c, pool, at) >= size)
			best = at;
	}
	return best;
}

static bool add_segment(struct caching *c, uint64_t address, uint64_t size, int pool)
{
	if (!address || c->segment_count == CACHING_MAX)
		return false;
	c->segments[c->segment_count++] = (struct caching_range){ address, size, pool };
	c->reserved += size;
	return true;
}

static bool is_mapped(const struct caching *c, uint64_t piece)
{
	for (size_t i = 0; i < c->segment_count; i++)
		if (c->segments[i].address == piece)
			return true;
	return false;
}

/* The first place of a reservation that is long enough, mapped or not; 0: there is none. */
static uint64_t find_unmapped(const struct caching *c, int pool, uint64_t size)
{
	uint64_t first = c->reservation[pool], end = first + CACHING_RESERVED, best = 0;

	if (first && is_free(c, first, size))
		return first;
	for (size_t i = 0; i < c->block_count; i++) {
		uint64_t at = c->blocks[i].address + c->blocks[i].size;

		if (c->blocks[i].pool == pool && (!best || at < best) && at + size <= end &&
		    is_free(c, at, size))
			best = at;
	}
	return best;
}

static bool expand(struct caching *c, int pool, uint64_t size)
{
	uint64_t from;

	if (!c->reservation[pool])
		c->reservation[pool] = c->driver.reserve(c->driver.context, CACHING_RESERVED);
	from = find_unmapped(c, pool, size);
	for (uint64_t piece = from - (from - c->reservation[pool]) % CACHING_PIECE;
	     from && piece < from + size; piece += CACHING_PIECE) {
		if (is_mapped(c, piece))
			continue;
		c->driver.map(c->driver.context, piece, CACHING_PIECE);
		if (!add_segment(c, piece, CACHING_PIECE, pool))
			return false;
	}
	return from;
}

static bool grow(struct caching *c, int pool, uint64_t size)
{
	uint64_t whole = size <= 1 << 20 ? 2 << 20 : (size + (8 << 20) - 1) / (8 << 20) * (8 << 20);

	if (c->expandable)
		return expand(c, pool, size);
	return add_segment(c, c->driver.allocate(c->driver.context, whole), whole, pool);
}

uint64_t caching_malloc(struct caching *c, int pool, uint64_t size)
{
	uint64_t at;

	size = (size + CACHING_ROUND - 1) / CACHING_ROUND * CACHING_ROUND;
	if (c->block_count == CACHING_MAX)
		return 0;
	at = find_place(c, pool, size);
	if (!at && grow(c, pool, size))
		at = find_place(c, pool, size);
	if (!at)
		return 0;
	c->blocks[c->block_count++] = (struct caching_range){ at, size, pool };
	c->allocated += size;
	c->driver.report(c->driver.context, at, (int64_t)size, c->allocated, c->reserved);
	return at;
}

void caching_free(struct caching *c, size_t block)
{
	struct caching_range gone = c->blocks[block];

	c->blocks[block] = c->blocks[--c->block_count];
	c->allocated -= gone.size;
	c->driver.report(c->driver.context, gone.address, -(int64_t)gone.size, c->allocated,
			 c->reserved);
}

void caching_trim(struct caching *c)
{
	for (size_t i = 0; i < c->segment_count;) {
		struct caching_range s = c->segments[i];

		if (!is_free(c, s.address, s.size)) {
			i++;
			continue;
		}
		c->segments[i] = c->segments[--c->segment_count];
		c->reserved -= s.size;
		if (c->expandable)
			c->driver.unmap(c->driver.context, s.address, s.size);
		else
			c->driver.free(c->driver.context, s.address);
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t caching_fragmented(const struct caching *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->segment_count; i++) {
		const struct caching_range *s = &c->segments[i];
		uint64_t cached = s->size;

		if (is_free(c, s->address, s->size))
			continue;
		for (size_t k = 0; k < c->block_count; k++) {
			const struct caching_range *b = &c->blocks[k];
			uint64_t from = b->address > s->address ? b->address : s->address;
			uint64_t to = least(b->address + b->size, s->address + s->size);

			cached -= from < to ? to - from : 0;
		}
		sum += cached;
	}
	return sum;
}

uint64_t caching_largest_free(const struct caching *c)
{
	uint64_t most = 0;

	for (size_t i = 0; i < c->segment_count + c->block_count; i++) {
		const struct caching_range *r =
			i < c->segment_count ? &c->segments[i] : &c->blocks[i - c->segment_count];
		uint64_t at = i < c->segment_count ? r->address : r->address + r->size;
		uint64_t size = extent_from(c, r->pool, at);

		for (size_t k = 0; k < c->block_count; k++)
			if (c->blocks[k].address >= at)
				size = least(size, c->blocks[k].address - at);
			else if (c->blocks[k].address + c->blocks[k].size > at)
				size = 0;
		if (size > most)
			most = size;
	}
	return most;
}
