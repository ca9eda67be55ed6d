/* SPDX-License-Identifier: MIT */
/* mem.h - memory of the tool. Out of memory ends it; never used in the traced process. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void *gt_alloc(size_t size); /* zeroed */
void *gt_realloc(void *old, size_t size);
char *gt_strdup(const char *text);
char *gt_strndup(const char *text, size_t size);
void *gt_memory_check(void *memory); /* what somebody else has asked for */

/* open_memstream, and its end, after which *text is all that was written; the caller frees it. */
FILE *gt_memstream(char **text, size_t *size);
void gt_memstream_close(FILE *stream);

/* Makes a zeroed array of 32-bit numbers reach `index`. */
void gt_reach(uint32_t **array, size_t *size, size_t index);

/*
 * Growing arrays. GT_GROW makes room for one more element of an array described
 * by pointer, used count and capacity; the caller then writes array[used++].
 */
#define GT_GROW(array, used, capacity)                                                             \
	do {                                                                                       \
		if ((used) == (capacity)) {                                                        \
			(capacity) = (capacity) ? (capacity)*2 : 16;                               \
			(array) = gt_realloc((array), (size_t)(capacity) * sizeof *(array));       \
		}                                                                                  \
	} while (0)
