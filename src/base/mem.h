/* SPDX-License-Identifier: MIT */
/*
 * mem.h - memory of the tool, and error messages.
 *
 * Running out of memory ends the tool: never used in the traced process.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/table_memory.h"

void *gt_alloc(size_t size); /* zeroed */
/* The same for a table that is read at random: in large pages, where the kernel has them. */
void *gt_alloc_large(size_t size);
void *gt_realloc(void *old, size_t size);
char *gt_strdup(const char *text);
char *gt_strndup(const char *text, size_t size);
void *gt_memory_check(void *memory); /* ends the tool if it is NULL */

/* open_memstream; after closing, *text holds everything written, and the caller frees it. */
FILE *gt_memstream(char **text, size_t *size);
void gt_memstream_close(FILE *stream);

/* Grows an array with zeroed elements until it contains `index`; `count` is its length. */
#define GT_REACH(array, count, index)                                                              \
	((array) = gt_reach((array), &(count), (index), sizeof *(array)))
void *gt_reach_on(void *array, size_t *count, size_t index, size_t element_bytes);
static inline void *gt_reach(void *array, size_t *count, size_t index, size_t element_bytes)
{
	return index < *count ? array : gt_reach_on(array, count, index, element_bytes);
}

/* Makes room for one more element; the caller then writes array[used++]. */
#define GT_GROW(array, used, capacity)                                                             \
	do {                                                                                       \
		if ((used) == (capacity)) {                                                        \
			(capacity) = (capacity) ? (capacity)*2 : 16;                               \
			(array) = gt_realloc((array), (size_t)(capacity) * sizeof *(array));       \
		}                                                                                  \
	} while (0)

/*
 * Asks for large pages, which are cheaper to touch first and to read at random. In some virtual
 * machines they are ten times dearer to touch, because the hypervisor takes free large pages back
 * within seconds. So the first page is touched and timed: if it is slow, the rest stay small.
 */
void gt_ask_for_large_pages(char *at, size_t size);
/* Tables of the tool (base/table_memory.h): as gt_alloc_large, but NULL when memory runs out. */
extern const struct gt_table_memory gt_large_tables;

/* A sentence that only `cli/` prints; longer ones are truncated. */
struct gt_error {
	char text[512];
};

/* Fills `error`, which may be NULL, and returns `code` for the caller to return. */
int gt_error_set(struct gt_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
