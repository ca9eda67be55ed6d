/* SPDX-License-Identifier: MIT */
/* order.h - whether rows come in order of time; from 2025.6 on nobody promises it. */
#pragma once

#include <stdint.h>

#include "capture/nsys/database.h"

struct gt_nsys_order {
	uint64_t rows, out_of_order; /* the latter: rows that come after a later one */
	int64_t first, last;         /* start of the earliest and the latest */
	int64_t last_end;            /* the latest end; INT64_MIN for none */
};

/* Reads all rows of a query for (start, end), in the order in which they lie. */
int gt_nsys_order_of(struct gt_nsys_order *order, const struct gt_database *d, const char *sql,
		     struct gt_error *error);
