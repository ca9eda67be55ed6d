/* SPDX-License-Identifier: MIT */
/*
 * read_rows.h - the lines of a foreign table, field by field, as a stream; which table it is.
 *
 * Accepts commas or tabs (whichever the first line has more of), CSV quotes, CR LF, and a byte
 * order mark. Holds one line in memory: a line longer than GT_ROW_MAX is truncated. Fields lose
 * surrounding blanks; a NUL byte becomes '?'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"

enum { GT_ROW_MAX = 1 << 16, GT_ROW_FIELDS = 256 };

struct gt_rows {
	FILE *in;
	char separator; /* 0 until the first line has been read */
	char *line;     /* GT_ROW_MAX bytes */
	char *fields[GT_ROW_FIELDS];
	size_t count;    /* of fields; those beyond GT_ROW_FIELDS are left out */
	uint64_t number; /* of the line, from 1 */
	bool cut;        /* the file ended before this line did */
	bool again;      /* the next line is this one once more */
};

/* `path` "-" is stdin. */
int gt_rows_open(struct gt_rows *r, const char *path, struct gt_error *error);
/*
 * After the last row: 0, or the error: the file cannot be read, or has no valid row. `none` is the
 * message for a table that has no bad rows either.
 */
int gt_rows_verdict(const struct gt_rows *r, uint64_t good, uint64_t bad, const char *none,
		    struct gt_error *error);
void gt_rows_close(struct gt_rows *r);

/* The next line that is not empty; false at the end. */
bool gt_rows_next(struct gt_rows *r);
/* Makes gt_rows_next return the last line once more. */
void gt_rows_again(struct gt_rows *r);

/* The field with this heading, ignoring case, in the line read last; -1: none. */
int gt_rows_find(const struct gt_rows *r, const char *heading);

/* A decimal number that fits into 64 bits, and nothing else. */
bool gt_number_parse(const char *text, double *out);

/*
 * "2025/06/22 23:15:07.123" and "2025-06-22T23:15:07.123456", local time as these logs have it, in
 * seconds of real time.
 */
bool gt_moment_parse(const char *text, double *out);

enum gt_table_kind {
	GT_TABLE_UNKNOWN,
	GT_TABLE_EMPTY,   /* no line at all */
	GT_TABLE_TRACKER, /* the resource tracker's CSV, ours or the original's */
	GT_TABLE_USAGE,   /* `gputrack report -a usage --format tsv`, or an Nsight analysis' */
	GT_TABLE_SMI,     /* nvidia-smi's log */
	GT_TABLE_MONITOR, /* `gputrack monitor` */
	GT_TABLE_CHARTS,  /* points of curves: read_charts.h */
};

/* By the first line, not the file's name; the reader of that kind gets the line again. */
enum gt_table_kind gt_table_kind(struct gt_rows *r);
