/* SPDX-License-Identifier: MIT */
/* test_growth_workloads.c - no clean program is said to grow, and nearly every leaking one is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "growth_workloads.h"

enum { SEEDS = 20 };

/* bench/growth_alarms.c has the rates; these seeds are among its first. */
static void no_clean_program_is_said_to_grow(void **state)
{
	for (size_t shape = 0; shape < CLEAN_WORKLOADS; shape++)
		for (uint64_t seed = 0; seed < SEEDS; seed++)
			if (clean_grows(shape, seed))
				fail_msg("%s, seed %u", clean_workloads[shape].name,
					 (unsigned)seed);
}

static void nearly_every_slow_leak_is_found(void **state)
{
	unsigned found = 0;

	for (size_t shape = 0; shape < CLEAN_WORKLOADS; shape++)
		for (uint64_t seed = 0; seed < SEEDS; seed++)
			found += leaky_grows(shape, seed);
	assert_in_range(found, CLEAN_WORKLOADS * SEEDS * 95 / 100, CLEAN_WORKLOADS * SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_clean_program_is_said_to_grow),
		cmocka_unit_test(nearly_every_slow_leak_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
