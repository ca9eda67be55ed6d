/* SPDX-License-Identifier: MIT */
/* test_legend.c - the names stored in a recording survive writing, reading and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/legend.h"

static const uint8_t id[] = { 1, 0, 2 }, other[] = { 1, 0, 3 };
static const struct gt_legend_name two[] = {
	{ .function = "inner", .file = "/src/a.c", .line = 7, .inlined = true },
	{ .function = "outer", .line = 0 },
};

static struct gt_legend *filled(void)
{
	struct gt_legend *names = gt_legend_new();

	gt_legend_add(names, "/bin/a", id, sizeof id, 0x1234, two, 2);
	gt_legend_add(names, "/bin/a", id, sizeof id, 0x1234, two + 1, 1); /* stays as it was */
	gt_legend_add(names, "/bin/b", NULL, 0, UINT64_MAX, two, 1);
	return names;
}

static void check(const struct gt_legend *names)
{
	const struct gt_legend_name *list;

	assert_int_equal(gt_legend_get(names, "/bin/a", id, sizeof id, 0x1234, &list), 2);
	assert_string_equal(list[0].function, "inner");
	assert_string_equal(list[0].file, "/src/a.c");
	assert_int_equal(list[0].line, 7);
	assert_true(list[0].inlined);
	assert_string_equal(list[1].function, "outer");
	assert_null(list[1].file);
	assert_false(list[1].inlined);
	assert_int_equal(gt_legend_get(names, "/bin/b", NULL, 0, UINT64_MAX, &list), 1);
	assert_int_equal(gt_legend_get(names, "/bin/a", other, sizeof other, 0x1234, &list), 0);
	assert_int_equal(gt_legend_get(names, "/bin/a", id, sizeof id, 0x1235, &list), 0);
	assert_int_equal(gt_legend_get(names, "/bin/c", NULL, 0, 0x1234, &list), 0);
}

static void names_round_trip(void **state)
{
	char path[] = "/tmp/test_legend.XXXXXX";
	struct gt_legend *names = filled(), *again;
	struct gt_error error;

	(void)state;
	close(mkstemp(path));
	check(names);
	assert_int_equal(gt_legend_write(names, path, &error), 0);
	again = gt_legend_read(path);
	check(again);
	gt_legend_free(again);
	gt_legend_free(names);
	unlink(path);
	names = gt_legend_read(path);
	assert_non_null(names);
	gt_legend_free(names);
}

static void a_truncated_file_yields_the_names_before_the_cut(void **state)
{
	char path[] = "/tmp/test_legend.XXXXXX";
	struct gt_legend *names = filled();
	const struct gt_legend_name *list;
	struct gt_error error;
	struct stat st;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(gt_legend_write(names, path, &error), 0);
	gt_legend_free(names);
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size - 1; size >= 0; size--) {
		assert_int_equal(truncate(path, size), 0);
		names = gt_legend_read(path);
		assert_int_equal(gt_legend_get(names, "/bin/b", NULL, 0, UINT64_MAX, &list), 0);
		gt_legend_free(names);
	}
	unlink(path);
}

static void an_unwritable_path_is_an_error(void **state)
{
	struct gt_legend *names = filled();
	struct gt_error error = { "" };

	(void)state;
	assert_int_not_equal(gt_legend_write(names, "/nowhere/names", &error), 0);
	assert_non_null(strstr(error.text, "/nowhere/names"));
	gt_legend_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_round_trip),
		cmocka_unit_test(a_truncated_file_yields_the_names_before_the_cut),
		cmocka_unit_test(an_unwritable_path_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
