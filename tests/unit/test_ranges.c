/* SPDX-License-Identifier: MIT */
/* test_ranges.c - over each address lies what was put there last. */
#include "base/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NOBODY = UINT32_MAX };

static uint32_t at(const struct gt_ranges *r, uint64_t address)
{
	uint32_t owner;

	return gt_ranges_find(r, address, &owner) ? owner : NOBODY;
}

static void a_range_ends_where_it_ends(void **state)
{
	struct gt_ranges r = { 0 };

	assert_int_equal(at(&r, 0), NOBODY);
	gt_ranges_put(&r, 100, 10, 7);
	gt_ranges_put(&r, 200, 0, 8);
	assert_int_equal(at(&r, 99), NOBODY);
	assert_int_equal(at(&r, 100), 7);
	assert_int_equal(at(&r, 109), 7);
	assert_int_equal(at(&r, 110), NOBODY);
	assert_int_equal(at(&r, 200), NOBODY);
	gt_ranges_fini(&r);
	assert_int_equal(at(&r, 100), NOBODY);
}

static void the_first_and_the_last_address_are_addresses_too(void **state)
{
	struct gt_ranges r = { 0 };

	gt_ranges_put(&r, 0, UINT64_MAX, 1);
	assert_int_equal(at(&r, UINT64_MAX), NOBODY);
	gt_ranges_put(&r, UINT64_MAX, 1, 2);
	gt_ranges_put(&r, 0, 1, 3);
	assert_int_equal(at(&r, UINT64_MAX), 2);
	assert_int_equal(at(&r, UINT64_MAX - 1), 1);
	assert_int_equal(at(&r, 0), 3);
	assert_int_equal(at(&r, 1), 1);
	/* behind the last there is nothing */
	gt_ranges_put(&r, UINT64_MAX - 5, UINT64_MAX, 4);
	assert_int_equal(at(&r, UINT64_MAX), 4);
	assert_int_equal(at(&r, UINT64_MAX - 6), 1);
	assert_int_equal(at(&r, 0), 3);
	gt_ranges_fini(&r);
}

static void any_ranges_lie_as_they_were_laid(void **state)
{
	enum { SIZE = 512, ROUNDS = 3000 };
	uint32_t wanted[SIZE], seed = 1;
	struct gt_ranges r = { 0 };

	memset(wanted, 0xff, sizeof wanted);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t start = (seed = seed * 1664525u + 1013904223u) >> 16 & (SIZE - 1);
		uint32_t size = (seed = seed * 1664525u + 1013904223u) >> 16 & 31;

		if (start + size > SIZE)
			size = SIZE - start;
		gt_ranges_put(&r, start, size, i);
		for (uint32_t k = start; k < start + size; k++)
			wanted[k] = i;
		for (uint32_t k = 0; k < SIZE; k++)
			assert_int_equal(at(&r, k), wanted[k]);
	}
	gt_ranges_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_ends_where_it_ends),
		cmocka_unit_test(the_first_and_the_last_address_are_addresses_too),
		cmocka_unit_test(any_ranges_lie_as_they_were_laid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
