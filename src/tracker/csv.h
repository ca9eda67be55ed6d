/* SPDX-License-Identifier: MIT */
/* csv.h - the resource tracker's CSV: one whole row per call, in order, written when it returns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/functions.h"
#include "tracker/meter.h"

/* What one call did to the counters. */
struct gt_counts {
	int64_t count[GT_LABEL_COUNT];
	int64_t bytes[GT_MEMORY_HOST + 1]; /* of memory, by where it lies */
};

/* Opens the file for this process if the settings ask for one; says one line when that fails. */
void gt_csv_start(void);
/* A child after fork gets a file of its own, and counts from zero. */
void gt_csv_restart(void);

/* Adds what a call did to the counters, without a row. */
void gt_csv_count(const struct gt_counts *change);
/*
 * The same with the call's row, if there is a file. `after` gets the counters as they are with this
 * call. Rows of several threads come one after another.
 */
void gt_csv_row(const char *function, const struct gt_meter *now, int64_t threads,
		const struct gt_counts *change, struct gt_counts *after, uint64_t time_ns);
