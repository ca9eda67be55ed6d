/* SPDX-License-Identifier: MIT */
/* test_config.c - lines of a configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/config.h"

/* Replaces the one in main.c, which is not linked here. */
void gt_tell(const char *format, ...)
{
	(void)format;
}

static void lines_are_read(void **state)
{
	static const char text[] = "# comment\n\nformat = json\n"
				   "\trun.fail-on-leak=memory>=1MiB \r\nempty =";
	struct gt_config c = { 0 };
	struct gt_error error;

	(void)state;
	assert_int_equal(gt_config_parse(&c, "f", text, sizeof text - 1, "\n", &error), 0);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.lines[0].key, "format");
	assert_string_equal(c.lines[0].value, "json");
	assert_int_equal(c.lines[0].line, 3);
	assert_string_equal(c.lines[1].key, "run.fail-on-leak");
	assert_string_equal(c.lines[1].value, "memory>=1MiB");
	assert_string_equal(c.lines[2].value, "");
	gt_config_fini(&c);
}

static void semicolons_separate_lines_in_the_variable(void **state)
{
	static const char text[] = "a=1; b = 2 ;;\nc=3";
	struct gt_config c = { 0 };
	struct gt_error error;

	(void)state;
	assert_int_equal(gt_config_parse(&c, "f", text, sizeof text - 1, ";\n", &error), 0);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.lines[1].value, "2");
	assert_string_equal(c.lines[2].key, "c");
	gt_config_fini(&c);
}

static void mistakes_name_their_line(void **state)
{
	static const char *const texts[] = { "a = 1\nnonsense\n", "a = 1\n\0 = x\n" };
	static const size_t sizes[] = { 15, 12 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gt_config c = { 0 };
		struct gt_error error = { "" };

		assert_int_not_equal(gt_config_parse(&c, "f", texts[i], sizes[i], "\n", &error), 0);
		assert_non_null(strstr(error.text, "f:2: "));
		gt_config_fini(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(semicolons_separate_lines_in_the_variable),
		cmocka_unit_test(mistakes_name_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
