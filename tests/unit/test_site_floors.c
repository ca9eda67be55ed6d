/* SPDX-License-Identifier: MIT */
/* test_site_floors.c - rows of steps say the same as all changes together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "ledger/site_floors.h"

enum { SITES = 5, CHANGES = 3000 };

struct change {
	uint64_t time_ns, held;
	uint32_t site;
};

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return gt_mix64(*state);
}

/* Mostly dense, with pauses of any length between. */
static uint64_t pause(uint64_t *random)
{
	uint64_t r = next_random(random);

	return r % 100 ? r / 100 % 5000 : UINT64_C(1) << (r / 100 % 36);
}

/* Least in a step, what it began with included; false if the site did not change in it. */
static bool least_in(const struct change *all, uint32_t site, uint64_t start_ns, uint64_t step_ns,
		     uint64_t step, uint64_t *low, uint64_t *last)
{
	bool changed = false;

	*last = 0;
	for (size_t i = 0; i < CHANGES; i++) {
		uint64_t at = (all[i].time_ns - start_ns) / step_ns;

		if (all[i].site != site || at > step)
			continue;
		if (at == step && !changed) {
			changed = true;
			*low = *last;
		}
		*last = all[i].held;
		if (changed && *last < *low)
			*low = *last;
	}
	return changed;
}

static void check_rows(const struct gt_site_floors *f, const struct change *all)
{
	uint32_t *ends, *numbers = gt_site_floors_by_site(f, SITES, &ends);

	for (uint32_t site = 0; site < SITES; site++) {
		uint32_t at = site ? ends[site - 1] : 0;

		for (uint32_t step = 0; step < GT_FLOOR_STEPS; step++) {
			uint64_t low, last;

			if (!least_in(all, site, f->start_ns, f->step_ns, step, &low, &last))
				continue;
			assert_in_range(at, 0, ends[site] - 1);
			assert_int_equal(f->rows[numbers[at]].site, site);
			assert_int_equal(f->rows[numbers[at]].step, step);
			assert_int_equal(f->rows[numbers[at]].low, low);
			assert_int_equal(f->rows[numbers[at]].last, last);
			at++;
		}
		assert_int_equal(at, ends[site]);
	}
	free(numbers);
	free(ends);
}

static void test_rows_are_what_all_changes_say(void **state)
{
	static struct change all[CHANGES];

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct gt_site_floors f = { 0 };
		uint64_t random = seed, time_ns = 1000000 * seed;

		for (size_t i = 0; i < CHANGES; i++) {
			time_ns += pause(&random);
			all[i] = (struct change){ time_ns, next_random(&random) % 1000,
						  (uint32_t)(next_random(&random) % SITES) };
			gt_site_floors_advance(&f, time_ns);
			gt_site_floors_set(&f, all[i].site, all[i].held);
		}
		gt_site_floors_flush(&f);
		check_rows(&f, all);
		gt_site_floors_fini(&f);
	}
}

static void test_time_does_not_run_back(void **state)
{
	struct gt_site_floors f = { 0 };

	(void)state;
	gt_site_floors_advance(&f, 500000);
	gt_site_floors_set(&f, 0, 7);
	gt_site_floors_advance(&f, 100);
	gt_site_floors_set(&f, 0, 3);
	gt_site_floors_advance(&f, UINT64_MAX);
	gt_site_floors_set(&f, 0, 9);
	gt_site_floors_end(&f, 1);
	assert_int_equal(f.row_count, 2);
	assert_int_equal(f.rows[0].step, 0);
	assert_int_equal(f.rows[0].last, 3);
	assert_in_range(f.rows[1].step, 32, GT_FLOOR_STEPS - 1);
	gt_site_floors_fini(&f);
}

static void test_sites_with_few_rows_are_dropped(void **state)
{
	struct gt_site_floors f = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		gt_site_floors_advance(&f, 1000000 + i * 10000);
		gt_site_floors_set(&f, 4, i);
		if (i < 2)
			gt_site_floors_set(&f, 2, i);
	}
	gt_site_floors_end(&f, 3);
	assert_int_equal(f.row_count, 3);
	for (size_t i = 0; i < f.row_count; i++)
		assert_int_equal(f.rows[i].site, 4);
	gt_site_floors_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_what_all_changes_say),
		cmocka_unit_test(test_time_does_not_run_back),
		cmocka_unit_test(test_sites_with_few_rows_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
