/* SPDX-License-Identifier: MIT */
/* test_growing_sites.c - sites that keep growing are found; those that grow for a while are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/growing_sites.h"

#define SECOND 1000000000ull
#define START  (1000 * SECOND)

/* A ledger being fed; handles count up. */
struct feed {
	struct gt_ledger *ledger;
	struct gt_growth *growth;
	uint64_t next;
};

static struct feed feed_new(void)
{
	return (struct feed){ gt_ledger_new(), gt_growth_new(), 1 };
}

static void apply(struct feed *f, const struct gt_event *e)
{
	gt_ledger_apply(f->ledger, e, 0);
	gt_growth_record(f->growth, f->ledger, e->time_ns);
}

static uint64_t create_by(struct feed *f, unsigned function, uint32_t stack, double seconds,
			  uint64_t size)
{
	struct gt_event e = { .function = (uint16_t)function,
			      .stack = stack,
			      .size = size,
			      .handle = f->next++,
			      .time_ns = START + (uint64_t)(seconds * 1e9) };

	apply(f, &e);
	return e.handle;
}

static uint64_t create(struct feed *f, uint32_t stack, double seconds, uint64_t size)
{
	return create_by(f, GT_FN_clCreateBuffer, stack, seconds, size);
}

static void release(struct feed *f, uint64_t handle, double seconds)
{
	apply(f, &(struct gt_event){ .function = GT_FN_clReleaseMemObject,
				     .handle = handle,
				     .time_ns = START + (uint64_t)(seconds * 1e9) });
}

/* Returns the number of growing sites, stores one of them in *r, and frees the feed. */
static size_t found(struct feed *f, struct gt_rise *r)
{
	size_t count;
	struct gt_rise *rises;

	gt_ledger_finish(f->ledger);
	rises = gt_growth_find(f->growth, f->ledger, &count);
	if (count && r)
		*r = rises[0];
	free(rises);
	gt_growth_free(f->growth);
	gt_ledger_free(f->ledger);
	return count;
}

static void memory_never_freed_is_growing(void **state)
{
	struct feed f = feed_new();
	struct gt_rise r;

	for (int i = 0; i < 1000; i++)
		create(&f, 1, i * 0.1, 1 << 20);
	assert_int_equal(found(&f, &r), 1);
	assert_true(r.bytes && !r.given_back);
	assert_true(r.per_second > 10.3e6 && r.per_second < 10.7e6);
	assert_true(r.steadiness == 1);
	assert_in_range(r.since_ns, START, START + 3 * SECOND);
	assert_in_range(r.until_ns, START + 97 * SECOND, START + 100 * SECOND);
}

static void growth_that_begins_late_is_dated(void **state)
{
	struct feed f = feed_new();
	struct gt_rise r;

	create(&f, 2, 0, 1);
	for (int i = 0; i < 600; i++)
		create(&f, 1, 40 + i * 0.1, 4096);
	assert_int_equal(found(&f, &r), 1);
	assert_in_range(r.since_ns, START + 37 * SECOND, START + 43 * SECOND);
}

static void an_early_single_allocation_is_not_the_start_of_growth(void **state)
{
	struct feed f = feed_new();
	struct gt_rise r;

	create(&f, 2, 0, 1);
	create(&f, 1, 18, 1 << 20);
	for (int i = 0; i < 350; i++)
		create(&f, 1, 25 + i * 0.1, 1 << 20);
	assert_int_equal(found(&f, &r), 1);
	assert_in_range(r.since_ns, START + 23 * SECOND, START + 27 * SECOND);
	assert_true(r.per_second > 10e6 && r.per_second < 11e6);
}

/* Each round allocates a hundred and frees all but `kept`. */
static size_t found_after_rounds(int rounds, int kept, struct gt_rise *r)
{
	struct feed f = feed_new();
	uint64_t held[100];

	for (int round = 0; round < rounds; round++) {
		double begin = round * 2.0;

		for (int i = 0; i < 100; i++)
			held[i] = create(&f, 1, begin + i * 0.01, 1 << 20);
		for (int i = kept; i < 100; i++)
			release(&f, held[i], begin + 1.95);
	}
	return found(&f, r);
}

static void cycles_longer_than_an_interval_do_not_hide_growth(void **state)
{
	struct gt_rise r;

	assert_int_equal(found_after_rounds(30, 2, &r), 1);
	assert_true(r.per_second > 1e6 && r.per_second < 1.1e6);
	assert_int_equal(found_after_rounds(30, 0, &r), 0);
}

