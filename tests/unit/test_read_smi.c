/* SPDX-License-Identifier: MIT */
/* test_read_smi.c - every form of nvidia-smi's log yields the same memory. */
#include "plot/read_smi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const double mib = 1048576;

static int read_text(struct gt_smi_log **log, const char *text, int gpu, struct gt_error *error)
{
	char path[] = "/tmp/test_smi.XXXXXX";
	struct gt_rows rows;
	int fd = mkstemp(path), e;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(gt_rows_open(&rows, path, error), 0);
	unlink(path);
	e = gt_smi_read(log, &rows, gpu, error);
	gt_rows_close(&rows);
	return e;
}

static void every_output_form_reads_the_same(void **state)
{
	static const char *const forms[] = {
		"2025/06/22 23:15:07.000, 100\n2025/06/22 23:15:08.000, 300\n",
		"timestamp, memory.used [MiB]\n"
		"2025/06/22 23:15:07.000, 100 MiB\n2025/06/22 23:15:08.000, 300 MiB\n",
		"timestamp, memory.used\n2025/06/22 23:15:07.000, 100\n2025/06/22 23:15:08.000, "
		"300\n",
		"name, memory.total [MiB], timestamp, memory.used [MiB]\n"
		"H200, 143771 MiB, 2025/06/22 23:15:07.000, 100 MiB\n"
		"H200, 143771 MiB, 2025/06/22 23:15:08.000, 300 MiB\n",
		"Unable to reach GPU: Unknown Error\n2025/06/22 23:15:07.000, 100\nerror\n"
		"2025/06/22 23:15:07.500, [N/A]\n2025/06/22 23:15:08.000, 300\n2025/06/22 "
		"23:15:09.000, 4",
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct gt_smi_log *log;
		struct gt_error error;

		assert_int_equal(read_text(&log, forms[i], GT_SMI_ALL, &error), 0);
		assert_int_equal(log->samples, 2);
		assert_int_equal(log->gpu_count, 1);
		assert_true(log->start_s == 1750634107);
		assert_true(gt_trail_value(&log->used, 0, 0) == 100 * mib);
		assert_true(gt_trail_value(&log->used, 1, 0) == 300 * mib);
		assert_true(log->peak_bytes == 300 * mib);
		gt_smi_free(log);
	}
}

static void gpus_of_one_sample_are_summed_or_selected(void **state)
{
	static const char *const forms[] = {
		"timestamp, index, memory.used [MiB]\n"
		"2025/06/22 23:15:07.001, 0, 100 MiB\n2025/06/22 23:15:07.003, 1, 10 MiB\n"
		"2025/06/22 23:15:08.001, 0, 300 MiB\n2025/06/22 23:15:08.003, 1, 10 MiB\n",
		"2025/06/22 23:15:07.001, 0, 100\n2025/06/22 23:15:07.003, 1, 10\n"
		"2025/06/22 23:15:08.001, 0, 300\n2025/06/22 23:15:08.003, 1, 10\n",
		"timestamp, memory.used [MiB]\n"
		"2025/06/22 23:15:07.001, 100 MiB\n2025/06/22 23:15:07.001, 10 MiB\n"
		"2025/06/22 23:15:08.001, 300 MiB\n2025/06/22 23:15:08.001, 10 MiB\n",
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct gt_smi_log *log;
		struct gt_error error;

		assert_int_equal(read_text(&log, forms[i], GT_SMI_ALL, &error), 0);
		assert_int_equal(log->gpu_count, 2);
		assert_int_equal(log->samples, 2);
		assert_true(gt_trail_value(&log->used, 0, 0) == 110 * mib);
		assert_true(gt_trail_value(&log->used, 1, 0) == 310 * mib);
		gt_smi_free(log);
		assert_int_equal(read_text(&log, forms[i], 1, &error), 0);
		assert_true(log->peak_bytes == 10 * mib);
		gt_smi_free(log);
		assert_int_not_equal(read_text(&log, forms[i], 2, &error), 0);
		assert_non_null(strstr(error.text, "no GPU 2"));
	}
}

static void a_log_without_samples_says_what_is_missing(void **state)
{
	static const char *const logs[] = { "", "NVIDIA-SMI has failed\n",
					    "timestamp, memory.used\n",
					    "2025/06/22 23:15:07.001, [N/A]\n" };
	struct gt_smi_log *log;
	struct gt_error error;

	for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
		error.text[0] = '\0';
		assert_int_not_equal(read_text(&log, logs[i], GT_SMI_ALL, &error), 0);
		assert_true(error.text[0]);
	}
}

static void other_columns_are_not_mistaken_for_memory(void **state)
{
	static const char *const texts[] = {
		"timestamp, memory.total [MiB]\n2025/06/22 23:15:07.000, 143771 MiB\n",
		"timestamp, memory.free\n2025/06/22 23:15:07.000, 100\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct gt_smi_log *log;
		struct gt_error error;

		assert_int_equal(read_text(&log, texts[i], 0, &error), -ENODATA);
		assert_non_null(strstr(error.text, "has no memory.used"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_output_form_reads_the_same),
		cmocka_unit_test(other_columns_are_not_mistaken_for_memory),
		cmocka_unit_test(gpus_of_one_sample_are_summed_or_selected),
		cmocka_unit_test(a_log_without_samples_says_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
