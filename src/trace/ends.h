/* SPDX-License-Identifier: MIT */
/*
 * ends.h - a recording's `ends`: when processes were gone that did not say so themselves.
 *
 * Whoever is killed, ends by _exit or becomes another program leaves a trace without an end.
 * `gputrack run` sees the kernel close it and adds a line: the trace's name, a blank, the time in
 * nanoseconds of CLOCK_MONOTONIC. Of several lines about one trace the last one counts.
 */
#pragma once

#include <stdint.h>

#define GT_ENDS_FILE  "ends"
#define GT_ENDS_MAGIC "GTENDS\n" /* its first line */

struct gt_ends;

/* An absent file gives an empty list; a line that is none is passed over. */
struct gt_ends *gt_ends_read(const char *path);
void gt_ends_free(struct gt_ends *ends);
/* When the process of this trace was gone; 0: nobody has seen it. */
uint64_t gt_ends_find(const struct gt_ends *ends, const char *trace);
