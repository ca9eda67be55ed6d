/* SPDX-License-Identifier: MIT */
/*
 * scan_nsys.c - reads the rows that an import reads, and nothing else: FILE
 *
 * What SQLite alone takes for memory events and calls is the limit of `gputrack import`.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>

/* Fetches all columns of all rows; their number. */
static uint64_t scan(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	uint64_t rows = 0, sum = 0;

	sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++)
			sum += (uint64_t)sqlite3_column_int64(s, i);
		rows++;
	}
	sqlite3_finalize(s);
	/* so that no compiler leaves it out */
	return rows + (sum == 42);
}

int main(int argc, char **argv)
{
	sqlite3 *db;
	uint64_t rows;

	if (argc != 2 ||
	    sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)) {
		fputs("usage: scan_nsys FILE\n", stderr);
		return 2;
	}
	rows = scan(db, "SELECT start, globalPid, deviceId, contextId, address, bytes, memKind, "
			"memoryOperationType, name, correlationId FROM "
			"CUDA_GPU_MEMORY_USAGE_EVENTS");
	rows += scan(db, "SELECT start, end, eventClass, globalTid, correlationId, nameId, "
			 "returnValue, callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME");
	sqlite3_close(db);
	return rows ? 0 : 1;
}
