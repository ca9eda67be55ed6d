/* SPDX-License-Identifier: MIT */
/* test_trail.c - for any number of points, everything visible in a picture is kept. */
#include "plot/trail.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void few_points_are_kept_exactly(void **state)
{
	struct gt_trail t;

	gt_trail_init(&t, 2, 64);
	for (int i = 0; i < 40; i++)
		gt_trail_add(&t, i, (double[]){ i * i, -i });
	assert_int_equal(t.count, 40);
	for (size_t i = 0; i < 40; i++) {
		assert_true(gt_trail_x(&t, i) == (double)i);
		assert_true(gt_trail_value(&t, i, 0) == (double)(i * i));
		assert_true(gt_trail_value(&t, i, 1) == -(double)i);
	}
	gt_trail_fini(&t);
}

/* A million points with one high and one low: both are kept at their x. */
static void extremes_survive(void **state)
{
	struct gt_trail t;
	double high = 0, low = 0, high_x = -1, low_x = -1;

	gt_trail_init(&t, 1, GT_TRAIL_MOST);
	for (int i = 0; i < 1000000; i++) {
		double y = i == 123456 ? 99 : i == 654321 ? -99 : i % 7;

		gt_trail_add(&t, i * 0.5, &y);
		assert_true(t.count <= GT_TRAIL_MOST);
	}
	gt_trail_fit(&t, 100);
	assert_true(t.count <= 404);
	for (size_t i = 0; i < t.count; i++) {
		assert_true(!i || gt_trail_x(&t, i) >= gt_trail_x(&t, i - 1));
		if (gt_trail_value(&t, i, 0) > high) {
			high = gt_trail_value(&t, i, 0);
			high_x = gt_trail_x(&t, i);
		}
		if (gt_trail_value(&t, i, 0) < low) {
			low = gt_trail_value(&t, i, 0);
			low_x = gt_trail_x(&t, i);
		}
	}
	assert_true(high == 99 && high_x == 123456 * 0.5);
	assert_true(low == -99 && low_x == 654321 * 0.5);
	assert_true(gt_trail_x(&t, 0) == 0);
	assert_true(gt_trail_x(&t, t.count - 1) == 999999 * 0.5);
	gt_trail_fini(&t);
}

/* A constant total, and layers of which one rises briefly. */
static void the_last_value_keeps_its_extremes_too(void **state)
{
	struct gt_trail t;
	double most = 0;

	gt_trail_init(&t, 3, 1024);
	for (int i = 0; i < 40000; i++) {
		double values[] = { 1, 1, i == 23456 ? 8000 : 1 };

		gt_trail_add(&t, i, values);
	}
	assert_in_range(t.count, 64, 1024);
	gt_trail_fit(&t, 10);
	assert_in_range(t.count, 10, 60);
	for (size_t i = 0; i < t.count; i++)
		most = fmax(most, gt_trail_value(&t, i, 2));
	assert_true(most == 8000);
	gt_trail_fini(&t);
}

static void at_most_four_points_share_one_x(void **state)
{
	struct gt_trail t;

	gt_trail_init(&t, 1, 64);
	for (int i = 0; i < 100000; i++)
		gt_trail_add(&t, 7, &(double){ (i * 37) % 1001 });
	gt_trail_fit(&t, 10);
	assert_true(t.count <= 64);
	gt_trail_fini(&t);
}

static void time_never_goes_back(void **state)
{
	struct gt_trail t;

	gt_trail_init(&t, 1, 64);
	gt_trail_add(&t, 10, &(double){ 1 });
	gt_trail_add(&t, 5, &(double){ 2 });
	assert_true(gt_trail_x(&t, 1) == 10);
	gt_trail_fini(&t);
}

static void a_window_includes_points_at_its_edges(void **state)
{
	struct gt_trail t;

	gt_trail_init(&t, 1, 64);
	for (int i = 0; i < 10; i++)
		gt_trail_add(&t, i, &(double){ i });
	gt_trail_window(&t, 2.5, 5.5);
	assert_int_equal(t.count, 5); /* 2.5, 3, 4, 5, 5.5 */
	assert_true(gt_trail_x(&t, 0) == 2.5 && gt_trail_value(&t, 0, 0) == 2);
	assert_true(gt_trail_x(&t, 4) == 5.5 && gt_trail_value(&t, 4, 0) == 5);
	gt_trail_window(&t, 100, 200);
	assert_int_equal(t.count, 1); /* what held last holds on */
	gt_trail_window(&t, -5, -1);
	assert_int_equal(t.count, 0);
	gt_trail_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_points_are_kept_exactly),
		cmocka_unit_test(extremes_survive),
		cmocka_unit_test(the_last_value_keeps_its_extremes_too),
		cmocka_unit_test(at_most_four_points_share_one_x),
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(a_window_includes_points_at_its_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
