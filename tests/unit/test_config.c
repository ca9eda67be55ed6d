/* SPDX-License-Identifier: MIT */
/* test_config.c - lines of a configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int check(const char *folder, enum gt_option_local local, const char *value,
		 struct gt_error *error)
{
	const struct gt_option option = { .name = "baseline", .local = local };
	const struct gt_config_line line = {
		.key = (char *)"baseline", .value = (char *)value, .line = 7, .from = ".gputrackrc"
	};

	*error = (struct gt_error){ "" };
	return gt_config_check_local(&line, &option, folder, error);
}

static void a_local_file_sets_only_what_a_row_allows(void **state)
{
	struct gt_option unmarked = { .name = "x" };
	struct gt_error error;

	(void)state;
	assert_int_equal(unmarked.local, GT_LOCAL_NO);
	assert_int_equal(check("", GT_LOCAL_YES, "/etc/passwd", &error), 0);
	assert_int_not_equal(check("", GT_LOCAL_NO, "x", &error), 0);
	assert_non_null(strstr(error.text, ".gputrackrc:7: "));
	assert_non_null(strstr(error.text, "type --baseline"));
}

static void a_file_that_a_local_file_names_lies_below(void **state)
{
	static const char *const good[] = { "below/f", "./below/../below/f", "below", "missing",
					    "missing/f" };
	static const char *const bad[] = { "/etc/passwd",     "../f", "link/f", "below/../../f",
					   "missing/../../f", "",     "pipe",   ".." };
	char top[] = "/tmp/test_config.XXXXXX", folder[64], path[96];
	struct gt_error error;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(folder, sizeof folder, "%s/project/", top);
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(path, sizeof path, "%sbelow", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%sbelow/f", folder);
	fclose(fopen(path, "w"));
	snprintf(path, sizeof path, "%s/f", top);
	fclose(fopen(path, "w"));
	snprintf(path, sizeof path, "%slink", folder);
	assert_int_equal(symlink("..", path), 0);
	snprintf(path, sizeof path, "%spipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_int_equal(check(folder, GT_LOCAL_BELOW, good[i], &error), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_not_equal(check(folder, GT_LOCAL_BELOW, bad[i], &error), 0);
	unlink(path);
	for (int i = 0; i < 5; i++) {
		static const char *const left[] = { "project/link", "project/below/f", "f",
						    "project/below", "project" };

		snprintf(path, sizeof path, "%s/%s", top, left[i]);
		assert_int_equal(remove(path), 0);
	}
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(semicolons_separate_lines_in_the_variable),
		cmocka_unit_test(mistakes_name_their_line),
		cmocka_unit_test(a_local_file_sets_only_what_a_row_allows),
		cmocka_unit_test(a_file_that_a_local_file_names_lies_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
