/* SPDX-License-Identifier: MIT */
/*
 * malloc_use.h - how much memory malloc holds free, before and after a call.
 *
 * Memory that a driver frees mostly stays with malloc: the process does not shrink, and nothing was
 * kept. The C library's figures (or jemalloc's, or tcmalloc's) tell the two apart. Asking takes
 * malloc's own locks and, in a large heap, microseconds. So calls are bracketed by two readings
 * only in an era: from the start, and again after a call that made the process grow, until nothing
 * has grown for a while or readings have taken their share of the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds the malloc of this process. */
void gt_malloc_use_start(void);
/* Call in a child after fork. `can_ask`: no vanished thread can hold a lock of malloc's. */
void gt_malloc_use_restart(bool can_ask);
/* False: nobody knows this malloc's figures, and none are ever read. */
bool gt_malloc_use_is_known(void);

/*
 * The number of the era that a call belongs to, which then has to be read before and after; 0:
 * none. All calls between two readings of one era are bracketed, whoever makes them.
 */
uint16_t gt_malloc_use_era(uint64_t now_ns);
/*
 * Bytes that malloc holds free. Fails in signal handlers, which may have interrupted malloc, and
 * where nobody can tell.
 */
bool gt_malloc_use_read(int64_t *free_bytes);
/* A second reading in the same call: there is nothing new to find out about signals. */
bool gt_malloc_use_read_again(int64_t *free_bytes);
/* The process has grown in a call, or a handle has left memory: begins or prolongs an era. */
void gt_malloc_use_watch(void);
