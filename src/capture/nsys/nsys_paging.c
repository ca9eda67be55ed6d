/* SPDX-License-Identifier: MIT */
/* nsys_paging.c - unified memory in an export: pages that moved, and page faults. */
#include "capture/nsys/nsys_paging.h"

#include <stdio.h>

#define COPIES "CUPTI_ACTIVITY_KIND_MEMCPY"

/* ENUM_CUDA_MEMCPY_OPER; all others are copies that the program asked for. */
enum { COPY_TO_DEVICE = 11, COPY_TO_HOST = 12, COPY_BETWEEN_DEVICES = 13 };

/* A table with faults, and the column that counts those of a row. */
static const struct {
	const char *table, *count;
	enum gt_paging_effect effect;
} faults[] = {
	{ "CUDA_UM_CPU_PAGE_FAULT_EVENTS", NULL, GT_PAGING_CPU_FAULT },
	{ "CUDA_UM_GPU_PAGE_FAULT_EVENTS", "numberOfPageFaults", GT_PAGING_GPU_FAULT },
};

/* Columns of the query, in this order. */
enum { START, PROCESS, ADDRESS, AMOUNT, EFFECT, CAUSE };

static bool has_columns(const struct gt_database *d, const char *table, const char *first,
			const char *second)
{
	return gt_database_has_column(d, table, first) && gt_database_has_column(d, table, second);
}

int gt_nsys_paging_open(sqlite3_stmt **rows, const struct gt_database *d, struct gt_error *error)
{
	char sql[1024] = "";
	size_t used = 0;

	*rows = NULL;
	if (has_columns(d, COPIES, "start", "bytes") &&
	    has_columns(d, COPIES, "copyKind", "copyKind"))
		used = (size_t)snprintf(sql, sizeof sql,
					"SELECT start, %s, %s, bytes, CASE CAST(copyKind AS "
					"INTEGER) WHEN %d THEN %d WHEN %d THEN "
					"%d ELSE %d END, %s FROM " COPIES
					" WHERE CAST(copyKind AS INTEGER) BETWEEN %d AND %d",
					gt_database_column(d, COPIES, "globalPid"),
					gt_database_column(d, COPIES, "virtualAddress"),
					COPY_TO_DEVICE, GT_PAGING_TO_DEVICE, COPY_TO_HOST,
					GT_PAGING_TO_HOST, GT_PAGING_BETWEEN_DEVICES,
					gt_database_column(d, COPIES, "migrationCause"),
					COPY_TO_DEVICE, COPY_BETWEEN_DEVICES);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (has_columns(d, faults[i].table, "start", "address"))
			used += (size_t)snprintf(
				sql + used, sizeof sql - used,
				"%sSELECT start, %s, address, %s, %d, 0 FROM %s",
				used ? " UNION ALL " : "",
				gt_database_column(d, faults[i].table, "globalPid"),
				faults[i].count && gt_database_has_column(d, faults[i].table,
									  faults[i].count) ?
					faults[i].count :
					"1",
				faults[i].effect, faults[i].table);
	return used ? gt_database_query(rows, d, error, "%s ORDER BY 1", sql) : 0;
}

/* False for a row without the numbers that it is about. */
static bool read_row(sqlite3_stmt *s, struct gt_paging *paging, int64_t *start)
{
	int64_t amount = sqlite3_column_int64(s, AMOUNT), cause = sqlite3_column_int64(s, CAUSE);

	*start = sqlite3_column_int64(s, START);
	*paging = (struct gt_paging){
		.address = (uint64_t)sqlite3_column_int64(s, ADDRESS),
		.amount = (uint64_t)amount,
		.effect = (enum gt_paging_effect)sqlite3_column_int(s, EFFECT),
		.cause = cause >= 0 && cause < GT_PAGING_CAUSES ? (enum gt_paging_cause)cause :
								  GT_PAGING_UNKNOWN,
	};
	return sqlite3_column_type(s, START) == SQLITE_INTEGER &&
	       sqlite3_column_type(s, AMOUNT) == SQLITE_INTEGER && amount >= 0;
}

int gt_nsys_paging_next(sqlite3_stmt *rows, const struct gt_database *d, struct gt_paging *paging,
			int64_t *global, int64_t *start, uint64_t *skipped, struct gt_error *error)
{
	int step;

	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		*global = sqlite3_column_int64(rows, PROCESS);
		if (read_row(rows, paging, start))
			return 1;
		++*skipped;
	}
	return step == SQLITE_DONE ? 0 : gt_database_failed(d, error);
}
