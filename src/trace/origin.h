/* SPDX-License-Identifier: MIT */
/*
 * origin.h - size, owner and place of creations, as a trace holds them: for writer and reader.
 *
 * Most creations by one function have the owner and the place of that function's last one, whatever
 * other functions created in between; most have no size. Such a creation takes one byte. Each block
 * starts afresh, so that it can be read by itself.
 */
#pragma once

#include <stdint.h>

#include "event/event.h"

/* What follows the byte of flags; otherwise the size is 0, owner and place are the origin's. */
enum { GT_HAS_SIZE = 1, GT_HAS_OWNER = 2, GT_HAS_PLACE = 4, GT_HAS_ALL = 7 };

enum { GT_ORIGINS = 32 };

/* The latest owner and place of a lane's creations, by the function's number. */
struct gt_origins {
	uint64_t owners[GT_ORIGINS];
	uint16_t places[GT_ORIGINS];
};

static inline unsigned gt_origin_of(uint64_t function_number)
{
	return (unsigned)(function_number % GT_ORIGINS);
}

/* When a block begins, whose header has this owner. */
static inline void gt_origins_begin(struct gt_origins *o, uint64_t owner)
{
	for (unsigned i = 0; i < GT_ORIGINS; i++) {
		o->owners[i] = owner;
		o->places[i] = 0;
	}
}
