/* SPDX-License-Identifier: MIT */
/* test_agent_spool.c - rows on disk: bounded, whole, in order, each batch with its own time. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/rows_folder.h"
#include "agent/rows_out.h"
#include "agent/spool.h"

enum { TEXT = 4096, START = 1790000000 };

static char folder[64];
static struct gt_error error;

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

/* A batch that does not compress. */
static void put(struct gt_spool *s, uint64_t real_s, unsigned seed)
{
	char text[TEXT];

	for (size_t i = 0; i < TEXT; i++) {
		seed = seed * 1103515245 + 12345;
		text[i] = (char)(seed >> 16);
	}
	gt_spool_put(s, "rows", real_s, 10, text, TEXT);
}

static void a_full_spool_drops_the_oldest_and_counts_their_rows(void **state)
{
	struct gt_spool *s;
	struct gt_batch batch;

	(void)state;
	assert_int_equal(gt_spool_open(&s, folder, 4 * TEXT, &error), 0);
	for (unsigned i = 0; i < 10; i++) {
		put(s, START + i, i);
		assert_true(gt_spool_state(s).bytes <= 4 * TEXT);
	}
	assert_int_equal(gt_spool_state(s).batches, 3);
	assert_int_equal(gt_spool_state(s).dropped_rows, 70);
	assert_true(gt_spool_first(s, &batch));
	assert_non_null(strstr(batch.name, "1790000007-"));
	/* one that can never fit takes nothing else with it */
	assert_true(gt_spool_put(s, "rows", START + 10, 5, folder, 0) == 0);
	gt_spool_close(s);
	assert_int_equal(gt_spool_open(&s, folder, TEXT / 2, &error), 0);
	put(s, START + 11, 11);
	assert_int_equal(gt_spool_state(s).batches, 0);
	gt_spool_close(s);
}

static void a_spool_takes_up_whole_batches_and_nothing_else(void **state)
{
	static const char *const others[] = { "notes.txt", "1-2-3-rows.gz",
					      "00000000001790000000-00000001-1-rows.gz.new" };
	struct gt_spool *s, *second;
	struct gt_batch batch;
	void *bytes;
	size_t size;

	(void)state;
	assert_int_equal(gt_spool_open(&s, folder, 1 << 20, &error), 0);
	put(s, START + 60, 1);
	put(s, START, 2);
	assert_true(gt_spool_open(&second, folder, 1 << 20, &error) < 0);
	assert_non_null(strstr(error.text, "in use by another agent"));
	gt_spool_close(s);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		close(open(path_of(others[i]), O_CREAT | O_WRONLY, 0600));
	/* a link is none of ours, wherever it leads */
	assert_int_equal(symlink("/etc/passwd", path_of("00000000001790000000-00000009-1-rows.gz")),
			 0);
	assert_int_equal(gt_spool_open(&s, folder, 1 << 20, &error), 0);
	assert_int_equal(gt_spool_state(s).batches, 2);
	assert_int_not_equal(access(path_of(others[2]), F_OK), 0);
	assert_int_equal(access(path_of(others[0]), F_OK), 0);
	/* the oldest first, whichever was put first */
	for (uint64_t real_s = START; gt_spool_first(s, &batch); real_s += 60) {
		assert_int_equal(strtoull(batch.name, NULL, 10), real_s);
		bytes = gt_spool_read(s, &batch, &size);
		assert_non_null(bytes);
		assert_true(size > 18 && !memcmp(bytes, "\x1f\x8b", 2));
		free(bytes);
		gt_spool_remove(s, &batch);
	}
	assert_int_equal(gt_spool_state(s).dropped_rows, 0);
	gt_spool_close(s);
}

/* The times of the idle rows that a host has written. */
static size_t times(char list[][20], size_t most)
{
	char name[600], line[1024];
	size_t count = 0;
	FILE *f;

	snprintf(name, sizeof name, "%s", path_of("rows-2026-09-21.tsv"));
	f = fopen(name, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	while (count < most && fgets(line, sizeof line, f))
		snprintf(list[count++], 20, "%.19s", line);
	fclose(f);
	return count;
}

static void batches_of_one_second_have_different_times(void **state)
{
	const struct gt_rows_options options = { .host = "h", .folder = folder };
	static const uint64_t moments[] = { START, START, START - 3, START + 1, START - 3600 };
	static const char *const expected[] = { "2026-09-21 14:13:20", "2026-09-21 14:13:21",
						"2026-09-21 14:13:22", "2026-09-21 14:13:23",
						"2026-09-21 13:13:20" };
	struct gt_rows_out *out;
	char list[8][20];

	(void)state;
	assert_int_equal(gt_rows_out_open(&out, &options, &error), 0);
	for (size_t i = 0; i < 5; i++) {
		gt_rows_out_begin(out, moments[i], 1);
		gt_rows_out_end(out);
	}
	gt_rows_out_close(out, 0);
	assert_int_equal(times(list, 8), 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(list[i], expected[i]);
}

static bool is_there(const char *name)
{
	return !access(path_of(name), F_OK);
}

static void put_head(FILE *out)
{
	fputs("head\n", out);
}

static void files_of_rows_have_a_limit_of_days_and_of_bytes(void **state)
{
	static const uint64_t day = 86400;
	struct gt_rows_folder *f;
	char text[TEXT];

	(void)state;
	memset(text, '\n', TEXT);
	close(open(path_of("rows-2026-09-01.txt"), O_CREAT | O_WRONLY, 0600));
	assert_int_equal(gt_rows_folder_open(&f, folder, 2, 4 * TEXT, &error), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(gt_rows_folder_add(f, i % 2 ? "stacks" : "rows",
						    START + i / 2 * day, put_head, "x\n", 2),
				 0);
	assert_true(is_there("rows-2026-09-21.tsv") && is_there("stacks-2026-09-22.tsv"));
	assert_int_equal(gt_rows_folder_add(f, "rows", START + 3 * day, put_head, text, TEXT), 0);
	assert_false(is_there("rows-2026-09-21.tsv") || is_there("stacks-2026-09-21.tsv"));
	assert_true(is_there("rows-2026-09-22.tsv"));
	/* days that are over make room, today does not */
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			gt_rows_folder_add(f, "rows", START + 4 * day, put_head, text, TEXT), 0);
	assert_true(is_there("rows-2026-09-24.tsv"));
	assert_int_equal(gt_rows_folder_add(f, "rows", START + 4 * day, put_head, text, TEXT), 0);
	assert_false(is_there("rows-2026-09-24.tsv"));
	assert_int_equal(gt_rows_folder_add(f, "rows", START + 4 * day, put_head, text, TEXT),
			 -ENOSPC);
	assert_true(is_there("rows-2026-09-25.tsv") && is_there("rows-2026-09-01.txt"));
	gt_rows_folder_close(f);
}

static int make(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/gputrack-spool-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int clean(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_spool_drops_the_oldest_and_counts_their_rows,
						make, clean),
		cmocka_unit_test_setup_teardown(a_spool_takes_up_whole_batches_and_nothing_else,
						make, clean),
		cmocka_unit_test_setup_teardown(files_of_rows_have_a_limit_of_days_and_of_bytes,
						make, clean),
		cmocka_unit_test_setup_teardown(batches_of_one_second_have_different_times, make,
						clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
