/* SPDX-License-Identifier: MIT */
/* test_scale.c - ticks are round, few, and formatted for people. */
#include "plot/scale.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void value_axes_end_at_ticks_and_include_zero(void **state)
{
	struct gt_scale s = gt_scale_values(3, 97, 5, 0);

	assert_true(s.low == 0 && s.high == 100 && s.step == 20 && s.decimals == 0);
	s = gt_scale_values(-0.7, 0.2, 6, 0);
	assert_true(fabs(s.low + 0.8) < 1e-9 && fabs(s.high - 0.2) < 1e-9 && s.decimals == 1);
	s = gt_scale_values(0, 0, 5, 0);
	assert_true(s.low == 0 && s.high == 1);
	s = gt_scale_values(-5, -3, 5, 0);
	assert_true(s.low == -5 && s.high == 0);
	s = gt_scale_values(0, 2, 8, 1);
	assert_true(s.step == 1 && s.decimals == 0);
}

static void no_scale_has_too_many_ticks(void **state)
{
	static const double sizes[] = { 1e-12, 0.003, 1, 17, 99999, 3e9, 1.8e19 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (unsigned ticks = 1; ticks < 13; ticks++) {
			struct gt_scale s = gt_scale_values(0, sizes[i], ticks, 0);
			struct gt_scale x = gt_scale_span(sizes[i] / 3, sizes[i], ticks);

			assert_true((s.high - s.low) / s.step <= ticks + 0.01);
			assert_true(s.high >= sizes[i] * (1 - 1e-9));
			assert_true((x.high - x.low) / x.step <= ticks + 0.01);
			assert_true(gt_scale_first(&x) >= x.low - x.step * 1e-3);
		}
}

static void a_single_point_is_centred(void **state)
{
	struct gt_scale s = gt_scale_span(42, 42, 5);

	assert_true(gt_scale_share(&s, 42) == 0.5);
	s = gt_scale_span(1.7e18, 1.7e18, 5);
	assert_true(s.low < s.high && gt_scale_first(&s) + s.step > gt_scale_first(&s));
}

static void numbers_have_thousands_separators_and_no_minus_zero(void **state)
{
	char text[GT_REAL_MAX];

	assert_string_equal(gt_real_format(text, 1234567.891, 2), "1,234,567.89");
	assert_string_equal(gt_real_format(text, -1234, 0), "-1,234");
	assert_string_equal(gt_real_format(text, -0.001, 2), "0.00");
	assert_string_equal(gt_real_format(text, 0.5, 1), "0.5");
	assert_string_equal(gt_real_format(text, 1e18, 0), "1e+18");
	assert_string_equal(gt_real_format(text, 999.999, 2), "1,000.00");
}

static void long_durations_use_long_units(void **state)
{
	static const struct {
		double span_s;
		const char *name;
	} cases[] = {
		{ 0, "ms" },           { 1.9, "ms" },    { 2, "s" },
		{ 1199, "s" },         { 1200, "min" },  { 5 * 3600, "h" },
		{ 4 * 86400, "days" }, { 1e15, "days" }, { INFINITY, "days" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(gt_time_unit_for(cases[i].span_s).name, cases[i].name);
	assert_true(gt_time_unit_for(7200).seconds == 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_axes_end_at_ticks_and_include_zero),
		cmocka_unit_test(no_scale_has_too_many_ticks),
		cmocka_unit_test(a_single_point_is_centred),
		cmocka_unit_test(numbers_have_thousands_separators_and_no_minus_zero),
		cmocka_unit_test(long_durations_use_long_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
