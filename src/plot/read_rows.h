/* SPDX-License-Identifier: MIT */
/*
 * read_rows.h - the lines of a table that somebody else wrote, field by field, as a stream.
 *
 * Takes commas or tabs (whichever the first line has more of), quotes as CSV has them, CR LF, and a
 * byte order mark. Holds one line in memory: a line longer than GT_ROW_MAX loses its end. Fields
 * lose the blanks around them; a NUL byte becomes '?'.
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
 * After the last row: 0, or why there is no table of it: it could not be read to its end, or has no
 * good row. `none` is said where it has no bad one either.
 */
int gt_rows_verdict(const struct gt_rows *r, uint64_t good, uint64_t bad, const char *none,
		    struct gt_error *error);
void gt_rows_close(struct gt_rows *r);

/* The next line that is not empty; false at the end. */
bool gt_rows_next(struct gt_rows *r);
/* Has the line that was read last given out once more: for those who look at the first. */
void gt_rows_again(struct gt_rows *r);

/* The field with this heading, ignoring case, in the line read last; -1: none. */
int gt_rows_find(const struct gt_rows *r, const char *heading);

/* A decimal number that 64 bits could hold, and nothing else. */
bool gt_number_parse(const char *text, double *out);

/*
 * "2025/06/22 23:15:07.123" and "2025-06-22T23:15:07.123456" as seconds of real time; local time,
 * as those write it whose logs these are.
 */
bool gt_moment_parse(const char *text, double *out);
