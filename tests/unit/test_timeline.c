/* SPDX-License-Identifier: MIT */
/* test_timeline.c - a timeline keeps its peaks however long it grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ledger/timeline.h"

static struct gt_timeline timeline;

static void add(uint64_t time_ns, uint64_t bytes)
{
	struct gt_moment moment = { .time_ns = time_ns, .device_bytes = bytes };

	gt_timeline_add(&timeline, &moment);
}

static void no_change_is_an_empty_timeline(void **state)
{
	(void)state;
	gt_timeline_init(&timeline);
	gt_timeline_finish(&timeline, 0);
	assert_int_equal(gt_timeline_mean(&timeline), 0);
	assert_int_equal(gt_timeline_most(&timeline, 0, UINT64_MAX), 0);
}

static void the_mean_weighs_by_time(void **state)
{
	(void)state;
	gt_timeline_init(&timeline);
	add(0, 100);
	add(1000, 300);
	gt_timeline_finish(&timeline, 2000);
	assert_int_equal(gt_timeline_mean(&timeline), 200);
}

static void a_short_spike_survives_any_length(void **state)
{
	(void)state;
	gt_timeline_init(&timeline);
	add(500, 10);
	add(501, 1000000);
	add(502, 10);
	for (uint64_t i = 1; i < 100000; i++)
		add(i * 10000000, i % 7);
	gt_timeline_finish(&timeline, 0);
	assert_true(timeline.count <= GT_TIMELINE_MAX);
	assert_int_equal(gt_timeline_most(&timeline, 0, UINT64_MAX), 1000000);
	assert_int_equal(timeline.stretches[0].high.time_ns, 501);
	assert_true(gt_timeline_most(&timeline, timeline.end_ns / 2, UINT64_MAX) < 7);
}

static void a_quiet_stretch_holds_what_was_held_before(void **state)
{
	(void)state;
	gt_timeline_init(&timeline);
	add(1000, 50);
	add(900000, 20);
	gt_timeline_finish(&timeline, 2000000);
	assert_int_equal(gt_timeline_most(&timeline, 400000, 500000), 50);
	assert_int_equal(gt_timeline_most(&timeline, 1000000, 2000000), 20);
	assert_int_equal(gt_timeline_most(&timeline, 0, 500), 0);
}

static void time_never_runs_backwards_or_over(void **state)
{
	(void)state;
	gt_timeline_init(&timeline);
	add(1000, 5);
	add(10, 6);
	assert_int_equal(timeline.now.time_ns, 1000);
	add(UINT64_MAX, 7);
	gt_timeline_finish(&timeline, 0);
	assert_true(timeline.count <= GT_TIMELINE_MAX);
	assert_int_equal(timeline.now.device_bytes, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_change_is_an_empty_timeline),
		cmocka_unit_test(the_mean_weighs_by_time),
		cmocka_unit_test(a_short_spike_survives_any_length),
		cmocka_unit_test(a_quiet_stretch_holds_what_was_held_before),
		cmocka_unit_test(time_never_runs_backwards_or_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
