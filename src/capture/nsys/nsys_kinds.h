/* SPDX-License-Identifier: MIT */
/* nsys_kinds.h - Nsight's numbers for kinds of memory and operations, as rows of our table. */
#pragma once

#include <stdbool.h>

#include "api/functions.h"

enum { GT_NSYS_KINDS = 8, GT_NSYS_ENUM_MAX = 64 };

enum gt_nsys_operation { GT_NSYS_ALLOCATION, GT_NSYS_DEALLOCATION, GT_NSYS_NEITHER };
enum gt_nsys_pool { GT_NSYS_POOL_CREATED, GT_NSYS_POOL_DESTROYED, GT_NSYS_POOL_OTHER };

/* How an export numbers things: built in, unless the export has tables of its own. */
struct gt_nsys_enums {
	uint8_t kinds[GT_NSYS_ENUM_MAX];      /* number -> Nsight's kind, 0 to 7 */
	uint8_t operations[GT_NSYS_ENUM_MAX]; /* -> enum gt_nsys_operation */
	uint8_t pools[GT_NSYS_ENUM_MAX];      /* -> enum gt_nsys_pool */
};

/* Which of the three an enum table is for. */
enum gt_nsys_enum { GT_NSYS_ENUM_KIND, GT_NSYS_ENUM_OPERATION, GT_NSYS_ENUM_POOL };

void gt_nsys_enums_init(struct gt_nsys_enums *enums);
/* Takes one row of an enum table over: its number and its name. Unknown names change nothing. */
void gt_nsys_enums_set(struct gt_nsys_enums *enums, enum gt_nsys_enum which, int64_t number,
		       const char *name);

/* The row for an operation on memory; GT_FN_NONE for an operation that is neither. */
enum gt_function_id gt_nsys_memory_row(const struct gt_nsys_enums *enums, int64_t kind,
				       int64_t operation);
/* … and on a pool. */
enum gt_function_id gt_nsys_pool_row(const struct gt_nsys_enums *enums, int64_t operation);

/* Parts of a global id: hardware 8 bits, VM 8, process 24, thread 24. */
static inline uint32_t gt_nsys_pid(int64_t global)
{
	return (uint32_t)((uint64_t)global >> 24) & 0xffffff;
}

static inline uint32_t gt_nsys_tid(int64_t global)
{
	return (uint32_t)global & 0xffffff;
}

/* What tells processes apart: the global id without its thread. */
static inline uint64_t gt_nsys_process(int64_t global)
{
	return (uint64_t)global >> 24;
}
