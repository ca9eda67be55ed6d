/* SPDX-License-Identifier: MIT */
/* test_read_tracker.c - leaks, calls and times from a tracker's CSV. */
#include "plot/read_tracker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "TimeMs,APICall,VmRSS_KB,Delta_VmRSS_KB\n"
/* Deltas of the calls themselves: the second row's is not the change since the first. */
#define CALLS                                                                                      \
	"CallNumber,TimeMs,APICall,VmRSS_KB,Delta_VmRSS_KB\n"                                      \
	"1,1,zeContextCreate,900,500\n2,1,zeKernelCreate,1000,0\n"
#define RESIDUE "TimeMs,APICall,VmRSS_KB,Delta_VmRSS_KB,Residue_KB\n"

static int read_text(struct gt_tracker_table **t, const char *text, double threshold_kb)
{
	char path[] = "/tmp/test_tracker.XXXXXX";
	struct gt_error error;
	struct gt_rows rows;
	int fd = mkstemp(path), e;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(gt_rows_open(&rows, path, &error), 0);
	unlink(path);
	e = gt_tracker_read(t, &rows, threshold_kb, &error);
	gt_rows_close(&rows);
	return e;
}

/* The rule: a destroying call during which memory rose by more than the threshold. */
static void leaks_are_destroys_that_raise_memory(void **state)
{
	static const char text[] = CALLS "3,2,zeContextDestroy,1100,100\n" /* not more than 100 */
					 "4,3,zeEventPoolDestroy,1201,101\n"
					 "5,4,clReleaseMemObject,1401,200\n"    /* by the table */
					 "6,5,zeSomethingNewDestroy,1601,200\n" /* by its name */
					 "7,6,zeMemFree,1501,-100\n";
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t, text, 100), 0);
	assert_int_equal(t->basis, GT_BASIS_CALL);
	assert_int_equal(t->leak_events, 3);
	assert_true(t->leak_kb == 501);
	assert_int_equal(t->leaks.count, 3);
	assert_true(gt_trail_value(&t->leaks, 2, 1) == 501);
	assert_true(t->residue_kb == -1);
	gt_tracker_free(t);
	assert_int_equal(read_text(&t, text, 150), 0);
	assert_int_equal(t->leak_events, 2);
	gt_tracker_free(t);
}

/* Deltas since the previous row may be what the program allocated before the call. */
static void growth_between_calls_is_no_leak(void **state)
{
	static const char *const texts[] = {
		"CallNumber,TimeMs,APICall,VmRSS_KB,Delta_VmRSS_KB\n1,1,zeMemAllocHost,1000,500\n"
		"2,2,zeMemFree,2000,1000\n3,3,zeMemAllocHost,2000,0\n4,4,zeMemFree,3000,1000\n",
		/* a damaged row, and a row that is missing, leave a gap that proves nothing */
		"CallNumber,TimeMs,APICall,VmRSS_KB,Delta_VmRSS_KB\n1,1,zeMemAllocHost,1000,500\n"
		"2,2,zeMemFree,2000,1000\n3,3,zeMemAllocHost,many,0\n4,4,zeMemFree,3800,1000\n",
		"CallNumber,TimeMs,APICall,VmRSS_KB,Delta_VmRSS_KB\n1,1,zeMemAllocHost,1000,500\n"
		"2,2,zeMemFree,2000,1000\n4,4,zeMemFree,3800,1000\n",
		/* nor do rows without a number */
		HEAD "1,zeMemAllocHost,1000,500\n2,zeMemFree,2000,1000\n3,zeMemFree,3800,1000\n",
		"TimeMs,APICall,VmRSS_KB\n1,zeMemAllocHost,1000\n2,zeMemFree,2000\n"
		"3,zeMemFree,3000\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct gt_tracker_table *t;

		assert_int_equal(read_text(&t, texts[i], 100), 0);
		assert_int_equal(t->basis, GT_BASIS_NONE);
		assert_int_equal(t->leak_events, 0);
		assert_true(t->leak_kb == 0 && t->residue_kb == -1);
		assert_int_equal(t->leaks.count + t->moments.count, 0);
		assert_int_equal(t->rises, 2);
		assert_true(t->rise_kb == 2000);
		for (size_t k = 0; k < t->call_count; k++)
			assert_true(!t->calls[k].leaks && t->calls[k].leak_kb == 0);
		gt_tracker_free(t);
	}
}