static void a_cache_that_fills_and_empties_is_not_growing(void **state)
{
	struct feed f = feed_new();
	uint64_t held[50];

	for (int i = 0; i < 1000; i++) {
		held[i % 50] = create(&f, 1, i * 0.1, 1 << 20);
		for (int k = 0; i % 50 == 49 && k < 50; k++)
			release(&f, held[k], i * 0.1 + 0.01);
	}
	assert_int_equal(found(&f, NULL), 0);
}

static void allocations_at_startup_are_not_growing(void **state)
{
	struct feed f = feed_new();

	for (int i = 0; i < 100; i++)
		create(&f, 1, i * 0.05, 1 << 20);
	for (int i = 0; i < 500; i++)
		release(&f, create(&f, 2, 5 + i * 0.2, 1), 5.1 + i * 0.2);
	assert_int_equal(found(&f, NULL), 0);
}

/* Grows by 20 allocations a second for 20 s, then by this many in all until 100 s. */
static size_t found_after_slowing_down(int later, struct gt_rise *r)
{
	struct feed f = feed_new();

	for (int i = 0; i < 400; i++)
		create(&f, 1, i * 0.05, 1 << 20);
	for (int i = 0; i < later; i++)
		create(&f, 1, 20 + (i + 1) * 79.9 / later, 1 << 20);
	return found(&f, r);
}

static void growth_that_has_nearly_stopped_is_not_reported(void **state)
{
	(void)state;
	assert_int_equal(found_after_slowing_down(6, NULL), 0);
	assert_int_equal(found_after_slowing_down(200, NULL), 1);
}

static void a_leak_on_top_of_a_pool_is_dated_and_measured_alone(void **state)
{
	struct gt_rise r;

	(void)state;
	assert_int_equal(found_after_slowing_down(80, &r), 1);
	assert_in_range(r.since_ns, START + 17 * SECOND, START + 23 * SECOND);
	assert_true(r.per_second > 1.0e6 && r.per_second < 1.1e6);
}

/* Evenly, from the start to this second of a hundred; then nothing, or everything goes. */
static size_t found_in_ramp(double until, bool freed)
{
	struct feed f = feed_new();
	uint64_t held[500];

	for (int i = 0; i < 500; i++)
		held[i] = create(&f, 1, until * i / 500, 1 << 20);
	for (int i = 0; i < 500 && freed; i++)
		release(&f, held[i], until);
	create(&f, 2, 100, 1);
	return found(&f, NULL);
}

static void a_pool_that_reached_its_size_is_not_growing(void **state)
{
	(void)state;
	assert_int_equal(found_in_ramp(60, false), 0);
	assert_int_equal(found_in_ramp(90, false), 0);
	assert_int_equal(found_in_ramp(99, false), 1);
	/* a shutdown may take a while, a phase of the work is none */
	assert_int_equal(found_in_ramp(90, true), 1);
	assert_int_equal(found_in_ramp(60, true), 0);
}

static void a_rise_of_the_last_quarter_is_not_yet_growth(void **state)
{
	struct feed f = feed_new();

	create(&f, 2, 0, 1);
	for (int i = 0; i < 250; i++)
		create(&f, 1, 75 + i * 0.1, 1 << 20);
	assert_int_equal(found(&f, NULL), 0);
}

/* This many kernels, evenly over a hundred seconds. */
static size_t found_with_kernels(unsigned function, int count)
{
	struct feed f = feed_new();

	for (int i = 0; i < count; i++)
		create_by(&f, function, 1, i * 100.0 / count, 64);
	create(&f, 2, 100, 1);
	return found(&f, NULL);
}

static void kinds_created_once_need_more_evidence(void **state)
{
	(void)state;
	assert_int_equal(found_with_kernels(GT_FN_clCreateKernel, 5), 0);
	assert_int_equal(found_with_kernels(GT_FN_clCreateBuffer, 20), 1);
	assert_int_equal(found_with_kernels(GT_FN_clCreateKernel, 20), 0);
	assert_int_equal(found_with_kernels(GT_FN_clCreateKernel, 100), 1);
	assert_int_equal(found_with_kernels(GT_FN_clCreateCommandQueue, 20), 0);
	assert_int_equal(found_with_kernels(GT_FN_clCreateContext, 20), 0);
	assert_int_equal(found_with_kernels(GT_FN_clCreateProgramWithSource, 20), 0);
	assert_int_equal(found_with_kernels(GT_FN_clCreateUserEvent, 20), 1);
}

