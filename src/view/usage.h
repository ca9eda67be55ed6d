/* usage.h - device memory over time, as rows while a recording is replayed. */
#pragma once

#include <stdio.h>

#include "ledger/ledger.h"

/* One row for each moment at which something changed. */
struct gt_usage_rows {
	FILE *out;
	uint64_t start_ns;      /* what times are relative to */
	uint64_t time_ns;       /* of the row that is still open */
	uint64_t device_bytes, host_bytes, objects;
	bool open;
};

void gt_usage_rows_begin(struct gt_usage_rows *rows, FILE *out, uint64_t start_ns);
/* After each event has been applied. */
void gt_usage_rows_add(struct gt_usage_rows *rows, const struct gt_ledger *l, uint64_t time_ns);
/* The last row; without it the last moment is missing. */
void gt_usage_rows_end(struct gt_usage_rows *rows);
