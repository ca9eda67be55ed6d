/* SPDX-License-Identifier: MIT */
/* info.h - the text files of a recording: `info`, lines "key: value", and `ends`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct gt_info;

struct gt_info *gt_info_new(void);
void gt_info_free(struct gt_info *info);
/* An absent file gives an empty list; malformed lines are skipped. */
struct gt_info *gt_info_read(const char *path);

void gt_info_set(struct gt_info *info, const char *key, const char *value);
void gt_info_setf(struct gt_info *info, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "" for an absent key. */
const char *gt_info_get(const struct gt_info *info, const char *key);

/* Writes a new file and renames it, so that readers see the old or the new one. */
int gt_info_write(const struct gt_info *info, const char *path, struct gt_error *error);

/*
 * `ends`: when processes were gone that did not say so themselves. A process that is killed, calls
 * _exit or execs another program leaves a trace without an end. `gputrack run` sees the kernel
 * close it and appends a line: the trace's name, a blank, the time in nanoseconds of
 * CLOCK_MONOTONIC. A second line says how it ended, also for those that did say when: the name,
 * "exit", "signal" or "exec", and the exit status, the signal, or 0. A third, "oom", says that the
 * signal came from the kernel, because memory of the host ran out. The last line of each kind about
 * a trace counts. Older readers take the second for the end of a trace that does not exist.
 */
#define GT_ENDS_FILE  "ends"
#define GT_ENDS_MAGIC "GTENDS\n" /* its first line */

struct gt_ends;

/* An absent file gives an empty list; malformed lines are skipped. */
struct gt_ends *gt_ends_read(const char *path);
void gt_ends_free(struct gt_ends *ends);

struct gt_ended {
	uint64_t time_ns; /* 0: nobody has seen it end */
	int exit_status;  /* -1: unknown */
	int signal;       /* 0: none, or unknown */
	bool has_execed;
	bool is_oom_kill; /* the signal: memory of the host ran out */
};

/* How the process of this trace ended. */
struct gt_ended gt_ends_find(const struct gt_ends *ends, const char *trace);
