/* SPDX-License-Identifier: MIT */
/* address_set.c - addresses, each with a small state, that come and go by the million. */
#include "capture/snapshot/address_set.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { FIRST = 1024 };

static size_t home_of(const struct gt_address_set *s, uint64_t address)
{
	return gt_mix64(address) & (s->size - 1);
}

uint8_t *gt_address_set_find(const struct gt_address_set *s, uint64_t address)
{
	if (!s->size || !address)
		return NULL;
	for (size_t i = home_of(s, address); s->addresses[i]; i = (i + 1) & (s->size - 1))
		if (s->addresses[i] == address)
			return &s->states[i];
	return NULL;
}

static void insert(struct gt_address_set *s, uint64_t address, uint8_t state)
{
	size_t i = home_of(s, address);

	while (s->addresses[i])
		i = (i + 1) & (s->size - 1);
	s->addresses[i] = address;
	s->states[i] = state;
}

static void grow(struct gt_address_set *s)
{
	struct gt_address_set old = *s;

	s->size = old.size ? old.size * 2 : FIRST;
	s->addresses = gt_alloc(s->size * sizeof *s->addresses);
	s->states = gt_alloc(s->size);
	for (size_t i = 0; i < old.size; i++)
		if (old.addresses[i])
			insert(s, old.addresses[i], old.states[i]);
	gt_address_set_fini(&old);
}

void gt_address_set_add(struct gt_address_set *s, uint64_t address, uint8_t state)
{
	if (s->count * 2 >= s->size)
		grow(s);
	insert(s, address, state);
	s->count++;
}

/* Closes the gap, so that no marks of removed entries are needed. */
void gt_address_set_remove(struct gt_address_set *s, const uint8_t *state)
{
	size_t hole = (size_t)(state - s->states), mask = s->size - 1;

	for (size_t i = (hole + 1) & mask; s->addresses[i]; i = (i + 1) & mask) {
		size_t home = home_of(s, s->addresses[i]);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		s->addresses[hole] = s->addresses[i];
		s->states[hole] = s->states[i];
		hole = i;
	}
	s->addresses[hole] = 0;
	s->count--;
}

void gt_address_set_fini(struct gt_address_set *s)
{
	free(s->addresses);
	free(s->states);
}
