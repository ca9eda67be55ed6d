/* SPDX-License-Identifier: MIT */
/* test_nsys.c - Nsight's enum numbers as rows, and the calls that events belong to. */
#include "capture/nsys/nsys_calls.h"
#include "capture/nsys/nsys_kinds.h"

#include <errno.h>
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

/*
 * A database with calls: (start, end, class, pid, correlation, chain, name, result, thread); the
 * last three may be left out.
 */
static void make_calls(const char *rows)
{
	char sql[4096], *message = NULL;
	const char *comma = strchr(rows, ')');
	int columns = 1;
	sqlite3 *db;

	for (const char *c = rows; c < comma; c++)
		columns += *c == ',';

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(sql, sizeof sql,
		 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, "
		 "globalTid, correlationId, nameId, returnValue, callchainId);"
		 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT column1, column2, column3, "
		 "(column4 << 24) + %s, column5, %s, column6 FROM (VALUES %s);"
		 "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
		 "INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'cuMemAlloc_v2'), "
		 "(3, 'cudaFree_v3020'), (4, 'cudaGetLastError_v3020'), (5, 'cudaMemcpy_v3020')",
		 columns > 6 ? "column9" : "9", columns > 6 ? "column7, column8" : "0, 0", rows);
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

/* The calls of the database, as an import opens them. */
struct fixture {
	struct gt_database database;
	struct gt_nsys_names *names;
	struct gt_nsys_calls *calls;
	struct gt_nsys_origin o;
	struct gt_error error;
};

static int try_to_open(struct fixture *f, bool sorted)
{
	assert_int_equal(gt_database_open(&f->database, path, &f->error), 0);
	assert_int_equal(gt_nsys_names_new(&f->names, &f->database, &f->error), 0);
	return gt_nsys_calls_new(&f->calls, &f->database, f->names, sorted, &f->error);
}

static void close_calls(struct fixture *f)
{
	gt_nsys_calls_free(f->calls);
	gt_nsys_names_free(f->names);
	gt_database_close(&f->database);
}

static int find(struct fixture *f, uint64_t process, int64_t correlation, int64_t time,
		bool allocates)
{
	return gt_nsys_calls_find(f->calls,
				  &(struct gt_nsys_wanted){ process, correlation, time, allocates },
				  &f->o, &f->error);
}

#define FIND(process, correlation, time)                                                           \
	assert_int_equal(find(&f, process, correlation, time, true), 0)

static void an_event_belongs_to_the_call_running_at_its_time(void **state)
{
	struct fixture f;

	/* out of order, as some exports are; a long call around short ones */
	make_calls(
		"(200,210,67,1,2,20),(100,110,1,1,1,NULL),(100,110,67,1,1,10),(0,1000,1,2,1,NULL),"
		"(300,310,67,1,3,NULL),(300,310,0,1,3,NULL),(100,100,1,7,1,NULL)");
	assert_int_equal(try_to_open(&f, true), 0);
	FIND(1, 1, 99);
	assert_true(!f.o.backtrace && !f.o.driver);
	FIND(1, 1, 100);
	assert_int_equal(f.o.backtrace->chain, 10);
	assert_int_equal(f.o.backtrace->tid, 9);
	assert_non_null(f.o.driver);
	FIND(7, 1, 100); /* a call without a length */
	assert_non_null(f.o.driver);
	FIND(1, 1, 110);
	assert_non_null(f.o.backtrace);
	FIND(1, 1, 111); /* it is over */
	assert_true(!f.o.backtrace && !f.o.driver);
	FIND(1, 9, 205); /* another id */
	assert_true(!f.o.backtrace && !f.o.driver);
	FIND(2, 2, 205); /* another process */
	assert_true(!f.o.backtrace && !f.o.driver);
	FIND(1, 2, 205);
	assert_int_equal(f.o.backtrace->chain, 20);
	FIND(1, 3, 305); /* no chain, and no driver's call */
	assert_true(!f.o.backtrace && !f.o.driver);
	assert_non_null(f.o.runtime);
	FIND(2, 1, 1000);
	assert_non_null(f.o.driver);
	FIND(2, 1, 1001);
	assert_null(f.o.driver);
	assert_int_equal(gt_nsys_calls_end(f.calls), 1000);
	close_calls(&f);
}

static void rows_out_of_order_are_noticed(void **state)
{
	struct fixture f;

	make_calls("(0,10,0,1,1,NULL),(200,210,0,1,2,NULL),(100,110,0,1,3,NULL)");
	assert_int_equal(try_to_open(&f, false), 0);
	assert_int_equal(find(&f, 1, 1, 5, true), 0);
	assert_int_equal(find(&f, 1, 2, 300, true), -EAGAIN);
	close_calls(&f);
}

static void an_event_without_a_correlation_id_belongs_to_the_only_call_that_does_so(void **state)
{
	struct fixture f;

	make_calls("(0,50,0,1,7,NULL,1,0,5),(0,90,0,1,8,NULL,5,0,6),(10,40,1,1,7,NULL,2,0,5),"
		   "(60,90,0,1,9,NULL,1,0,5),(60,90,0,1,10,NULL,1,0,6),(60,90,0,1,11,NULL,3,0,7)");
	assert_int_equal(try_to_open(&f, false), 0);
	FIND(1, 0, 20);
	assert_non_null(f.o.runtime);
	assert_non_null(f.o.driver);
	assert_int_equal(f.o.runtime->tid, 5);
	FIND(2, 0, 20); /* another process */
	assert_null(f.o.runtime);
	FIND(1, 0, 70); /* two threads allocate */
	assert_null(f.o.runtime);
	assert_int_equal(find(&f, 1, 0, 70, false), 0); /* one frees */
	assert_int_equal(f.o.runtime->tid, 7);
	close_calls(&f);
}

static void failed_calls_are_found_once_and_with_their_stack(void **state)
{
	struct fixture f;
	struct gt_nsys_call call;
	enum gt_function_id row;

	/* the driver's part of the first; a copy; one that repeats an error; a free */
	make_calls("(0,50,0,1,7,NULL,1,2,5),(0,50,67,1,7,33,1,0,5),(10,40,1,1,8,NULL,2,2,5),"
		   "(60,70,0,1,9,NULL,5,1,5),(80,90,0,1,10,NULL,4,2,5),"
		   "(100,110,0,1,11,NULL,3,1,5),(120,130,0,1,12,NULL,5,2,5)");
	assert_int_equal(try_to_open(&f, false), 0);
	assert_int_equal(gt_nsys_calls_failed(f.calls, 60, &call, &row, &f.error), 1);
	assert_int_equal(row, GT_FN_nsysDeviceAllocation);
	assert_int_equal(call.result, 2);
	assert_true(call.has_chain && call.chain == 33);
	assert_int_equal(gt_nsys_calls_failed(f.calls, 60, &call, &row, &f.error), 0);
	assert_int_equal(gt_nsys_calls_failed(f.calls, 1000, &call, &row, &f.error), 1);
	assert_int_equal(row, GT_FN_nsysDeviceDeallocation);
	assert_int_equal(gt_nsys_calls_failed(f.calls, 1000, &call, &row, &f.error), 1);
	assert_int_equal(row, GT_FN_nsysCall); /* memory ran out in a copy */
	assert_int_equal(gt_nsys_calls_failed(f.calls, 1000, &call, &row, &f.error), 0);
	close_calls(&f);
}

static void many_failed_calls_are_all_found(void **state)
{
	struct fixture f;
	struct gt_nsys_call call;
	enum gt_function_id row;
	int64_t count = 0;

	make_calls("(0,1,0,1,0,NULL,1,2,5)");
	assert_int_equal(sqlite3_open(path, &f.database.db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(f.database.db,
			     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
			     "FROM n WHERE i < 999) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
			     "SELECT i * 10, i * 10 + 5, 0, 1 << 24, i, 1, 2, NULL FROM n",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(f.database.db);
	assert_int_equal(try_to_open(&f, false), 0);
	while (gt_nsys_calls_failed(f.calls, INT64_MAX, &call, &row, &f.error) > 0)
		assert_int_equal(call.correlation, count++);
	assert_int_equal(count, 1000);
	close_calls(&f);
}

static void functions_are_known_by_their_names(void **state)
{
	assert_int_equal(gt_nsys_function_named("cudaMalloc_v3020"), GT_FN_nsysDeviceAllocation);
	assert_int_equal(gt_nsys_function_named("cudaMalloc"), GT_FN_nsysDeviceAllocation);
	assert_int_equal(gt_nsys_function_named("cudaMallocAsync_ptsz_v11020"),
			 GT_FN_nsysCall); /* CUPTI's order is the other one: */
	assert_int_equal(gt_nsys_function_named("cudaMallocAsync_v11020_ptsz"),
			 GT_FN_nsysDeviceAllocation);
	assert_int_equal(gt_nsys_function_named("cuMemAlloc_v2"), GT_FN_nsysDeviceAllocation);
	assert_int_equal(gt_nsys_function_named("cudaHostAlloc_v3020"), GT_FN_nsysPinnedAllocation);
	assert_int_equal(gt_nsys_function_named("cudaStreamCreateWithFlags_v5000"),
			 GT_FN_cuStreamCreate);
	assert_int_equal(gt_nsys_function_named("cuModuleUnload"), GT_FN_cuModuleUnload);
	assert_int_equal(gt_nsys_function_named("cudaPeekAtLastError_v3020"), GT_FN_NONE);
	assert_int_equal(gt_nsys_function_named("cudaMemcpy_v3020"), GT_FN_nsysCall);
	assert_int_equal(gt_nsys_function_named(""), GT_FN_nsysCall);
	assert_int_equal(gt_nsys_base_length("cudaStreamGetCaptureInfo_v2_v11030"),
			 strlen("cudaStreamGetCaptureInfo_v2"));
	assert_int_equal(gt_nsys_base_length("_v2"), 3);
}

static void finished_calls_are_forgotten(void **state)
{
	struct fixture f;

	make_calls("(0,1000000,1,1,99999,NULL)");
	assert_int_equal(sqlite3_open(path, &f.database.db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(f.database.db,
			     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
			     "FROM n WHERE i < 20000) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
			     "SELECT i * 10, i * 10 + 15, 1, 1 << 24, i, 0, 0, NULL FROM n",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(f.database.db);
	assert_int_equal(try_to_open(&f, false), 0);
	for (int64_t i = 1; i <= 20000; i++) {
		FIND(1, i, i * 10 + 5);
		assert_non_null(f.o.driver);
		if (i > 1) {
			FIND(1, i - 1, i * 10 + 5);
			assert_non_null(f.o.driver); /* it goes on while the next has begun */
		}
		if (i > 2) {
			FIND(1, i - 2, i * 10 + 5);
			assert_null(f.o.driver);
		}
	}
	FIND(1, 99999, 999999);
	assert_non_null(f.o.driver);
	close_calls(&f);
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
		cmocka_unit_test(rows_out_of_order_are_noticed),
		cmocka_unit_test(
			an_event_without_a_correlation_id_belongs_to_the_only_call_that_does_so),
		cmocka_unit_test(failed_calls_are_found_once_and_with_their_stack),
		cmocka_unit_test(many_failed_calls_are_all_found),
		cmocka_unit_test(functions_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
