/* SPDX-License-Identifier: MIT */
/* test_residue_sums.c - what handle after handle leaves, apart from what is left once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tracker/malloc_use.h"
#include "tracker/residue_sums.h"

enum { ERA = 7 };

static const enum gt_label LABEL = GT_LABEL_FENCE;

static bool is_malloc_known = true;
static int watched;

bool gt_malloc_use_is_known(void)
{
	return is_malloc_known;
}

void gt_malloc_use_watch(void)
{
	watched++;
}

/* Destroys a fence whose calls before cost `before`, and whose last call costs `last`. */
static struct gt_left destroy(struct gt_cost before, struct gt_cost last)
{
	struct gt_ending ending = { .gone = { .function = GT_FN_zeFenceCreate, .handle = 1 },
				    .cost = before };

	gt_residue_add(&ending, &last);
	return ending.left;
}

/* One that leaves so many KB of mapped memory. */
static struct gt_left leave_kb(int32_t kb)
{
	return destroy((struct gt_cost){ .era = ERA },
		       (struct gt_cost){ .era = ERA, .data_kb = kb, .anon_kb = kb, .size_kb = kb });
}

/* One that leaves so many bytes of memory that malloc held free before. */
static void leave_bytes(int32_t bytes)
{
	destroy((struct gt_cost){ .era = ERA },
		(struct gt_cost){ .era = ERA, .free_16 = -bytes / 16 });
}

static int start_anew(void **state)
{
	(void)state;
	gt_residue_restart();
	is_malloc_known = true;
	watched = 0;
	return 0;
}

static void what_every_handle_leaves_is_residue_from_the_fourth_on(void **state)
{
	(void)state;
	for (int n = 1; n <= 1000; n++) {
		struct gt_left left = leave_kb(8);

		assert_int_equal(left.kept_kb, 8);
		assert_int_equal(left.label_kb, n < 4 ? 0 : 8 * n);
		assert_true(left.has_grown == (n >= 4));
		assert_int_equal(gt_residue_kb(LABEL), left.label_kb);
		assert_int_equal(gt_residue_once_kb(LABEL), n < 4 ? 8 * n : 0);
		assert_int_equal(gt_residue_total_kb(), left.label_kb);
	}
	assert_int_equal(watched, 1000);
}

static void what_the_first_handle_leaves_more_is_left_once(void **state)
{
	(void)state;
	leave_kb(1000);
	for (int n = 2; n <= 100; n++)
		leave_kb(8);
	assert_int_equal(gt_residue_kb(LABEL), 800);
	assert_int_equal(gt_residue_once_kb(LABEL), 992);
}

/* Whichever handle it was, and however many there are. */
static void what_one_handle_leaves_is_no_residue(void **state)
{
	for (int at = 1; at <= 200; at++) {
		start_anew(state);
		for (int n = 1; n <= 200; n++) {
			leave_kb(n == at ? 5000 : 0);
			assert_int_equal(gt_residue_kb(LABEL), 0);
		}
		assert_int_equal(gt_residue_once_kb(LABEL), 5000);
	}
}

static void what_stops_is_no_residue_any_more(void **state)
{
	(void)state;
	for (int n = 1; n <= 100; n++)
		leave_kb(8);
	assert_int_equal(gt_residue_kb(LABEL), 800);
	for (int n = 101; n <= 512; n++)
		leave_kb(0);
	assert_int_equal(gt_residue_kb(LABEL), 0);
	assert_int_equal(gt_residue_once_kb(LABEL), 800);
	assert_int_equal(gt_residue_total_kb(), 0);
}

static void what_is_given_back_was_not_kept(void **state)
{
	(void)state;
	for (int n = 1; n <= 200; n++) {
		leave_kb(n % 2 ? 64 : -64);
		assert_int_equal(gt_residue_kb(LABEL), 0);
	}
}

/* malloc's cache of a thread fills up that slowly, to 256 KB. */
static void little_of_each_handle_counts_when_it_is_much_in_all(void **state)
{
	int n = 0;

	(void)state;
	for (; n < 500; n++) {
		leave_bytes(512);
		assert_int_equal(gt_residue_kb(LABEL), 0);
	}
	for (; n < 1000; n++)
		leave_bytes(512);
	assert_int_equal(gt_residue_kb(LABEL), 500);
}

