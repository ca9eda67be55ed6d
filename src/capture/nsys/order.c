/* SPDX-License-Identifier: MIT */
/* order.c - whether rows come in order of time; from 2025.6 on nobody promises it. */
#include "capture/nsys/order.h"

#include <errno.h>

int gt_nsys_order_of(struct gt_nsys_order *o, const struct gt_database *d, const char *sql,
		     struct gt_error *error)
{
	sqlite3_stmt *rows = gt_database_prepare(d, "%s", sql);
	int step = SQLITE_ERROR;

	*o = (struct gt_nsys_order){ .first = INT64_MAX, .last = INT64_MIN, .last_end = INT64_MIN };
	while (rows && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t start = sqlite3_column_int64(rows, 0), end = sqlite3_column_int64(rows, 1);

		o->out_of_order += o->rows++ && start < o->last;
		o->first = start < o->first ? start : o->first;
		o->last = start > o->last ? start : o->last;
		o->last_end = end > o->last_end ? end : o->last_end;
	}
	if (step != SQLITE_DONE)
		gt_database_failed(d, error);
	sqlite3_finalize(rows);
	return step == SQLITE_DONE ? 0 : -EIO;
}
