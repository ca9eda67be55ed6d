/* SPDX-License-Identifier: MIT */
/* test_small_printf.c - printf for the traced process says what the C library's says. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/small_printf.h"

/* The same text and length in any room, and nothing behind it. */
#define ASSERT_SAME(...)                                                                           \
	for (size_t room = 0; room < sizeof ours; room++) {                                        \
		int expected = snprintf(theirs, room, __VA_ARGS__);                                \
                                                                                                   \
		memset(ours, '#', sizeof ours);                                                    \
		assert_int_equal(gt_snprintf(ours, room, __VA_ARGS__), expected);                  \
		if (room)                                                                          \
			assert_string_equal(ours, theirs);                                         \
		for (size_t i = room; i < sizeof ours; i++)                                        \
			assert_int_equal(ours[i], '#');                                            \
	}

static char ours[100], theirs[100];

static void texts_are_the_same(void **state)
{
	(void)state;
	ASSERT_SAME("plain");
	ASSERT_SAME("%s and %s%%", "one", "");
	ASSERT_SAME("%.*s|%.3s|%.9s", 2, "abcdef", "abcdef", "abcdef");
	ASSERT_SAME("%c%c", 'x', 'y');
}

static void numbers_are_the_same(void **state)
{
	(void)state;
	ASSERT_SAME("%d %d %d", 0, -1, 12345);
	ASSERT_SAME("%+d %+d %+d", 0, -7, 7);
	ASSERT_SAME("%02d:%02d.%03ld %05d", 3, 42, 7l, 123456);
	ASSERT_SAME("%u %x %zu", 4000000000u, 0xdeadbeefu, (size_t)77);
	ASSERT_SAME("%" PRId64 " %+" PRId64 " %" PRIu64, INT64_MIN, INT64_MAX, UINT64_MAX);
	ASSERT_SAME("0x%" PRIx64 " 0x%" PRIx64, UINT64_MAX, UINT64_C(0));
}

static void an_unknown_conversion_ends_the_text(void **state)
{
	(void)state;
	/* the compiler must not see it */
	const char *volatile format = "before %f after";

	assert_int_equal(gt_snprintf(ours, sizeof ours, format, 1.5), 7);
	assert_string_equal(ours, "before ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_the_same),
		cmocka_unit_test(numbers_are_the_same),
		cmocka_unit_test(an_unknown_conversion_ends_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
