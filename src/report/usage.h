/* SPDX-License-Identifier: MIT */
/* usage.h - device memory over time, as rows while a recording is replayed. */
#pragma once

#include <stdio.h>

#include "ledger/ledger.h"

/*
 * One row for each moment at which something happened to device memory, timed from the first of
 * them: Nsight's columns, then host memory and objects as they are at that moment.
 */
struct gt_usage_rows {
	FILE *out;
	uint64_t start_ns; /* of the first row */
	uint64_t time_ns;  /* of the row that is still open, relative to it */
	uint64_t device_bytes, host_bytes, objects;
	uint64_t origins[GT_ORIGIN_COUNT];
	bool begun, open;
};

void gt_usage_rows_begin(struct gt_usage_rows *rows, FILE *out);
/* After each event has been applied. */
void gt_usage_rows_add(struct gt_usage_rows *rows, const struct gt_ledger *l,
		       const struct gt_event *event);
/* After a process has ended: what it held is gone at that moment. */
void gt_usage_rows_ended(struct gt_usage_rows *rows, const struct gt_ledger *l, uint64_t time_ns);
/* The last row; without it the last moment is missing. */
void gt_usage_rows_end(struct gt_usage_rows *rows);
