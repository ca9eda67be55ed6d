/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - the ranges that are open in this process, and the phase that they make of a call.
 *
 * A thread's open ranges are one number: that of the innermost, within those around it. Opening and
 * closing one takes no lock, no clock, no memory and no system call, and is safe in signal handlers
 * and after fork. Names are kept for the life of the process, in tables of bounded size: where
 * these are full, a range counts as the one around it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/settings.h"

struct gt_writer;

/* Makes the tables; false: there is no memory for them. Call before anything else, any number of
 * times. */
GT_EXPORT bool gt_ranges_start(void);

/* The number of a text, the same for equal ones; 0: it is empty. */
#define GT_RANGE_NO_ROOM UINT32_MAX
GT_EXPORT uint32_t gt_range_text(const char *text, size_t size);
/* The text of a number. */
GT_EXPORT const char *gt_range_text_get(uint32_t number, size_t *size);

/*
 * A range's name: numbers of texts, 0 for none. Where one is GT_RANGE_NO_ROOM, the range counts as
 * the one around it. Ranges are closed by domain.
 */
struct gt_range_name {
	uint32_t text, domain, category;
};

/* Opens a range of the calling thread. How many were open before it. */
GT_EXPORT int gt_range_push(const struct gt_range_name *name);
/* Closes the innermost of a domain. How many are still open; -1: none was. */
GT_EXPORT int gt_range_pop(uint32_t domain);
/*
 * Opens a range of the whole process, which lies around those of its threads. `id` identifies it;
 * 0: choose one. Returns the id.
 */
GT_EXPORT uint64_t gt_range_start(const struct gt_range_name *name, uint64_t id);
GT_EXPORT void gt_range_end(uint64_t id);

/*
 * For the recorder: the number of the calling thread's phase in a trace, 0 for none. `generation`
 * identifies the trace, from 1.
 */
uint32_t gt_ranges_phase(struct gt_writer *w, uint32_t generation);
