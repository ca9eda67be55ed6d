/* SPDX-License-Identifier: MIT */
/* test_averages.c - averages over groups of rows, in bounded memory. */
#include "plot/averages.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct gt_averages averages;

static void few_rows_are_kept_as_they_are(void **state)
{
	averages = (struct gt_averages){ 0 };
	for (int i = 0; i < GT_AVERAGES_MOST; i++)
		gt_averages_add(&averages, i, 3 * i);
	assert_int_equal(averages.count, GT_AVERAGES_MOST);
	assert_false(gt_averages_is_dense(&averages));
	for (int i = 0; i < GT_AVERAGES_MOST; i++) {
		assert_true(averages.groups[i].x == i);
		assert_true(gt_averages_value(&averages, (size_t)i) == 3 * i);
	}
}

/* No row counts twice, none is lost, and all groups but the last have as many. */
static void many_rows_are_averaged_in_equal_groups(void **state)
{
	double sum = 0;
	uint64_t rows = 0;

	averages = (struct gt_averages){ 0 };
	for (int i = 0; i < 100000; i++)
		gt_averages_add(&averages, i, i % 2 ? 10 : 20);
	assert_true(gt_averages_is_dense(&averages));
	assert_in_range(averages.count, GT_AVERAGES_MOST / 2, GT_AVERAGES_MOST);
	for (size_t i = 0; i < averages.count; i++) {
		assert_true(averages.groups[i].x == (double)(i * averages.rows_each));
		if (i + 1 < averages.count) {
			assert_int_equal(averages.groups[i].count, averages.rows_each);
			assert_true(gt_averages_value(&averages, i) == 15);
		}
		sum += averages.groups[i].sum;
		rows += averages.groups[i].count;
	}
	assert_int_equal(rows, 100000);
	assert_true(sum == 1500000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_rows_are_kept_as_they_are),
		cmocka_unit_test(many_rows_are_averaged_in_equal_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
