/* SPDX-License-Identifier: MIT */
/* test_nsys.c - Nsight's enum numbers as rows, and the calls that events belong to. */
#include "capture/nsys/nsys_origins.h"
#include "capture/nsys/nsys_kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void every_kind_has_a_creating_and_an_ending_row(void **state)
{
	static const enum gt_kind wanted[GT_NSYS_KINDS] = {
		GT_PAGEABLE_MEMORY, GT_HOST_MEMORY,   GT_DEVICE_MEMORY,  GT_ARRAY,
		GT_SHARED_MEMORY,   GT_STATIC_MEMORY, GT_STATIC_MANAGED, GT_UNKNOWN_MEMORY,
	};
	struct gt_nsys_enums enums;

	gt_nsys_enums_init(&enums);
	for (int kind = 0; kind < GT_NSYS_KINDS; kind++) {
		enum gt_function_id begins = gt_nsys_memory_row(&enums, kind, 0);
		enum gt_function_id ends = gt_nsys_memory_row(&enums, kind, 1);

		assert_int_equal(gt_functions[begins].kind, wanted[kind]);
		assert_int_equal(gt_functions[ends].kind, wanted[kind]);
		assert_int_equal(gt_functions[begins].effect, GT_CREATE);
		assert_int_equal(gt_functions[ends].effect, GT_DESTROY);
		assert_int_equal(gt_functions[begins].api, GT_CUDA);
	}
}

static void unknown_numbers_are_unknown_kinds_and_not_operations(void **state)
{
	static const int64_t odd[] = { 8, 63, 64, -1, INT64_MIN, INT64_MAX };
	struct gt_nsys_enums enums;

	gt_nsys_enums_init(&enums);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		assert_int_equal(gt_nsys_memory_row(&enums, odd[i], 0),
				 GT_FN_nsysUnknownAllocation);
		assert_int_equal(gt_nsys_memory_row(&enums, 2, odd[i]), GT_FN_NONE);
		assert_int_equal(gt_nsys_pool_row(&enums, odd[i]), GT_FN_NONE);
	}
	assert_int_equal(gt_nsys_pool_row(&enums, 1), GT_FN_nsysPoolCreated);
	assert_int_equal(gt_nsys_pool_row(&enums, 2), GT_FN_nsysPoolDestroyed);
	assert_int_equal(gt_nsys_pool_row(&enums, 3), GT_FN_NONE);
}