static void memory_that_malloc_holds_free_was_not_kept(void **state)
{
	struct gt_left left;

	(void)state;
	for (int n = 0; n < 100; n++) {
		/* 1 MB of which 1020 KB are free again: 4 KB were kept */
		left = destroy((struct gt_cost){ .era = ERA, .data_kb = 1024, .anon_kb = 1024 },
			       (struct gt_cost){ .era = ERA, .free_16 = 1020 * 64 });
		assert_int_equal(left.kept_kb, 4);
	}
	assert_int_equal(gt_residue_kb(LABEL), 400);
}

/* Where other threads use malloc, what is no longer free may be theirs. */
static void memory_taken_from_malloc_counts_if_there_is_one_thread(void **state)
{
	struct gt_cost last = { .era = ERA, .free_16 = -4096 / 16 };

	for (int crowded = 0; crowded < 2; crowded++) {
		start_anew(state);
		last.crowded = crowded;
		for (int n = 0; n < 100; n++)
			destroy((struct gt_cost){ .era = ERA }, last);
		assert_int_equal(gt_residue_kb(LABEL), crowded ? 0 : 400);
	}
}

/* The last call was measured, those before it were not. */
static void of_a_handle_of_another_era_the_last_call_counts(void **state)
{
	struct gt_cost before = { .era = ERA, .data_kb = 100, .anon_kb = 100 };
	struct gt_cost last = { .era = ERA + 1, .data_kb = 8, .anon_kb = 8 };

	for (int n = 0; n < 100; n++)
		destroy(before, last);
	assert_int_equal(gt_residue_kb(LABEL), 800);
	start_anew(state);
	last.data_kb = last.anon_kb = -8;
	for (int n = 0; n < 100; n++)
		destroy(before, last);
	assert_int_equal(gt_residue_kb(LABEL) + gt_residue_once_kb(LABEL), 0);
	last = (struct gt_cost){ .data_kb = 8, .anon_kb = 8 };
	for (int n = 0; n < 100; n++)
		destroy(before, last);
	assert_int_equal(gt_residue_kb(LABEL) + gt_residue_once_kb(LABEL), 0);
}

static void without_figures_of_malloc_the_size_of_the_process_counts(void **state)
{
	struct gt_cost last = { .data_kb = 8, .anon_kb = 8 };

	(void)state;
	is_malloc_known = false;
	for (int n = 0; n < 100; n++)
		destroy((struct gt_cost){ 0 }, last);
	assert_int_equal(gt_residue_kb(LABEL), 800);
}

static void uncertain_calls_count_nothing(void **state)
{
	struct gt_cost sure = { .era = ERA, .data_kb = 8, .anon_kb = 8 }, unsure = sure;

	(void)state;
	unsure.uncertain = true;
	for (int n = 0; n < 100; n++) {
		destroy(sure, unsure);
		destroy(unsure, sure);
	}
	assert_int_equal(gt_residue_kb(LABEL) + gt_residue_once_kb(LABEL), 0);
}

static void address_space_that_nobody_touched_was_not_kept(void **state)
{
	(void)state;
	for (int n = 0; n < 100; n++)
		destroy((struct gt_cost){ .era = ERA },
			(struct gt_cost){ .era = ERA, .data_kb = 1 << 20, .size_kb = 1 << 20 });
	assert_int_equal(gt_residue_kb(LABEL) + gt_residue_once_kb(LABEL), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, start_anew)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_every_handle_leaves_is_residue_from_the_fourth_on),
		TEST(what_the_first_handle_leaves_more_is_left_once),
		TEST(what_one_handle_leaves_is_no_residue),
		TEST(what_stops_is_no_residue_any_more),
		TEST(what_is_given_back_was_not_kept),
		TEST(little_of_each_handle_counts_when_it_is_much_in_all),
		TEST(memory_that_malloc_holds_free_was_not_kept),
		TEST(memory_taken_from_malloc_counts_if_there_is_one_thread),
		TEST(of_a_handle_of_another_era_the_last_call_counts),
		TEST(without_figures_of_malloc_the_size_of_the_process_counts),
		TEST(uncertain_calls_count_nothing),
		TEST(address_space_that_nobody_touched_was_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
