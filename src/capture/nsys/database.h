/* SPDX-License-Identifier: MIT */
/* database.h - an SQLite file of another program, opened so that nothing is written to it. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct gt_database {
	sqlite3 *db;
	const char *path;
	char *copy; /* a temporary folder with a copy; NULL: the file itself is read */
};

/* 0, or -errno and a sentence: missing, empty, truncated, not a database. */
int gt_database_open(struct gt_database *d, const char *path, struct gt_error *error);
void gt_database_close(struct gt_database *d);

/* Describes SQLite's last failure; returns -EIO or -ENOSPC. */
int gt_database_failed(const struct gt_database *d, struct gt_error *error);

bool gt_database_has_table(const struct gt_database *d, const char *table);
bool gt_database_has_view(const struct gt_database *d, const char *name);
/* True if rows have numbers, in the order in which they were inserted. */
bool gt_database_has_rowid(const struct gt_database *d, const char *table);
bool gt_database_has_column(const struct gt_database *d, const char *table, const char *column);
/* True when rows can be found by this column: it is the key, or the first of an index. */
bool gt_database_has_index(const struct gt_database *d, const char *table, const char *column);

/* A column, or SQL's NULL if the table does not have it. */
const char *gt_database_column(const struct gt_database *d, const char *table, const char *column);
/* 0, or -EINVAL and a sentence about the first of these columns that the table does not have. */
int gt_database_needs(const struct gt_database *d, const char *table, const char *const *columns,
		      struct gt_error *error);
/*
 * The table to look rows up in by id: itself, or where it has no index an indexed copy of these
 * columns, in a temporary file.
 */
int gt_database_index(const struct gt_database *d, const char *table, const char *copy,
		      const char *columns, const char **name, struct gt_error *error);

/* A statement from a format of SQLite's printf (%q, %w); NULL on failure. */
sqlite3_stmt *gt_database_prepare(const struct gt_database *d, const char *format, ...);
/* The same; 0, or -errno and the error. */
int gt_database_query(sqlite3_stmt **statement, const struct gt_database *d, struct gt_error *error,
		      const char *format, ...);
/* Runs SQL that returns no rows. */
int gt_database_run(const struct gt_database *d, const char *sql, struct gt_error *error);

/* Whether rows come in order of time: from 2025.6 on, exports do not promise it. */
struct gt_time_order {
	uint64_t rows, out_of_order; /* out_of_order: rows after a later one */
	int64_t first, last;         /* start of the earliest and of the latest row */
	int64_t last_end;            /* latest end; INT64_MIN without rows */
};

/* Reads all rows of a query for (start, end), in the order of the file. */
int gt_database_time_order(struct gt_time_order *order, const struct gt_database *d,
			   const char *sql, struct gt_error *error);
