/* SPDX-License-Identifier: MIT */
/* test_stress.c - the stressor's plan and workers, on a fake device. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/stress/stress.h"

/* Counts requests; refuses more than `limit` blocks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t made, returned, alive, limit, highest, entered;

static int allocate(struct gt_stress_device *d, uint64_t size_bytes, void **block)
{
	int result = 2;

	(void)d;
	(void)size_bytes;
	pthread_mutex_lock(&lock);
	if (alive < limit) {
		alive++;
		made++;
		if (alive > highest)
			highest = alive;
		*block = (void *)(uintptr_t)made;
		result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static int release(struct gt_stress_device *d, void *block)
{
	(void)d;
	assert_non_null(block);
	pthread_mutex_lock(&lock);
	alive--;
	returned++;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int enter(struct gt_stress_device *d)
{
	(void)d;
	pthread_mutex_lock(&lock);
	entered++;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* clang-format off */
static const struct gt_stress_api api = {
	.allocate_name = "allocate", .allocate = allocate, .release = release, .enter = enter,
};
static struct gt_stress_device device = { .api = &api, .name = "none" };
/* clang-format on */

static struct gt_stress_totals run(const struct gt_stress_plan *plan, uint64_t blocks_max,
				   int expected)
{
	static const volatile sig_atomic_t never;
	struct gt_stress_totals totals;
	struct gt_error error;

	made = returned = alive = highest = entered = 0;
	limit = blocks_max;
	assert_int_equal(gt_stress_run(plan, &device, &never, &totals, &error), expected);
	assert_int_equal(totals.allocations, made);
	assert_int_equal(totals.frees, returned);
	assert_int_equal(totals.live, alive);
	assert_int_equal(entered, plan->threads);
	return totals;
}

/* The nth event happens at its time and not before. */
static void times_are_exact_with_any_number_of_threads(void **state)
{
	static const uint64_t rates[] = { 1, 3, 1000, 4000, 99999, 1000000000 };

	(void)state;
	for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
		for (uint32_t threads = 1; threads <= 3; threads++)
			for (uint32_t worker = 0; worker < threads; worker++)
				for (uint64_t n = 0; n < 2000; n += 7) {
					struct gt_stress_plan plan = { .rate = rates[r],
								       .threads = threads };
					uint64_t at = gt_stress_moment_ns(&plan, worker, n);

					assert_true(gt_stress_due(&plan, worker, at) >= n + 1);
					assert_true(!at ||
						    gt_stress_due(&plan, worker, at - 1) <= n);
				}
}

static void all_threads_together_make_the_requested_number(void **state)
{
	(void)state;
	for (uint32_t threads = 1; threads <= 5; threads++) {
		struct gt_stress_plan plan = { .rate = 4001,
					       .duration_ns = 2500000000u,
					       .threads = threads };
		uint64_t timed = 0, counted = 0;

		for (uint32_t i = 0; i < threads; i++)
			timed += gt_stress_budget(&plan, i);
		assert_int_equal(timed, 10002);
		plan.events = 7;
		for (uint32_t i = 0; i < threads; i++)
			counted += gt_stress_budget(&plan, i);
		assert_int_equal(counted, 7);
		plan = (struct gt_stress_plan){ .threads = threads };
		assert_true(gt_stress_budget(&plan, 0) == UINT64_MAX);
	}
}

static void the_ratio_is_the_freed_fraction(void **state)
{
	static const struct {
		double ratio;
		uint64_t events, allocations, frees;
	} cases[] = {
		{ 1, 2000, 1000, 1000 },     { 0, 2000, 2000, 0 }, { 0.5, 3000, 2000, 1000 },
		{ 0.1, 11000, 10000, 1000 }, { 0.25, 5, 4, 1 },    { 1, 7, 4, 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_stress_plan plan = { .size_bytes = 16,
					       .free_ratio = cases[i].ratio,
					       .events = cases[i].events,
					       .threads = 1 };
		struct gt_stress_totals totals = run(&plan, UINT64_MAX, 0);

		assert_int_equal(totals.allocations, cases[i].allocations);
		assert_int_equal(totals.frees, cases[i].frees);
		assert_int_equal(totals.live, cases[i].allocations - cases[i].frees);
		assert_int_equal(totals.failed + totals.cleared, 0);
		assert_true(cases[i].ratio < 1 || highest == 1);
	}
}

static void a_rate_limited_run_makes_every_event(void **state)
{
	struct gt_stress_plan plan = {
		.size_bytes = 16, .free_ratio = 1, .rate = 100000, .events = 5000, .threads = 3
	};
	struct gt_stress_totals totals = run(&plan, UINT64_MAX, 0);

	(void)state;
	assert_int_equal(totals.allocations + totals.frees, 5000);
	/* never ahead of its time: the last one is due 49.99 ms after the start */
	assert_true(totals.elapsed_ns >= 49990000);
}

static void everything_is_released_when_memory_runs_out(void **state)
{
	struct gt_stress_plan plan = { .size_bytes = 16, .events = 1000, .threads = 1 };
	struct gt_stress_totals totals = run(&plan, 100, 0);

	(void)state;
	/* 100 and a refusal, nine times over, and 91 at the end */
	assert_int_equal(totals.failed, 9);
	assert_int_equal(totals.cleared, 9);
	assert_int_equal(totals.allocations, 991);
	assert_int_equal(totals.frees, 900);
	plan.threads = 4;
	run(&plan, 100, 0);
	assert_true(highest <= 100);
}

static void failing_to_allocate_anything_ends_the_run(void **state)
{
	struct gt_stress_plan plan = { .size_bytes = 16, .threads = 1 };
	struct gt_stress_totals totals = run(&plan, 0, -ENOMEM);

	(void)state;
	assert_int_equal(totals.failed, 1);
	assert_int_equal(totals.allocations, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact_with_any_number_of_threads),
		cmocka_unit_test(all_threads_together_make_the_requested_number),
		cmocka_unit_test(the_ratio_is_the_freed_fraction),
		cmocka_unit_test(a_rate_limited_run_makes_every_event),
		cmocka_unit_test(everything_is_released_when_memory_runs_out),
		cmocka_unit_test(failing_to_allocate_anything_ends_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