static void numbers_defined_in_the_export_take_precedence(void **state)
{
	struct gt_nsys_enums enums;

	gt_nsys_enums_init(&enums);
	gt_nsys_enums_set(&enums, GT_NSYS_ENUM_KIND, 9, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC");
	gt_nsys_enums_set(&enums, GT_NSYS_ENUM_KIND, 2, "CUDA_MEMOPR_MEMORY_KIND_OF_THE_FUTURE");
	gt_nsys_enums_set(&enums, GT_NSYS_ENUM_KIND, 1000, "CUDA_MEMOPR_MEMORY_KIND_ARRAY");
	gt_nsys_enums_set(&enums, GT_NSYS_ENUM_KIND, 3, NULL);
	gt_nsys_enums_set(&enums, GT_NSYS_ENUM_OPERATION, 7, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION");
	gt_nsys_enums_set(&enums, GT_NSYS_ENUM_POOL, 5, "CUDA_MEMPOOL_OPERATION_TYPE_DESTROYED");
	assert_int_equal(gt_nsys_memory_row(&enums, 9, 7), GT_FN_nsysDeviceStaticDeallocation);
	assert_int_equal(gt_nsys_memory_row(&enums, 2, 0), GT_FN_nsysDeviceAllocation);
	assert_int_equal(gt_nsys_memory_row(&enums, 3, 0), GT_FN_nsysArrayAllocation);
	assert_int_equal(gt_nsys_pool_row(&enums, 5), GT_FN_nsysPoolDestroyed);
}

static void global_ids_are_decoded(void **state)
{
	/* of a real export: hardware 1, VM 2, a pid and a tid of 24 bits each */
	int64_t global = (int64_t)(0x0102ull << 48 | 0xabcdefull << 24 | 0x123456);

	assert_int_equal(gt_nsys_pid(global), 0xabcdef);
	assert_int_equal(gt_nsys_tid(global), 0x123456);
	assert_int_equal(gt_nsys_process(global), 0x0102abcdef);
	assert_int_equal(gt_nsys_pid(284113865015296), 157290);
	/* the top bit is no sign */
	assert_int_equal(gt_nsys_process((int64_t)(0x8000000000000000ull)), 0x8000000000ull);
}

static char path[] = "/tmp/gputrack-nsys.XXXXXX";

/* A database with calls: (start, end, class, pid, correlation, chain); the rest is arbitrary. */
static void make_calls(const char *rows)
{
	char sql[4096], *message = NULL;
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(sql, sizeof sql,
		 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, "
		 "globalTid, correlationId, nameId, returnValue, callchainId);"
		 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT column1, column2, column3, "
		 "(column4 << 24) + 9, column5, 0, 0, column6 FROM (VALUES %s)",
		 rows);
	sqlite3_exec(db, sql, NULL, NULL, &message);
	assert_null(message);
	sqlite3_close(db);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	return unlink(path);
}

static void an_event_belongs_to_the_call_running_at_its_time(void **state)
{
	struct gt_nsys_origin o;
	struct gt_nsys_calls *calls;
	struct gt_database d;
	struct gt_error error;

	/* out of order, as some exports are; a long call around short ones */
	make_calls(
		"(200,210,67,1,2,20),(100,110,1,1,1,NULL),(100,110,67,1,1,10),(0,1000,1,2,1,NULL),"
		"(300,310,67,1,3,NULL),(300,310,0,1,3,NULL),(100,100,1,7,1,NULL)");
	assert_int_equal(gt_database_open(&d, path, &error), 0);
	assert_int_equal(gt_nsys_calls_new(&calls, &d, &error), 0);
	assert_int_equal(gt_nsys_calls_end(calls), 1000);
#define FIND(process, correlation, time)                                                           \
	assert_int_equal(gt_nsys_calls_find(calls, process, correlation, time, &o, &error), 0)
	FIND(1, 1, 99);
	assert_true(!o.backtrace && !o.driver);
	FIND(1, 1, 100);
	assert_int_equal(o.backtrace->chain, 10);
	assert_int_equal(o.backtrace->tid, 9);
	assert_non_null(o.driver);
	FIND(7, 1, 100); /* a call without a length */
	assert_non_null(o.driver);
	FIND(1, 1, 110);
	assert_non_null(o.backtrace);
	FIND(1, 1, 111); /* it is over */
	assert_true(!o.backtrace && !o.driver);
	FIND(1, 9, 205); /* another id */
	assert_true(!o.backtrace && !o.driver);
	FIND(2, 2, 205); /* another process */
	assert_true(!o.backtrace && !o.driver);
	FIND(1, 2, 205);
	assert_int_equal(o.backtrace->chain, 20);
	FIND(1, 3, 305); /* no chain, and no driver's call */
	assert_true(!o.backtrace && !o.driver);
	FIND(2, 1, 1000);
	assert_non_null(o.driver);
	FIND(2, 1, 1001);
	assert_null(o.driver);
	gt_nsys_calls_free(calls);
	gt_database_close(&d);
}

static void finished_calls_are_forgotten(void **state)
{
	struct gt_nsys_origin o;
	struct gt_nsys_calls *calls;
	struct gt_database d;
	struct gt_error error;

	make_calls("(0,1000000,1,1,0,NULL)");
	assert_int_equal(sqlite3_open(path, &d.db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(d.db,
			     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
			     "FROM n WHERE i < 20000) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
			     "SELECT i * 10, i * 10 + 15, 1, 1 << 24, i, 0, 0, NULL FROM n",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(d.db);
	assert_int_equal(gt_database_open(&d, path, &error), 0);
	assert_int_equal(gt_nsys_calls_new(&calls, &d, &error), 0);
	for (int64_t i = 1; i <= 20000; i++) {
		FIND(1, i, i * 10 + 5);
		assert_non_null(o.driver);
		FIND(1, i - 1, i * 10 + 5);
		assert_non_null(o.driver); /* it goes on while the next has begun */
		if (i > 2) {
			FIND(1, i - 2, i * 10 + 5);
			assert_null(o.driver);
		}
	}
	FIND(1, 0, 999999);
	assert_non_null(o.driver);
	gt_nsys_calls_free(calls);
	gt_database_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_a_creating_and_an_ending_row),
		cmocka_unit_test(unknown_numbers_are_unknown_kinds_and_not_operations),
		cmocka_unit_test(numbers_defined_in_the_export_take_precedence),
		cmocka_unit_test(global_ids_are_decoded),
		cmocka_unit_test(an_event_belongs_to_the_call_running_at_its_time),
		cmocka_unit_test(finished_calls_are_forgotten),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
