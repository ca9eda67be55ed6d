/* SPDX-License-Identifier: MIT */
/* test_plot_readers.c - fields, numbers and times of lines; formats by their first line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "plot/read_rows.h"
#include "plot/read_monitor.h"
#include "plot/read_usage.h"

/* Rows over a text. */
static void open_text(struct gt_rows *r, const char *text)
{
	char path[] = "/tmp/test_table.XXXXXX";
	struct gt_error error;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(gt_rows_open(r, path, &error), 0);
	unlink(path);
}

static void blanks_and_quotes_are_stripped_from_fields(void **state)
{
	struct gt_rows r;

	open_text(&r, "\xef\xbb\xbf"
		      "a, b ,\"c, \"\"d\"\"\",\r\n\n  \nlast\n");
	assert_true(gt_rows_next(&r));
	assert_int_equal(r.count, 4);
	assert_string_equal(r.fields[0], "a");
	assert_string_equal(r.fields[1], "b");
	assert_string_equal(r.fields[2], "c, \"d\"");
	assert_string_equal(r.fields[3], "");
	gt_rows_again(&r);
	assert_true(gt_rows_next(&r));
	assert_string_equal(r.fields[0], "a");
	assert_true(gt_rows_next(&r));
	assert_string_equal(r.fields[0], "last");
	assert_int_equal(r.number, 4);
	assert_false(r.cut);
	assert_false(gt_rows_next(&r));
	gt_rows_close(&r);
}

static void an_endless_line_is_cut(void **state)
{
	struct gt_rows r;

	open_text(&r, "a\tb\n1\t2");
	assert_true(gt_rows_next(&r) && !r.cut);
	assert_int_equal(r.separator, '\t');
	assert_true(gt_rows_next(&r) && r.cut);
	gt_rows_close(&r);
}

static void long_lines_and_many_fields_are_bounded(void **state)
{
	size_t size = GT_ROW_MAX * 3;
	char *text = malloc(size + 1);
	struct gt_rows r;

	memset(text, ',', size);
	text[size - 3] = '\n';
	text[size] = '\0';
	open_text(&r, text);
	assert_true(gt_rows_next(&r));
	assert_int_equal(r.count, GT_ROW_FIELDS);
	assert_true(gt_rows_next(&r));
	assert_int_equal(r.count, 3);
	gt_rows_close(&r);
	free(text);
}

static void numbers_are_whole_words(void **state)
{
	static const char *const good[] = { "0", "-5", "1.5", "1e3", "+2", "123456789012345678" };
	static const char *const bad[] = { "",
					   "-",
					   "abc",
					   "1x",
					   "nan",
					   "inf",
					   "0x10",
					   "1e99",
					   "1 2",
					   "--1",
					   "99999999999999999999999" };
	double value;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(gt_number_parse(good[i], &value));
		assert_true(value == strtod(good[i], NULL));
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(gt_number_parse(bad[i], &value));
}

static void times_are_local(void **state)
{
	static const char *const bad[] = { "",
					   "2025",
					   "2025/06/22",
					   "2025/13/01 00:00:00",
					   "2025/06/22 23:15:07.",
					   "2025/06/22 23:15:07x",
					   "2025/06/22 23:61:07",
					   "timestamp" };
	double utc, there;

	setenv("TZ", "UTC", 1);
	tzset();
	assert_true(gt_moment_parse("2025/06/22 23:15:07.123", &utc));
	assert_true(utc > 1750634107.1229 && utc < 1750634107.1231);
	assert_true(gt_moment_parse("2025-06-22T23:15:07", &there) && there == 1750634107);
	setenv("TZ", "EAT-3", 1);
	tzset();
	assert_true(gt_moment_parse("2025/06/22 23:15:07.123", &there));
	assert_true(utc - there == 3 * 3600);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(gt_moment_parse(bad[i], &utc));
	setenv("TZ", "UTC", 1);
	tzset();
}

