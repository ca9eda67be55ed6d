/* SPDX-License-Identifier: MIT */
/* settings.h - the recorder's settings, read from the environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Functions that doors may call; everything else in the recorder library is hidden. */
#define GT_EXPORT __attribute__((visibility("default")))

enum gt_log_level {
	GT_LOG_TRACE,
	GT_LOG_DEBUG,
	GT_LOG_INFO,
	GT_LOG_WARNING,
	GT_LOG_ERROR,
	GT_LOG_CRITICAL,
	GT_LOG_OFF,
};

struct gt_settings {
	const char *recording; /* folder to record into, absolute; NULL: do not record */
	uint32_t stack_depth;  /* frames to keep; 0: no stacks */
	uint64_t max_bytes;    /* limit of the whole recording; 0: none */
	uint64_t watcher;  /* number of the `gputrack run` that watches (trace/layout.h); 0: none */
	bool touches;      /* record GPU work and the memory it names */
	uint64_t until_ns; /* CLOCK_MONOTONIC time at which recording stops; 0: never */

	bool tracker;      /* the resource tracker: process metrics around every call */
	const char *csv;   /* path of its CSV, without the pid; NULL: none */
	bool csv_extended; /* the CSV has the further columns */
	const char *log;   /* absolute path of its log; NULL: none, or the console */
	bool log_to_console, log_name_too_long;
	enum gt_log_level log_level; /* GT_LOG_OFF: no log */
	int64_t warn_kb;             /* warn of residue above this … */
	int64_t verdict_kb; /* … and call it a leak in the summary if the total exceeds this */
};

/* Reads once; doc/ENVIRONMENT.md lists the variables. Setuid programs get the defaults. */
GT_EXPORT const struct gt_settings *gt_settings_get(void);
