/* SPDX-License-Identifier: MIT */
/* test_intern.c - equal bytes have one number, different bytes different ones. */
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void numbers_count_from_zero_in_order_of_appearance(void **state)
{
	struct gt_intern *in = gt_intern_new();

	assert_int_equal(gt_intern(in, "a", 1), 0);
	assert_int_equal(gt_intern(in, "b", 1), 1);
	assert_int_equal(gt_intern(in, "a", 1), 0);
	assert_int_equal(gt_intern_count(in), 2);
	gt_intern_free(in);
}

static void length_tells_strings_apart(void **state)
{
	struct gt_intern *in = gt_intern_new();

	assert_int_equal(gt_intern(in, "", 0), 0);
	assert_int_equal(gt_intern(in, "\0", 1), 1);
	assert_int_equal(gt_intern(in, "\0\0", 2), 2);
	assert_int_equal(gt_intern(in, "\0\0\0\0\0\0\0\0", 8), 3);
	assert_int_equal(gt_intern(in, "\0\0\0\0\0\0\0\0\0", 9), 4);
	assert_int_equal(gt_intern(in, "", 0), 0);
	assert_int_equal(gt_intern(in, NULL, 0), 0);
	gt_intern_free(in);
}

static void bytes_come_back_aligned_and_unchanged_after_growth(void **state)
{
	enum { COUNT = 50000 };
	struct gt_intern *in = gt_intern_new();
	char text[32];
	size_t size;

	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(gt_intern(in, text, (size_t)sprintf(text, "%u", i * 7)), i);
	for (uint32_t i = 0; i < COUNT; i++) {
		int length = sprintf(text, "%u", i * 7);
		const void *bytes = gt_intern_get(in, i, &size);

		assert_int_equal((uintptr_t)bytes % sizeof(uint64_t), 0);
		assert_int_equal(size, length);
		assert_memory_equal(bytes, text, size);
		assert_int_equal(gt_intern(in, text, size), i);
	}
	assert_int_equal(gt_intern_count(in), COUNT);
	gt_intern_free(in);
}

static void what_is_interned_is_a_copy(void **state)
{
	struct gt_intern *in = gt_intern_new();
	char text[] = "abc";
	size_t size;

	gt_intern(in, text, 3);
	text[0] = 'x';
	assert_memory_equal(gt_intern_get(in, 0, &size), "abc", 3);
	assert_int_equal(gt_intern(in, text, 3), 1);
	gt_intern_free(in);
}

static void freeing_none_is_allowed(void **state)
{
	gt_intern_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_count_from_zero_in_order_of_appearance),
		cmocka_unit_test(length_tells_strings_apart),
		cmocka_unit_test(bytes_come_back_aligned_and_unchanged_after_growth),
		cmocka_unit_test(what_is_interned_is_a_copy),
		cmocka_unit_test(freeing_none_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
