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

static uint64_t create(struct feed *f, uint32_t stack, double seconds, uint64_t size)
{
	struct gt_event e = { .function = GT_FN_clCreateBuffer,
			      .stack = stack,
			      .size = size,
			      .handle = f->next++,
			      .time_ns = START + (uint64_t)(seconds * 1e9) };

	apply(f, &e);
	return e.handle;
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

	create(&f, 1, 0, 1 << 20);
	for (int i = 0; i < 150; i++)
		create(&f, 1, 45 + i * 0.1, 1 << 20);
	assert_int_equal(found(&f, &r), 1);
	assert_in_range(r.since_ns, START + 43 * SECOND, START + 47 * SECOND);
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
static size_t found_after_slowing_down(int later)
{
	struct feed f = feed_new();

	for (int i = 0; i < 400; i++)
		create(&f, 1, i * 0.05, 1 << 20);
	for (int i = 0; i < later; i++)
		create(&f, 1, 20 + i * 80.0 / later, 1 << 20);
	return found(&f, NULL);
}

static void growth_that_has_nearly_stopped_is_not_reported(void **state)
{
	(void)state;
	assert_int_equal(found_after_slowing_down(20), 0);
	assert_int_equal(found_after_slowing_down(200), 1);
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
		cmocka_unit_test(a_few_steps_are_not_growth),
		cmocka_unit_test(growth_below_a_cache_is_found),
		cmocka_unit_test(memory_released_at_the_end_was_still_growing),
		cmocka_unit_test(recordings_of_any_length_are_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