/* The column says what the calls left, whatever the deltas are and whichever call it was. */
static void residue_is_the_only_leak_where_it_is_known(void **state)
{
	static const char text[] = RESIDUE "1,zeMemAllocHost,1000,500,0\n"
					   "2,zeMemFree,9000,8000,0\n"
					   "3,zeMemFree,9000,0,96\n"
					   "4,zeContextDestroy,9000,0,196\n"
					   "5,zeMemFree,9000,0,192\n";
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t, text, 191), 0);
	assert_int_equal(t->basis, GT_BASIS_RESIDUE);
	assert_true(t->leak_kb == 192 && t->residue_kb == 192);
	assert_int_equal(t->leak_events, 2); /* what was given back is no event */
	assert_true(t->calls[1].leak_kb == 92 && t->calls[1].leaks == 1);
	assert_true(t->calls[2].leak_kb == 100 && t->calls[2].leaks == 1);
	assert_null(t->creeps);
	assert_true(gt_trail_value(&t->leaked, t->leaked.count - 1, 0) == 192);
	gt_tracker_free(t);
	/* not above the threshold: no leak, but the figure stays */
	assert_int_equal(read_text(&t, text, 192), 0);
	assert_true(t->leak_kb == 0 && t->residue_kb == 192 && !t->rises && !t->creeps);
	assert_int_equal(t->leak_events, 0);
	assert_true(t->calls[2].leak_kb == 0 && t->calls[2].leaks == 0);
	gt_tracker_free(t);
}

/* A recording knows the residue of a process whose CSV has no column for it. */
static void residue_from_elsewhere_settles_it(void **state)
{
	struct gt_tracker_table *t;

	for (int kb = 0; kb <= 200; kb += 100) {
		assert_int_equal(
			read_text(&t, HEAD "1,zeMemFree,1000,500\n2,zeMemFree,2000,1000\n", 100),
			0);
		assert_int_equal(t->rises, 2);
		gt_tracker_set_residue(t, kb);
		assert_int_equal(t->basis, GT_BASIS_RESIDUE);
		assert_true(t->residue_kb == kb && t->leak_kb == (kb > 100 ? kb : 0));
		assert_true(!t->rises && t->rise_kb == 0 && !t->creeps && !t->leak_events);
		gt_tracker_free(t);
	}
	/* a column is more exact than that */
	assert_int_equal(read_text(&t, RESIDUE "1,zeMemFree,1000,500,300\n", 100), 0);
	gt_tracker_set_residue(t, 0);
	assert_true(t->residue_kb == 300 && t->leak_kb == 300);
	gt_tracker_free(t);
}

/* Times are whole milliseconds: each has one bar. */
static void leaks_of_one_millisecond_are_added_up(void **state)
{
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t,
				   CALLS "3,2,zeEventDestroy,1192,192\n"
					 "4,3,zeEventDestroy,1584,392\n"
					 "5,3,zeEventDestroy,1976,392\n"
					 "6,3,zeEventDestroy,2368,392\n",
				   100),
			 0);
	assert_int_equal(t->moments.count, 2);
	assert_true(gt_trail_value(&t->moments, 0, 0) == 192);
	assert_true(gt_trail_value(&t->moments, 1, 0) == 3 * 392);
	assert_int_equal(t->leaks.count, 4);
	assert_null(t->creeps);
	gt_tracker_free(t);
}

static void small_rises_add_up(void **state)
{
	static const char text[] = CALLS "3,2,zeEventDestroy,1060,60\n"
					 "4,3,zeEventDestroy,1120,60\n"
					 "5,4,zeFenceDestroy,1180,60\n"
					 "6,5,zeFenceDestroy,1120,-60\n"
					 "7,6,zeEventDestroy,1320,200\n";
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t, text, 100), 0);
	assert_int_equal(t->leak_events, 1);
	assert_non_null(t->creeps);
	assert_string_equal(t->creeps->name, "zeEventDestroy");
	assert_true(gt_call_creep(t->creeps) == 120);
	assert_int_equal(gt_call_creeping(t->creeps), 2);
	gt_tracker_free(t);
	assert_int_equal(read_text(&t, text, 120), 0);
	assert_null(t->creeps);
	gt_tracker_free(t);
}

static void a_leak_in_the_first_call_counts(void **state)
{
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t, RESIDUE "1,zeContextDestroy,1000,0,192\n", 100), 0);
	assert_int_equal(t->leak_events, 1);
	assert_true(t->leak_kb == 192);
	gt_tracker_free(t);
}

