/* SPDX-License-Identifier: MIT */
/* settings.h - what the traced process was asked to do, from its environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
	uint64_t max_bytes;    /* of the whole recording; 0: any */
	uint64_t until_ns;     /* of CLOCK_MONOTONIC: record no longer; 0: to the end */

	bool tracker;      /* the resource tracker: process metrics around every call */
	const char *csv;   /* its CSV, without the pid; NULL: none */
	bool csv_extended; /* … with the further columns */
	const char *log;   /* its log, absolute; NULL: none, or the console */
	bool log_to_console, log_name_too_long;
	enum gt_log_level log_level; /* GT_LOG_OFF: no log */
	int64_t warn_kb;             /* residue above this is warned of … */
	int64_t verdict_kb;          /* … and in total above this is a leak in the summary */
};

/*
 * Read once; doc/ENVIRONMENT.md lists the variables. A setuid program's environment says nothing.
 */
const struct gt_settings *gt_settings_get(void);
