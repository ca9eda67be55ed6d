/* SPDX-License-Identifier: MIT */
/* seeds_nsys.c - writes small Nsight exports for the fuzzer to start from into a folder: FOLDER */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Small pages, so that a fuzzer reaches the rows soon. */
/* clang-format off */
static const char *const plain[] = {
	"PRAGMA page_size = 512",
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
	"INSERT INTO StringIds VALUES (1, 'main'), (2, '/app'), (3, 'cuMemAlloc_v2'), (4, 'cudaMalloc')",
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER, deviceId "
	"INTEGER, contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, "
	"memoryOperationType INTEGER, name TEXT, correlationId INTEGER)",
	"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES "
	"(100, 1677721600, 0, 1, 4096, 0, 1000, 2, 0, NULL, 1), "
	"(200, 1677721600, 1, 1, 8192, 0, 2000, 2, 0, NULL, 2), "
	"(50, 3355443200, 0, 1, 4096, 0, 64, 5, 0, 'table', 0), "
	"(300, 1677721600, 0, 1, 4096, 0, 1000, 2, 1, NULL, 3)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, "
	"globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId "
	"INTEGER)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90, 110, 67, 1677721601, 1, 4, 0, 7), "
	"(190, 210, 1, 1677721601, 2, 3, 0, NULL), (290, 310, 0, 1677721601, 3, 4, 0, NULL)",
	NULL,
};
/* clang-format on */

/* With the additions of later schemas. */
static const char *const more[] = {
	"CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved "
	"INTEGER, "
	"originalIP INTEGER, stackDepth INTEGER, PRIMARY KEY (id, stackDepth))",
	"INSERT INTO CUDA_CALLCHAINS VALUES (7, 1, 2, NULL, 4096, 1), (7, 4, 2, 1, 99, 0)",
	"CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT)",
	"INSERT INTO ENUM_CUDA_MEM_KIND VALUES (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device')",
	"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
	"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.16.1')",
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)",
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)",
	"CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER, globalPid INTEGER, deviceId "
	"INTEGER, "
	"address INTEGER, operationType INTEGER, poolType INTEGER, correlationId INTEGER)",
	"INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (10, 1677721600, 0, 77, 1, 1, 0)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, "
	"globalPid INTEGER, bytes INTEGER, copyKind INTEGER, migrationCause INTEGER, "
	"virtualAddress INTEGER)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (150, 160, 0, 1677721600, 4096, 11, 2, "
	"4096), "
	"(170, 180, 0, 1677721600, 4096, 1, NULL, NULL)",
	"CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER, address "
	"INTEGER, numberOfPageFaults INTEGER)",
	"INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (151, 1677721600, 4096, 3)",
	"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, category "
	"INTEGER, "
	"text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER)",
	"INSERT INTO NVTX_EVENTS VALUES (50, 400, 59, 2, 'train', 1677721601, NULL, 0, NULL), "
	"(95, 120, 59, 2, NULL, 1677721601, 1, 3, 7), (0, NULL, 60, 0, 'job', 1677721601, NULL, 0, "
	"1), "
	"(1, NULL, 75, 0, 'LIB', 1677721601, NULL, 3, NULL), "
	"(2, NULL, 33, 2, 'io', 1677721601, NULL, 3, NULL)",
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)",
	"INSERT INTO PROCESSES VALUES (1677721600, 100, './program')",
	NULL,
};

static void run(sqlite3 *db, const char *const *sql)
{
	for (; *sql; sql++)
		if (sqlite3_exec(db, *sql, NULL, NULL, NULL)) {
			fprintf(stderr, "seeds_nsys: %s: %s\n", *sql, sqlite3_errmsg(db));
			exit(1);
		}
}

static void write_seed(const char *folder, const char *name, const char *const *further)
{
	char path[4096];
	sqlite3 *db;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
	if (sqlite3_open(path, &db)) {
		fprintf(stderr, "seeds_nsys: cannot make %s\n", path);
		exit(1);
	}
	run(db, plain);
	if (further)
		run(db, further);
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: seeds_nsys FOLDER\n", stderr);
		return 2;
	}
	if (mkdir(argv[1], 0777) && errno != EEXIST) {
		fprintf(stderr, "seeds_nsys: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	write_seed(argv[1], "plain.sqlite", NULL);
	write_seed(argv[1], "whole.sqlite", more);
	return 0;
}
