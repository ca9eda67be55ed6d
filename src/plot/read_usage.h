/* SPDX-License-Identifier: MIT */
/*
 * read_usage.h - a table of bytes over time: `gputrack report -a usage --format tsv`, or the output
 * of scripts for Nsight Systems (time, total, and the total's classes).
 */
#pragma once

#include "plot/read_rows.h"
#include "plot/trail.h"

enum { GT_USAGE_COLUMNS = 8 };

struct gt_usage_table {
	char names[GT_USAGE_COLUMNS][64];          /* "total", "valid": without the unit */
	struct gt_trail columns[GT_USAGE_COLUMNS]; /* bytes over seconds since the start */
	size_t column_count;
	double start_s;                    /* real time at which its seconds begin; 0: unknown */
	double last_s, peak_bytes, peak_s; /* of the first column */
	uint64_t rows, bad_rows, bad_line;
};

int gt_usage_read(struct gt_usage_table **out, struct gt_rows *rows, struct gt_error *error);
void gt_usage_free(struct gt_usage_table *t);
