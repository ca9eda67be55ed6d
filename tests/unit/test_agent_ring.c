/* SPDX-License-Identifier: MIT */
/* test_agent_ring.c - recordings in a folder of bounded size: the oldest go, a process is cut out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ring.h"

static char folder[] = "/tmp/gputrack-ring-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void put(const char *recording, const char *file, size_t size)
{
	char name[200];
	FILE *f;

	mkdir(path_of(recording), 0700);
	snprintf(name, sizeof name, "%s/%s", recording, file);
	f = fopen(path_of(name), "w");
	assert_non_null(f);
	for (size_t i = 0; i < size; i++)
		putc('x', f);
	fclose(f);
}

static bool is_there(const char *name)
{
	return !access(path_of(name), F_OK);
}

static void the_oldest_recordings_make_room(void **state)
{
	(void)state;
	put("20260101-000000.gt", "7.trace", 40000);
	put("20260102-000000.gt", "7.trace", 40000);
	put("20260103-000000.gt", "7.trace", 40000);
	put("other", "7.trace", 40000);
	gt_ring_trim(folder, 130000, NULL);
	assert_true(is_there("20260101-000000.gt"));
	gt_ring_trim(folder, 90000, NULL);
	assert_false(is_there("20260101-000000.gt"));
	assert_true(is_there("20260102-000000.gt/7.trace"));
	/* what is not ours stays, and what is being written */
	gt_ring_trim(folder, 0, path_of("20260103-000000.gt"));
	assert_false(is_there("20260102-000000.gt"));
	assert_true(is_there("20260103-000000.gt"));
	assert_true(is_there("other/7.trace"));
}

static void a_process_is_cut_out_of_the_newest_recording_that_has_it(void **state)
{
	struct gt_error error = { "" };
	char to[600], from[100];

	(void)state;
	put("20260201-000000.gt", "7.trace", 1);
	put("20260201-000000.gt", "info", 5);
	put("20260202-000000.gt", "7.trace", 2);
	put("20260202-000000.gt", "7-2.trace", 2);
	put("20260202-000000.gt", "77.trace", 2);
	put("20260202-000000.gt", "info", 5);
	put("20260203-000000.gt", "77.trace", 3);
	snprintf(to, sizeof to, "%s", path_of("cut"));
	assert_int_equal(gt_ring_cut(folder, 7, to, from, sizeof from, &error), 0);
	assert_string_equal(from, "20260202-000000.gt");
	assert_true(is_there("cut/7.trace") && is_there("cut/7-2.trace") && is_there("cut/info"));
	assert_false(is_there("cut/77.trace"));
	/* nothing is written over, and nothing is made of nothing */
	assert_true(gt_ring_cut(folder, 7, to, from, sizeof from, &error) < 0);
	snprintf(to, sizeof to, "%s", path_of("none"));
	assert_int_equal(gt_ring_cut(folder, 8, to, from, sizeof from, &error), -2);
	assert_false(is_there("none"));
}

static void names_of_one_second_differ_and_sort(void **state)
{
	char one[300], two[300];

	(void)state;
	gt_ring_name(folder, one, sizeof one);
	mkdir(one, 0700);
	gt_ring_name(folder, two, sizeof two);
	assert_true(strcmp(two, one) > 0);
	rmdir(one);
}

static int make(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int clean(void **state)
{
	static const char *const others[] = { "other", "cut" };

	(void)state;
	gt_ring_trim(folder, 0, NULL);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		gt_ring_remove(path_of(others[i]));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_recordings_make_room),
		cmocka_unit_test(a_process_is_cut_out_of_the_newest_recording_that_has_it),
		cmocka_unit_test(names_of_one_second_differ_and_sort),
	};

	return cmocka_run_group_tests(tests, make, clean);
}
