/* SPDX-License-Identifier: MIT */
/* test_time_series.c - rows keep their extremes and stay few for any number of changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ledger/time_series.h"

static void put(struct gt_time_series *s, uint64_t time_ns, uint64_t value)
{
	gt_time_series_advance(s, time_ns);
	gt_time_series_set(s, 0, value);
}

static void few_changes_are_kept_exactly(void **state)
{
	struct gt_time_series s;

	gt_time_series_init_span(
		&s, 1, 8,
		&(struct gt_time_span){ .start_ns = 100, .end_ns = 1000000, .changes = 3 });
	put(&s, 100, 5);
	put(&s, 101, 7);
	put(&s, 101, 6); /* the same moment */
	put(&s, 900000, 1);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.times[1], 1);
	assert_int_equal(gt_time_series_at(&s, 1, 0)->low, 5);
	assert_int_equal(gt_time_series_at(&s, 1, 0)->high, 7);
	assert_int_equal(gt_time_series_at(&s, 1, 0)->last, 6);
	assert_int_equal(s.times[2], 899900);
	gt_time_series_fini(&s);
}

static void many_changes_keep_their_extremes(void **state)
{
	struct gt_time_series s;
	uint64_t most = 0;

	gt_time_series_init_span(&s, 2, 16,
				 &(struct gt_time_span){ .end_ns = 100000, .changes = 100001 });
	for (uint64_t i = 0; i <= 100000; i++) {
		gt_time_series_advance(&s, i);
		gt_time_series_set(&s, 1, i == 54321 ? 1000 : i % 10);
	}
	assert_in_range(s.count, 15, 16);
	for (size_t i = 0; i < s.count; i++) {
		const struct gt_value_range *e = gt_time_series_at(&s, i, 1);

		assert_int_equal(e->low, 0);
		most = e->high > most ? e->high : most;
		assert_int_equal(e->last, s.times[i] % 10);
		assert_int_equal(gt_time_series_at(&s, i, 0)->high, 0);
	}
	assert_int_equal(most, 1000);
	gt_time_series_fini(&s);
}

static void idle_time_takes_no_rows(void **state)
{
	struct gt_time_series s;

	gt_time_series_init_span(&s, 1, 1000,
				 &(struct gt_time_span){ .end_ns = 1000000000, .changes = 5000 });
	for (uint64_t i = 0; i < 5000; i++)
		put(&s, i < 2500 ? i : 999990000 + i, i);
	assert_int_equal(s.count, 2);
	assert_int_equal(gt_time_series_at(&s, 0, 0)->last, 2499);
	assert_int_equal(gt_time_series_at(&s, 1, 0)->low, 2499);
	gt_time_series_advance(&s, 999994999);
	assert_int_equal(s.count, 2);
	gt_time_series_advance(&s, 1999999999);
	assert_int_equal(s.count, 3);
	gt_time_series_fini(&s);
}

static void times_outside_the_range_do_no_harm(void **state)
{
	struct gt_time_series s;

	gt_time_series_init_span(
		&s, 1, 2, &(struct gt_time_span){ .start_ns = 50, .end_ns = 10, .changes = 9 });
	for (uint64_t i = 0; i < 100; i++)
		put(&s, i % 3 ? UINT64_MAX - i : i, i);
	assert_true(s.count <= 2);
	assert_int_equal(gt_time_series_at(&s, s.count - 1, 0)->last, 99);
	gt_time_series_fini(&s);
	gt_time_series_init_span(&s, 1, 4, &(struct gt_time_span){ 0 });
	gt_time_series_set(&s, 0, 1); /* before any moment */
	assert_int_equal(s.count, 0);
	gt_time_series_fini(&s);
}

/* Every step is the original step, doubled some number of times. */
static void steps_double_when_time_exceeds_the_range(void **state)
{
	struct gt_time_series s;

	gt_time_series_init(&s, 1, 4, 5000);
	for (uint64_t i = 0; i < 4; i++)
		put(&s, 5000 + i * 1000, i == 2 ? 9 : i);
	assert_int_equal(s.step_ns, 1000);
	assert_int_equal(s.count, 4);
	put(&s, 9000, 7);
	assert_int_equal(s.step_ns, 2000);
	assert_int_equal(s.count, 3);
	assert_int_equal(gt_time_series_at(&s, 0, 0)->low, 0);
	assert_int_equal(gt_time_series_at(&s, 0, 0)->high, 1);
	assert_int_equal(gt_time_series_at(&s, 1, 0)->low, 1); /* held on entering */
	assert_int_equal(gt_time_series_at(&s, 1, 0)->high, 9);
	assert_int_equal(gt_time_series_at(&s, 1, 0)->last, 3);
	assert_int_equal(s.times[1], 3000);
	put(&s, 9999, 8); /* the open row goes on */
	assert_int_equal(s.count, 3);
	put(&s, 11000, 2);
	assert_int_equal(s.count, 4);
	gt_time_series_fini(&s);
}

