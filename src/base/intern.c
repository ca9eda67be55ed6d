/* SPDX-License-Identifier: MIT */
/* intern.c - gives equal byte strings the same number, counting from 0. */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

struct item {
	uint64_t hash;
	size_t offset, size;
};

struct gt_intern {
	struct item *items;
	size_t count, room;
	uint8_t *data;
	size_t used, size;
	uint32_t *slots; /* item + 1; 0: free */
	size_t mask;
};

struct gt_intern *gt_intern_new(void)
{
	struct gt_intern *in = gt_alloc(sizeof *in);

	in->mask = 255;
	in->slots = gt_alloc((in->mask + 1) * sizeof *in->slots);
	in->size = 256;
	in->data = gt_alloc(in->size); /* empty strings have an address too */
	return in;
}

void gt_intern_free(struct gt_intern *in)
{
	if (!in)
		return;
	free(in->items);
	free(in->data);
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

static uint32_t add(struct gt_intern *in, uint64_t hash, const void *bytes, size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7;

	if (in->used + padded > in->size) {
		in->size = (in->used + padded) * 2;
		in->data = gt_realloc(in->data, in->size);
	}
	if (size)
		memcpy(in->data + in->used, bytes, size);
	GT_GROW(in->items, in->count, in->room);
	in->items[in->count] = (struct item){ .hash = hash, .offset = in->used, .size = size };
	in->used += padded;
	return (uint32_t)in->count++;
}

uint32_t gt_intern(struct gt_intern *in, const void *bytes, size_t size)
{
	uint64_t hash = gt_hash_bytes(bytes, size);
	size_t at;

	if ((in->count + 1) * 2 > in->mask)
		grow_slots(in);
	for (at = hash & in->mask; in->slots[at]; at = (at + 1) & in->mask) {
		const struct item *item = &in->items[in->slots[at] - 1];

		if (item->hash == hash && item->size == size &&
		    (!size || !memcmp(in->data + item->offset, bytes, size)))
			return in->slots[at] - 1;
	}
	in->slots[at] = (uint32_t)in->count + 1;
	return add(in, hash, bytes, size);
}

const void *gt_intern_get(const struct gt_intern *in, uint32_t number, size_t *size)
{
	*size = in->items[number].size;
	return in->data + in->items[number].offset;
}

size_t gt_intern_count(const struct gt_intern *in)
{
	return in->count;
}
