/* SPDX-License-Identifier: MIT */
/* csv.h - the resource tracker's CSV: a row per call, written before the call returns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/functions.h"
#include "tracker/meter.h"

/* Live resources and bytes by label, or how one call changed them. */
struct gt_counts {
	int32_t count[GT_LABEL_COUNT];
	int64_t bytes[GT_MEMORY_HOST + 1]; /* of memory, by location */
};

/* Opens this process's file if the settings ask for one; prints one line if that fails. */
void gt_csv_start(void);
/* Call in a child after fork: it gets its own file and counts from zero. */
void gt_csv_restart(void);

/* Adds a call's change to the counters, without a row. */
void gt_csv_count(const struct gt_counts *change);
/*
 * Adds a call's change, and writes its row if there is a file. `counts` has the change, and gets
 * the counters including this call. Rows of several threads are written one after another.
 */
void gt_csv_row(const char *function, const struct gt_meter *now, int64_t threads,
		struct gt_counts *counts, uint64_t time_ns);
