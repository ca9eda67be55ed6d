/* SPDX-License-Identifier: MIT */
/*
 * address_set.h - addresses, each with a small state, that come and go by the million.
 *
 * A hash table of its own because gt_intern forgets nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_address_set {
	uint64_t *addresses; /* 0: free */
	uint8_t *states;
	size_t count, size; /* size: a power of two, or 0 */
};

/* The state of an address, for the caller to change; NULL: it is not in the set. */
uint8_t *gt_address_set_find(const struct gt_address_set *s, uint64_t address);
/* `address`: not 0, and not in the set yet. */
void gt_address_set_add(struct gt_address_set *s, uint64_t address, uint8_t state);
/* `state`: what gt_address_set_find returned. */
void gt_address_set_remove(struct gt_address_set *s, const uint8_t *state);
void gt_address_set_fini(struct gt_address_set *s);
