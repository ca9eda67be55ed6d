/* SPDX-License-Identifier: MIT */
/* test_pyramid.c - rows keep their extremes, and are few however many changes there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ledger/pyramid.h"

static void add(struct gt_pyramid *p, uint64_t time_ns, uint64_t value)
{
	gt_pyramid_moment(p, time_ns);
	gt_pyramid_set(p, 0, value);
}

static void few_changes_are_all_kept(void **state)
{
	struct gt_pyramid p;

	(void)state;
	gt_pyramid_init(&p, &(struct gt_pyramid_shape){ .channels = 1,
							.rows = 8,
							.start_ns = 100,
							.end_ns = 1000000,
							.changes = 3 });
	add(&p, 100, 5);
	add(&p, 101, 7);
	add(&p, 101, 6); /* the same moment */
	add(&p, 900000, 1);
	assert_int_equal(p.count, 3);
	assert_int_equal(p.times[1], 1);
	assert_int_equal(gt_pyramid_at(&p, 1, 0)->low, 5);
	assert_int_equal(gt_pyramid_at(&p, 1, 0)->high, 7);
	assert_int_equal(gt_pyramid_at(&p, 1, 0)->last, 6);
	assert_int_equal(p.times[2], 899900);
	gt_pyramid_fini(&p);
}

static void many_changes_keep_their_extremes(void **state)
{
	struct gt_pyramid p;
	uint64_t most = 0;

	(void)state;
	gt_pyramid_init(&p,
			&(struct gt_pyramid_shape){
				.channels = 2, .rows = 16, .end_ns = 100000, .changes = 100001 });
	for (uint64_t i = 0; i <= 100000; i++) {
		gt_pyramid_moment(&p, i);
		gt_pyramid_set(&p, 1, i == 54321 ? 1000 : i % 10);
	}
	assert_true(p.count <= 16);
	for (size_t i = 0; i < p.count; i++) {
		const struct gt_extent *e = gt_pyramid_at(&p, i, 1);

		assert_int_equal(e->low, 0);
		most = e->high > most ? e->high : most;
		assert_int_equal(e->last, p.times[i] % 10);
		assert_int_equal(gt_pyramid_at(&p, i, 0)->high, 0);
	}
	assert_int_equal(most, 1000);
	gt_pyramid_fini(&p);
}

static void idle_time_takes_no_rows(void **state)
{
	struct gt_pyramid p;

	(void)state;
	gt_pyramid_init(
		&p, &(struct gt_pyramid_shape){
			    .channels = 1, .rows = 1000, .end_ns = 1000000000, .changes = 5000 });
	for (uint64_t i = 0; i < 5000; i++)
		add(&p, i < 2500 ? i : 999990000 + i, i);
	assert_int_equal(p.count, 2);
	assert_int_equal(gt_pyramid_at(&p, 0, 0)->last, 2499);
	assert_int_equal(gt_pyramid_at(&p, 1, 0)->low, 2499);
	assert_true(gt_pyramid_begins(&p, 1999999999));
	gt_pyramid_fini(&p);
}

static void times_outside_do_no_harm(void **state)
{
	struct gt_pyramid p;

	(void)state;
	gt_pyramid_init(
		&p, &(struct gt_pyramid_shape){
			    .channels = 1, .rows = 2, .start_ns = 50, .end_ns = 10, .changes = 9 });
	for (uint64_t i = 0; i < 100; i++)
		add(&p, i % 3 ? UINT64_MAX - i : i, i);
	assert_true(p.count <= 2);
	assert_int_equal(gt_pyramid_at(&p, p.count - 1, 0)->last, 99);
	gt_pyramid_fini(&p);
	gt_pyramid_init(&p, &(struct gt_pyramid_shape){ .channels = 1, .rows = 4 });
	gt_pyramid_set(&p, 0, 1); /* before any moment */
	assert_int_equal(p.count, 0);
	gt_pyramid_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_changes_are_all_kept),
		cmocka_unit_test(many_changes_keep_their_extremes),
		cmocka_unit_test(idle_time_takes_no_rows),
		cmocka_unit_test(times_outside_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