static void assert_point(const struct gt_trail *t, size_t point, double x, double value)
{
	assert_true(gt_trail_x(t, point) == x && gt_trail_value(t, point, 0) == value);
}

/* From zero at the first row to the final sum at the last. */
static void the_sum_of_a_call_covers_the_whole_time(void **state)
{
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t,
				   HEAD "1,clCreateBuffer,1000,500\n2,clCreateKernel,1100,100\n"
					"3,clFinish,1100,0\n",
				   100),
			 0);
	assert_int_equal(t->calls[0].impact.count, 2);
	assert_point(&t->calls[0].impact, 0, 1, 500);
	assert_point(&t->calls[0].impact, 1, 3, 500);
	assert_int_equal(t->calls[1].impact.count, 3);
	assert_point(&t->calls[1].impact, 0, 1, 0);
	assert_point(&t->calls[1].impact, 1, 2, 100);
	assert_point(&t->calls[1].impact, 2, 3, 100);
	assert_int_equal(t->calls[2].impact.count, 2);
	assert_false(t->is_levelzero);
	gt_tracker_free(t);
	assert_int_equal(read_text(&t, HEAD "1,zeMemFree,1000,500\n", 100), 0);
	assert_int_equal(t->calls[0].impact.count, 1);
	assert_true(t->is_levelzero);
	gt_tracker_free(t);
}

/* The original tracker drops the sign of decreases; VmRSS reveals them. */
static void lost_signs_are_restored(void **state)
{
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t,
				   HEAD "1,zeContextCreate,5000,192\n"
					"2,zeMemFree,4000,1000\n3,zeMemFree,4300,300\n",
				   100),
			 0);
	assert_int_equal(t->unsigned_falls, 1);
	assert_int_equal(t->rises, 1);
	assert_true(gt_trail_value(&t->deltas, 1, 0) == -1000);
	gt_tracker_free(t);
}

static void damaged_rows_are_left_out_and_counted(void **state)
{
	struct gt_tracker_table *t;

	assert_int_equal(read_text(&t,
				   HEAD "1,zeContextCreate,5000,192\n"
					"2,zeContextCreate,many,1\n"
					"3,zeContextCreate,5000\n"
					"4,zeContextCreate,5000,1,9\n"
					"5,,5000,1\n"
					"6,zeContextDestroy,5001,1\n"
					"7,zeContextDestroy,6000,99",
				   100),
			 0);
	assert_int_equal(t->rows, 2);
	assert_int_equal(t->bad_rows, 5);
	assert_int_equal(t->bad_line, 3);
	assert_int_equal(t->call_count, 2);
	gt_tracker_free(t);
}

static void call_names_beyond_the_limit_share_one_entry(void **state)
{
	char *text = malloc(64 * 3000 + 128), *at = text;
	struct gt_tracker_table *t;

	at += sprintf(at, "%s", HEAD);
	for (int i = 0; i < 3000; i++)
		at += sprintf(at, "%d,zeCall%d,1000,0\n", i, i);
	assert_int_equal(read_text(&t, text, 100), 0);
	assert_int_equal(t->rows, 3000);
	assert_true(t->call_count < 1100);
	assert_true(t->calls[t->call_count - 1].count > 1900);
	gt_tracker_free(t);
	free(text);
}

static void a_table_without_rows_is_an_error(void **state)
{
	struct gt_tracker_table *t;

	assert_int_not_equal(read_text(&t, HEAD, 100), 0);
	assert_int_not_equal(read_text(&t, HEAD "x\n", 100), 0);
	assert_int_not_equal(read_text(&t, "APICall,VmRSS_KB\nzeInit,4\n", 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaks_are_destroys_that_raise_memory),
		cmocka_unit_test(growth_between_calls_is_no_leak),
		cmocka_unit_test(residue_is_the_only_leak_where_it_is_known),
		cmocka_unit_test(residue_from_elsewhere_settles_it),
		cmocka_unit_test(leaks_of_one_millisecond_are_added_up),
		cmocka_unit_test(small_rises_add_up),
		cmocka_unit_test(a_leak_in_the_first_call_counts),
		cmocka_unit_test(the_sum_of_a_call_covers_the_whole_time),
		cmocka_unit_test(lost_signs_are_restored),
		cmocka_unit_test(damaged_rows_are_left_out_and_counted),
		cmocka_unit_test(call_names_beyond_the_limit_share_one_entry),
		cmocka_unit_test(a_table_without_rows_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
