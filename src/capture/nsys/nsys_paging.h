/* SPDX-License-Identifier: MIT */
/* nsys_paging.h - unified memory in an export: pages that moved, and page faults. */
#pragma once

#include "capture/nsys/database.h"
#include "trace/paging.h"

/* In order of time. NULL in `rows` if the export has nothing of it. */
int gt_nsys_paging_open(sqlite3_stmt **rows, const struct gt_database *d, struct gt_error *error);
/*
 * 1 and the next one, with the global id of its process (0: unknown) and its start in the export's
 * time; 0 if there are no more. Counts invalid rows in `skipped`.
 */
int gt_nsys_paging_next(sqlite3_stmt *rows, const struct gt_database *d, struct gt_paging *paging,
			int64_t *global, int64_t *start, uint64_t *skipped, struct gt_error *error);
