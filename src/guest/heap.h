/* SPDX-License-Identifier: MIT */
/*
 * heap.h - the recorder's own memory in the traced process.
 *
 * malloc is the program's: a signal handler that makes a call may have interrupted it. Here nobody
 * waits for himself, since a handler that interrupts the recorder allocates nothing (guest.c).
 */
#pragma once

#include <stddef.h>

/* Zeroed; NULL: out of memory. */
void *gt_heap_alloc(size_t size);
/* As realloc: what is new is not zeroed. */
void *gt_heap_resize(void *old, size_t size);
void gt_heap_free(void *memory);

/* Makes the next `size` bytes resident. */
void gt_heap_touch(size_t size);
/* Call in a child after fork, where another thread may have been inside. */
void gt_heap_restart(void);
