/* SPDX-License-Identifier: MIT */
/*
 * row_text.h - rows and stacks as lines of tab-separated text, the one form of files, spool and
 * ClickHouse.
 *
 * Times are UTC, "2026-11-16 10:00:00"; the epoch stands for none. Texts are valid UTF-8 without
 * control characters; a backslash is doubled.
 */
#pragma once

#include <stdio.h>

#include "agent/row.h"

enum gt_column_type {
	GT_COLUMN_TIME,
	GT_COLUMN_TEXT,
	GT_COLUMN_U32,
	GT_COLUMN_U64,
	GT_COLUMN_REAL
};

struct gt_column {
	const char *name;
	enum gt_column_type type;
};

enum {
#define COLUMN(name, type) GT_COLUMN_OF_##name,
#include "agent/row_columns.def"
#undef COLUMN
	GT_ROW_COLUMNS
};

extern const struct gt_column gt_row_columns[GT_ROW_COLUMNS];

/* "time,host,…"; the caller frees it. */
char *gt_row_column_list(void);

/* When and where rows were taken. */
struct gt_row_origin {
	const char *host;
	uint64_t real_s; /* since 1970 */
	uint64_t now_ns; /* CLOCK_MONOTONIC at the same moment */
};

/* "time\thost\t…": the first line of a file; the spool and ClickHouse have none. */
void gt_row_text_head(FILE *out);
void gt_row_text_put(FILE *out, const struct gt_row_origin *origin, const struct gt_agent_row *row);
/* The row of a host on which nothing runs: what was there before has ended. */
void gt_row_text_idle(FILE *out, const struct gt_row_origin *origin);

/* The columns of stacks: stack, frames ("load (src/load.c:12) < main (src/main.c:3)"). */
void gt_stack_text_head(FILE *out);
void gt_stack_text_put(FILE *out, const struct gt_agent_stack *stack);

enum { GT_ROW_TIME_MAX = 24 };
/* "2026-11-16 10:00:00" into `out` of GT_ROW_TIME_MAX bytes. */
char *gt_row_time(char *out, uint64_t real_s);
/* The reverse; false where it is no such time. */
bool gt_row_time_parse(const char *text, int64_t *real_s);
