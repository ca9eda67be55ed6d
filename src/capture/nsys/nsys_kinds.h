/* SPDX-License-Identifier: MIT */
/* nsys_kinds.h - Nsight's numbers for kinds of memory and operations, as rows of our table. */
#pragma once

#include <stdbool.h>

#include "api/functions.h"

enum { GT_NSYS_KINDS = 8, GT_NSYS_ENUM_MAX = 64 };

enum gt_nsys_operation { GT_NSYS_ALLOCATION, GT_NSYS_DEALLOCATION, GT_NSYS_NEITHER };
enum gt_nsys_pool { GT_NSYS_POOL_CREATED, GT_NSYS_POOL_DESTROYED, GT_NSYS_POOL_OTHER };

enum gt_nsys_enum {
	GT_NSYS_ENUM_KIND,      /* of memory, 0 to 7 */
	GT_NSYS_ENUM_OPERATION, /* enum gt_nsys_operation */
	GT_NSYS_ENUM_POOL,      /* enum gt_nsys_pool */
	GT_NSYS_ENUM_COUNT
};

/* The numbers of an export's enums: built in, unless the export has tables for them. */
struct gt_nsys_enums {
	uint8_t values[GT_NSYS_ENUM_COUNT][GT_NSYS_ENUM_MAX]; /* by the export's number */
};

void gt_nsys_enums_init(struct gt_nsys_enums *enums);
/* Applies a row of an enum table, number and name. Ignores unknown names. */
void gt_nsys_enums_set(struct gt_nsys_enums *enums, enum gt_nsys_enum which, int64_t number,
		       const char *name);

/* Our row for an operation on memory; GT_FN_NONE if it is neither allocation nor deallocation. */
enum gt_function_id gt_nsys_memory_row(const struct gt_nsys_enums *enums, int64_t kind,
				       int64_t operation);
/* Our row for an operation on a pool; GT_FN_NONE for others than creation and destruction. */
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

/* Identifies a process: the global id without its thread. */
static inline uint64_t gt_nsys_process(int64_t global)
{
	return (uint64_t)global >> 24;
}
