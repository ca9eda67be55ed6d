/* SPDX-License-Identifier: MIT */
/* info.h - a recording's `info`: lines "key: value" that a person can read too. */
#pragma once

#include <stdint.h>

#include "base/mem.h"

struct gt_info;

struct gt_info *gt_info_new(void);
void gt_info_free(struct gt_info *info);
/* An absent file gives an empty list; a line that is none is passed over. */
struct gt_info *gt_info_read(const char *path);

void gt_info_set(struct gt_info *info, const char *key, const char *value);
void gt_info_setf(struct gt_info *info, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "" when the key is not there. */
const char *gt_info_get(const struct gt_info *info, const char *key);

/* Written beside, then renamed. */
int gt_info_write(const struct gt_info *info, const char *path, struct gt_error *error);

/*
 * `ends`: when processes were gone that did not say so themselves. A process that is killed, calls
 * _exit or execs another program leaves a trace without an end. `gputrack run` sees the kernel
 * close it and appends a line: the trace's name, a blank, the time in nanoseconds of
 * CLOCK_MONOTONIC. The last line about a trace counts.
 */
#define GT_ENDS_FILE  "ends"
#define GT_ENDS_MAGIC "GTENDS\n" /* its first line */

struct gt_ends;

/* An absent file gives an empty list; a line that is none is passed over. */
struct gt_ends *gt_ends_read(const char *path);
void gt_ends_free(struct gt_ends *ends);
/* When the process of this trace was gone; 0: nobody has seen it. */
uint64_t gt_ends_find(const struct gt_ends *ends, const char *trace);
