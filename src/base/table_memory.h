/* SPDX-License-Identifier: MIT */
/*
 * table_memory.h - memory for tables that the tool and the traced process have in common.
 *
 * The tool's is malloc's. In the traced process it is guest/heap.c's: a signal handler that makes a
 * call may have interrupted malloc, whose lock it would wait for, for ever.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct gt_table_memory {
	void *(*allocate)(size_t size); /* zeroed; NULL: there is none */
	void *(*resize)(void *old, size_t size);
	void (*release)(void *memory);
};

/* Set before anything is allocated; NULL: malloc's. */
extern const struct gt_table_memory *gt_table_memory;

/* Zeroed; NULL: out of memory. */
static inline void *gt_table_alloc(size_t size)
{
	return gt_table_memory ? gt_table_memory->allocate(size) : calloc(1, size);
}

/* As realloc: what is new is not zeroed. */
static inline void *gt_table_resize(void *old, size_t size)
{
	return gt_table_memory ? gt_table_memory->resize(old, size) : realloc(old, size);
}

static inline void gt_table_free(void *memory)
{
	if (gt_table_memory)
		gt_table_memory->release(memory);
	else
		free(memory);
}
