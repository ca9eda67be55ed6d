/* SPDX-License-Identifier: MIT */
/* test_format.c - numbers for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/format.h"

static void sizes_have_three_digits_and_a_binary_unit(void **state)
{
	/* clang-format off */
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" }, { 1, "1 B" }, { 1000, "1,000 B" }, { 1023, "1,023 B" },
		{ 1024, "1.00 KiB" }, { 1048575, "1.00 MiB" }, { 1048576, "1.00 MiB" },
		{ 1024 * 10 - 1, "10.0 KiB" }, { 1024 * 100 - 1, "100 KiB" },
		{ 1024 * 1000, "1,000 KiB" },
		{ 3000000, "2.86 MiB" }, { 64ull << 30, "64.0 GiB" }, { UINT64_MAX, "16.0 EiB" },
	};
	/* clang-format on */
	char out[GT_FORMAT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(gt_format_bytes(out, cases[i].bytes), cases[i].text);
}

static void counts_are_grouped_by_thousands(void **state)
{
	char out[GT_FORMAT_MAX];

	(void)state;
	assert_string_equal(gt_format_count(out, 0), "0");
	assert_string_equal(gt_format_count(out, 999), "999");
	assert_string_equal(gt_format_count(out, 1000), "1,000");
	assert_string_equal(gt_format_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void durations_choose_their_unit(void **state)
{
	/* clang-format off */
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0.000 s" }, { 1500000, "0.002 s" }, { 9999600000, "10.00 s" },
		{ 75300000000, "75.30 s" }, { 599900000000, "599.9 s" },
		{ 600000000000, "10 min 00 s" },
		{ 3599000000000, "1 h 00 min" }, { 3600000000000 * 3 + 720000000000, "3 h 12 min" },
		{ 86400000000000 * 3, "3 d 00 h" },
	};
	/* clang-format on */
	char out[GT_FORMAT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(gt_format_span(out, cases[i].ns), cases[i].text);
}

static void times_are_local_and_iso(void **state)
{
	const uint64_t noon_ns = 1772366400000000000u;
	char out[GT_FORMAT_MAX];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_string_equal(gt_format_moment(out, noon_ns), "2026-03-01T12:00:00+00:00");
	setenv("TZ", "XYZ-5:45", 1);
	tzset();
	assert_string_equal(gt_format_moment(out, noon_ns), "2026-03-01T17:45:00+05:45");
}

static void only_whole_numbers_are_counts(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_true(gt_count_parse("0", &value) && value == 0);
	assert_true(gt_count_parse("18446744073709551615", &value) && value == UINT64_MAX);
	value = 7;
	assert_false(gt_count_parse("18446744073709551616", &value));
	assert_false(gt_count_parse("99999999999999999999999", &value));
	assert_false(gt_count_parse("", &value));
	assert_false(gt_count_parse("-1", &value));
	assert_false(gt_count_parse(" 1", &value));
	assert_false(gt_count_parse("1k", &value));
	assert_int_equal(value, 7);
}

static void numbers_may_have_a_decimal_point_and_nothing_else(void **state)
{
	static const char *const none[] = {
		"",    ".",     "-1", "+1",   "1e3", "inf",
		"nan", "1.2.3", " 1", "0x10", "1,5", "1234567890123456789012345678901"
	};
	double value = -1;

	(void)state;
	assert_true(gt_decimal_parse("0.2", &value) && value == 0.2);
	assert_true(gt_decimal_parse("5", &value) && value == 5);
	assert_true(gt_decimal_parse(".5", &value) && value == 0.5);
	assert_true(gt_decimal_parse("5.", &value) && value == 5);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(gt_decimal_parse(none[i], &value));
}

static void numbers_in_files_are_integers_within_bounds(void **state)
{
	assert_int_equal(gt_whole(3.9), 3);
	assert_int_equal(gt_whole(-3.9), 0);
	assert_int_equal(gt_whole(0.0 / 0.0), 0);
	assert_int_equal(gt_whole(0x1p63), UINT64_C(1) << 63);
	assert_int_equal(gt_whole(0x1p64), UINT64_MAX);
	assert_int_equal(gt_whole(1e300), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_three_digits_and_a_binary_unit),
		cmocka_unit_test(counts_are_grouped_by_thousands),
		cmocka_unit_test(durations_choose_their_unit),
		cmocka_unit_test(times_are_local_and_iso),
		cmocka_unit_test(only_whole_numbers_are_counts),
		cmocka_unit_test(numbers_may_have_a_decimal_point_and_nothing_else),
		cmocka_unit_test(numbers_in_files_are_integers_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
