/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - which of many ranges of addresses was laid last over an address. For the tool.
 *
 * What is laid over others hides them for good. Both cost the logarithm of what was laid before,
 * putting on average.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_ranges {
	void *pieces; /* a tree of pieces that do not overlap */
};

/* `size` may be 0, which is nothing; what would lie behind the last address is left out. */
void gt_ranges_put(struct gt_ranges *r, uint64_t start, uint64_t size, uint32_t owner);
/* False when nothing was ever laid there. */
bool gt_ranges_find(const struct gt_ranges *r, uint64_t address, uint32_t *owner);
void gt_ranges_fini(struct gt_ranges *r);