static void one_big_step_is_not_growth(void **state)
{
	struct feed f = feed_new();
	struct feed late = feed_new();

	for (int i = 0; i < 500; i++) {
		create(&f, 1, i * 0.2, i == 300 ? 1 << 30 : 4096);
		create(&late, 1, i * 0.2, i == 400 ? 1 << 30 : 4096);
	}
	assert_int_equal(found(&f, NULL), 0);
	assert_int_equal(found(&late, NULL), 0);
}

static void a_level_that_was_held_before_is_not_growth(void **state)
{
	struct feed f = feed_new();
	uint64_t held[500];

	/* up, down at 40 s, and up again to a little more */
	for (int i = 0; i < 500; i++)
		held[i] = create(&f, 1, i * 0.05, 1 << 20);
	for (int i = 0; i < 500; i++)
		release(&f, held[i], 40 + i * 0.01);
	for (int i = 0; i < 550; i++)
		create(&f, 1, 46 + i * 54.0 / 550, 1 << 20);
	assert_int_equal(found(&f, NULL), 0);
}

static void a_recording_of_a_second_is_too_short(void **state)
{
	struct feed f = feed_new();

	for (int i = 0; i < 1000; i++)
		create(&f, 1, i * 0.0019, 1 << 20);
	assert_int_equal(found(&f, NULL), 0);
}

static void a_few_steps_are_not_growth(void **state)
{
	struct feed f = feed_new();

	for (int i = 0; i < 3; i++)
		create(&f, 1, i * 30, 1 << 20);
	for (int i = 0; i < 500; i++)
		release(&f, create(&f, 2, i * 0.2, 1), 0.1 + i * 0.2);
	assert_int_equal(found(&f, NULL), 0);
}

static void growth_below_a_cache_is_found(void **state)
{
	struct feed f = feed_new();
	uint64_t held[20];
	struct gt_rise r;

	/* nineteen of twenty are freed */
	for (int i = 0; i < 2000; i++) {
		held[i % 20] = create(&f, 1, i * 0.05, 1000);
		for (int k = 0; i % 20 == 19 && k < 19; k++)
			release(&f, held[k], i * 0.05 + 0.01);
	}
	assert_int_equal(found(&f, &r), 1);
	assert_true(r.per_second > 950 && r.per_second < 1050);
}

static void memory_released_at_the_end_was_still_growing(void **state)
{
	struct feed f = feed_new();
	uint64_t held[500];
	struct gt_rise r;

	for (int i = 0; i < 500; i++)
		held[i] = create(&f, 1, i * 0.2, 4096);
	for (int i = 0; i < 500; i++)
		release(&f, held[i], 100.5);
	assert_int_equal(found(&f, &r), 1);
	assert_true(r.given_back);
}

static void recordings_of_any_length_are_accepted(void **state)
{
	struct feed f = feed_new();

	create(&f, 1, 0, 1);
	apply(&f, &(struct gt_event){ .function = GT_FN_clCreateBuffer,
				      .handle = 99,
				      .size = 1,
				      .time_ns = UINT64_MAX });
	apply(&f,
	      &(struct gt_event){
		      .function = GT_FN_clCreateBuffer, .handle = 98, .size = 1, .time_ns = 0 });
	assert_int_equal(found(&f, NULL), 0);
	f = feed_new();
	assert_int_equal(found(&f, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_never_freed_is_growing),
		cmocka_unit_test(growth_that_begins_late_is_dated),
		cmocka_unit_test(an_early_single_allocation_is_not_the_start_of_growth),
		cmocka_unit_test(cycles_longer_than_an_interval_do_not_hide_growth),
		cmocka_unit_test(a_cache_that_fills_and_empties_is_not_growing),
		cmocka_unit_test(allocations_at_startup_are_not_growing),
		cmocka_unit_test(growth_that_has_nearly_stopped_is_not_reported),
		cmocka_unit_test(a_leak_on_top_of_a_pool_is_dated_and_measured_alone),
		cmocka_unit_test(a_pool_that_reached_its_size_is_not_growing),
		cmocka_unit_test(a_rise_of_the_last_quarter_is_not_yet_growth),
		cmocka_unit_test(kinds_created_once_need_more_evidence),
		cmocka_unit_test(one_big_step_is_not_growth),
		cmocka_unit_test(a_level_that_was_held_before_is_not_growth),
		cmocka_unit_test(a_recording_of_a_second_is_too_short),
		cmocka_unit_test(a_few_steps_are_not_growth),
		cmocka_unit_test(growth_below_a_cache_is_found),
		cmocka_unit_test(memory_released_at_the_end_was_still_growing),
		cmocka_unit_test(recordings_of_any_length_are_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