static void the_first_line_identifies_the_format(void **state)
{
	static const struct {
		const char *text;
		enum gt_table_kind kind;
	} cases[] = {
		{ "", GT_TABLE_EMPTY },
		{ "\n\n", GT_TABLE_EMPTY },
		{ "prose\n", GT_TABLE_UNKNOWN },
		{ "CallNumber,TimeMs,APICall,VmRSS_KB\n", GT_TABLE_TRACKER },
		{ "time(ns)\ttotal (B)\n", GT_TABLE_USAGE },
		{ "time_ns\tdevice_bytes\thost_bytes\tobjects\n", GT_TABLE_USAGE },
		{ "12\t34\n", GT_TABLE_USAGE },
		{ "chart\tcurve\tx axis\ty axis\tx\ty\n", GT_TABLE_CHARTS },
		{ "timestamp, memory.used [MiB]\n", GT_TABLE_SMI },
		{ "2025/06/22 23:15:07.123, 1024\n", GT_TABLE_SMI },
		{ "timestamp,description,pid,name,cpu_percent,memory_mb\n", GT_TABLE_MONITOR },
		{ "2025-09-11 16:42:32,2746692,trace,0.0,89.1,0.1,50.9,0.0\n", GT_TABLE_MONITOR },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_rows r;

		open_text(&r, cases[i].text);
		assert_int_equal(gt_table_kind(&r), cases[i].kind);
		gt_rows_close(&r);
	}
}

static void a_usage_table_has_its_peak_and_first_change(void **state)
{
	struct gt_usage_table *t;
	struct gt_error error;
	struct gt_rows r;

	open_text(&r, "time_ns\tdevice_bytes\tobjects\n0\t0\t1\n1000000000\t5\t2\nx\ty\tz\n"
		      "2000000000\t9\t1\n3000000000\t1\t1\n40");
	assert_int_equal(gt_usage_read(&t, &r, &error), 0);
	assert_int_equal(t->column_count, 1);
	assert_string_equal(t->names[0], "device");
	assert_int_equal(t->rows, 4);
	assert_int_equal(t->bad_rows, 2);
	assert_int_equal(t->bad_line, 4);
	assert_true(t->peak_bytes == 9 && t->peak_s == 2);
	gt_usage_free(t);
	gt_rows_close(&r);
}

static void runs_are_separated_and_begin_at_zero(void **state)
{
	struct gt_monitor_table *t;
	struct gt_error error;
	struct gt_rows r;

	open_text(&r, "timestamp,description,pid,name,cpu_percent,memory_mb\n"
		      "2025-09-11 16:42:30.5,\"a, b\",1,x,1,10\n"
		      "2025-09-11 16:42:32,,1,x,2,10\n"
		      "2025-09-11 16:42:32,,1,x,4,10\n"
		      "2025-09-11 16:42:33.5,\"a, b\",1,x,3,30\n");
	assert_int_equal(gt_monitor_read(&t, &r, &error), 0);
	assert_int_equal(t->run_count, 2);
	assert_string_equal(t->runs[0].name, "a, b (x, pid 1)");
	assert_string_equal(t->runs[1].name, "x, pid 1");
	assert_true(t->runs[0].last_s == 3 && t->runs[0].peak_memory == 30);
	/* two rows of one whole second */
	assert_true(gt_trail_x(&t->runs[1].cpu, 0) == 0 && gt_trail_x(&t->runs[1].cpu, 1) == 0.5);
	gt_monitor_free(t);
	gt_rows_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_and_quotes_are_stripped_from_fields),
		cmocka_unit_test(an_endless_line_is_cut),
		cmocka_unit_test(long_lines_and_many_fields_are_bounded),
		cmocka_unit_test(numbers_are_whole_words),
		cmocka_unit_test(times_are_local),
		cmocka_unit_test(the_first_line_identifies_the_format),
		cmocka_unit_test(a_usage_table_has_its_peak_and_first_change),
		cmocka_unit_test(runs_are_separated_and_begin_at_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
