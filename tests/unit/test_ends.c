/* SPDX-License-Identifier: MIT */
/* test_ends.c - the file of process end times: its lines, and what is not one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "test_scratch.h"
#include "trace/info.h"

static struct gt_ends *read_text(const char *text)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof path, "%s/ends", scratch);
	out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	return gt_ends_read(path);
}

static void the_last_line_of_each_trace_counts(void **state)
{
	struct gt_ends *ends = read_text(GT_ENDS_MAGIC "9.trace 70\n10.trace 20\n9.trace 40\n"
						       "1.trace 18446744073709551615\n");

	(void)state;
	assert_int_equal(gt_ends_find(ends, "9.trace").time_ns, 40);
	assert_int_equal(gt_ends_find(ends, "10.trace").time_ns, 20);
	assert_int_equal(gt_ends_find(ends, "1.trace").time_ns, UINT64_MAX);
	assert_int_equal(gt_ends_find(ends, "0.trace").time_ns, 0);
	assert_int_equal(gt_ends_find(ends, "11.trace").time_ns, 0);
	gt_ends_free(ends);
}

static void malformed_lines_are_skipped(void **state)
{
	struct gt_ends *ends = read_text(GT_ENDS_MAGIC "a\n 1\nb -1\nc 1x\nd 99999999999999999999\n"
						       "\n" GT_ENDS_MAGIC "e  2\nf 3\ng 4");
	static const char *const none[] = { "a", "", "b", "c", "d", "e", "g" };

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(gt_ends_find(ends, none[i]).time_ns, 0);
	assert_int_equal(gt_ends_find(ends, "f").time_ns, 3);
	gt_ends_free(ends);
}

static void missing_or_foreign_files_have_no_ends(void **state)
{
	struct gt_ends *ends = read_text("9.trace 70\n");
	char path[64];

	(void)state;
	assert_int_equal(gt_ends_find(ends, "9.trace").time_ns, 0);
	gt_ends_free(ends);
	snprintf(path, sizeof path, "%s/absent", scratch);
	ends = gt_ends_read(path);
	assert_int_equal(gt_ends_find(ends, "9.trace").time_ns, 0);
	gt_ends_free(ends);
	ends = gt_ends_read(scratch);
	assert_int_equal(gt_ends_find(ends, "9.trace").time_ns, 0);
	gt_ends_free(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_line_of_each_trace_counts),
		cmocka_unit_test(malformed_lines_are_skipped),
		cmocka_unit_test(missing_or_foreign_files_have_no_ends),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
