/* SPDX-License-Identifier: MIT */
/*
 * make_nsys.c - writes an export like Nsight Systems', of any size: FILE ROWS ordered|shuffled
 *
 * Alternating allocations and frees of device memory, 10,000 alive at a time; each row has its call
 * with one of 1,000 call chains of 16 frames. Shuffled: rows and calls are in the order of a hash.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N                                                                                          \
	"WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < %" PRIu64 " - "  \
	"1) "

/* The order of the rows: by number or by its hash. */
#define ORDER "%s"

static sqlite3 *db;

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL)) {
		fprintf(stderr, "make_nsys: %s: %s\n", sqlite3_errmsg(db), sql);
		exit(1);
	}
}

static void make_tables(void)
{
	run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;"
	    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER "
	    "NOT "
	    "NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT "
	    "NULL, pc "
	    "INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
	    "memoryOperationType "
	    "INTEGER NOT NULL, name TEXT, correlationId INTEGER);"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT "
	    "NULL, "
	    "eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER "
	    "NOT "
	    "NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
	    "CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module "
	    "INTEGER "
	    "NOT NULL, unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL, "
	    "PRIMARY KEY "
	    "(id, stackDepth));"
	    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
	    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)");
	run("WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 4999) INSERT "
	    "INTO "
	    "StringIds SELECT k, 'function_' || k FROM n");
	run("WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 15999) "
	    "INSERT INTO "
	    "CUDA_CALLCHAINS SELECT k / 16, k * 7919 % 5000, k % 8, NULL, 4096 + k, k % 16 FROM n");
}

static void make_rows(uint64_t rows, bool shuffled)
{
	const char *order = shuffled ? "ORDER BY k * 2654435761 % 4294967291" : "";
	char sql[1024];

	/* row k: an allocation, or the free of the one 10,000 before; the first have none to free
	 */
	snprintf(sql, sizeof sql,
		 N "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS SELECT k * 100 + 50, "
		   "281474976710656 + (1000 << 24), 0, 1, "
		   "140000000000000 + ((k / 2 + (k %% 2) * 10000) %% 20000) * 1048576, 0, "
		   "((k / 2 + (k %% 2) * 10000) %% 1000 + 1) * 256, 2, k %% 2, NULL, k + 1 FROM n "
		   "WHERE k %% 2 = 0 OR k >= 20000 " ORDER,
		 rows, order);
	run(sql);
	snprintf(sql, sizeof sql,
		 N "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT k * 100, k * 100 + "
		   "90, 67, 281474976710656 + (1000 << 24) + 1000, k + 1, 1, 0, k %% 1000 FROM "
		   "n " ORDER,
		 rows, order);
	run(sql);
}

int main(int argc, char **argv)
{
	uint64_t rows = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;

	if (!rows) {
		fputs("usage: make_nsys FILE ROWS ordered|shuffled\n", stderr);
		return 2;
	}
	unlink(argv[1]);
	if (sqlite3_open(argv[1], &db)) {
		fprintf(stderr, "make_nsys: cannot make %s\n", argv[1]);
		return 1;
	}
	make_tables();
	make_rows(rows, !strcmp(argv[3], "shuffled"));
	sqlite3_close(db);
	return 0;
}