static void add(struct gt_timeline *t, uint64_t time_ns, uint64_t bytes)
{
	gt_timeline_add(t, &(struct gt_moment){ .time_ns = time_ns, .device_bytes = bytes });
}

static void no_change_is_an_empty_timeline(void **state)
{
	struct gt_timeline *t = gt_timeline_new();

	gt_timeline_finish(t, 0);
	assert_int_equal(gt_timeline_mean(t), 0);
	assert_int_equal(gt_timeline_most(t, 0, UINT64_MAX), 0);
	gt_timeline_free(t);
}

static void the_mean_weighs_by_time(void **state)
{
	struct gt_timeline *t = gt_timeline_new();

	add(t, 0, 100);
	add(t, 1000, 300);
	gt_timeline_finish(t, 2000);
	assert_int_equal(gt_timeline_mean(t), 200);
	gt_timeline_free(t);
}

static void a_short_spike_survives_any_length(void **state)
{
	struct gt_timeline *t = gt_timeline_new();

	add(t, 500, 10);
	add(t, 501, 1000000);
	add(t, 502, 10);
	for (uint64_t i = 1; i < 100000; i++)
		add(t, i * 10000000, i % 7);
	gt_timeline_finish(t, 0);
	assert_in_range(t->series.count, GT_TIMELINE_MAX / 2 - 1, GT_TIMELINE_MAX);
	assert_int_equal(gt_timeline_most(t, 0, UINT64_MAX), 1000000);
	assert_int_equal(gt_timeline_peak(t, 0).time_ns, 501);
	assert_int_equal(gt_timeline_peak(t, 0).device_bytes, 1000000);
	assert_true(gt_timeline_most(t, t->end_ns / 2, UINT64_MAX) < 7);
	gt_timeline_free(t);
}

/* The initial value belongs to the previous row. For equal bytes, objects decide. */
static void a_peak_lies_within_its_row(void **state)
{
	struct gt_timeline *t = gt_timeline_new();

	add(t, 0, 50);
	add(t, 5000, 0);
	gt_timeline_add(t, &(struct gt_moment){ .time_ns = 5001, .host_bytes = 3, .objects = 2 });
	gt_timeline_add(t, &(struct gt_moment){ .time_ns = 5002, .host_bytes = 4, .objects = 1 });
	assert_int_equal(t->series.count, 2);
	assert_int_equal(gt_timeline_peak(t, 1).time_ns, 5001);
	assert_int_equal(gt_timeline_peak(t, 1).device_bytes, 0);
	assert_int_equal(gt_timeline_peak(t, 1).host_bytes, 3);
	add(t, 9000, 0);
	assert_int_equal(gt_timeline_peak(t, 2).time_ns, 9000);
	gt_timeline_free(t);
}

static void an_idle_period_keeps_the_previous_value(void **state)
{
	struct gt_timeline *t = gt_timeline_new();

	add(t, 1000, 50);
	add(t, 900000, 20);
	gt_timeline_finish(t, 2000000);
	assert_int_equal(gt_timeline_most(t, 400000, 500000), 50);
	assert_int_equal(gt_timeline_most(t, 1000000, 2000000), 20);
	assert_int_equal(gt_timeline_most(t, 0, 500), 0);
	gt_timeline_free(t);
}

static void time_never_goes_backwards_or_overflows(void **state)
{
	struct gt_timeline *t = gt_timeline_new();

	add(t, 1000, 5);
	add(t, 10, 6);
	assert_int_equal(t->now.time_ns, 1000);
	add(t, UINT64_MAX, 7);
	gt_timeline_finish(t, 0);
	assert_true(t->series.count <= GT_TIMELINE_MAX);
	assert_int_equal(t->now.device_bytes, 7);
	gt_timeline_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_changes_are_kept_exactly),
		cmocka_unit_test(many_changes_keep_their_extremes),
		cmocka_unit_test(idle_time_takes_no_rows),
		cmocka_unit_test(times_outside_the_range_do_no_harm),
		cmocka_unit_test(steps_double_when_time_exceeds_the_range),
		cmocka_unit_test(no_change_is_an_empty_timeline),
		cmocka_unit_test(the_mean_weighs_by_time),
		cmocka_unit_test(a_short_spike_survives_any_length),
		cmocka_unit_test(a_peak_lies_within_its_row),
		cmocka_unit_test(an_idle_period_keeps_the_previous_value),
		cmocka_unit_test(time_never_goes_backwards_or_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
