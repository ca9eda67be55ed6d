/* SPDX-License-Identifier: MIT */
/* test_rows.c - rows as text, in the spool and in files: nothing lost, nothing torn, all bounded.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "agent/row_text.h"
#include "agent/rows_folder.h"
#include "agent/rows_out.h"
#include "agent/spool.h"
#include "test_scratch.h"

#define NOON 1789992000ull /* 2026-09-21 12:00:00 */

static const struct gt_agent_process nobody = { .comm = "",
						.command = "",
						.user = "",
						.runtime = "",
						.container = "",
						.pod = "",
						.pod_name = "host" };

static struct gt_agent_row row_of(const struct gt_agent_process *process, const char *place)
{
	return (struct gt_agent_row){ .process = process,
				      .place = place,
				      .function = "",
				      .file = "",
				      .gpu = "",
				      .api = GT_CUDA,
				      .kind = GT_DEVICE_MEMORY };
}

/* The row's line; the caller frees it. */
static char *line_of(const struct gt_agent_row *row)
{
	struct gt_row_origin origin = { .host = "h\ti", .real_s = NOON, .now_ns = 3600000000000 };
	char *text = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&text, &size);

	gt_row_text_put(out, &origin, row);
	gt_memstream_close(out);
	return text;
}

/* A column of a line, cut out of it. */
static const char *column(char *line, int number)
{
	char *at = line;

	while (number--)
		at = strchr(at, '\t') + 1;
	at[strcspn(at, "\t\n")] = '\0';
	return at;
}

static void hostile_texts_stay_in_their_column(void **state)
{
	struct gt_agent_process process = nobody;
	struct gt_agent_row row = row_of(&process, "a\tb\nc\\d\x1b[31m\xff\r");
	char *line;
	size_t tabs = 0;

	process.comm = "\t\t\n\n";
	process.command = "\xe2\x80\xae";
	line = line_of(&row);
	for (const char *at = line; *at; at++)
		tabs += *at == '\t';
	assert_int_equal(tabs, GT_ROW_COLUMNS - 1);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_null(strstr(line, "\\x"));
	assert_null(strchr(line, '\x1b'));
	assert_string_equal(column(line, GT_COLUMN_OF_place), "a?b c\\\\d?[31m\xef\xbf\xbd?");
	free(line);
}

static void growth_is_told_in_the_unit_of_the_kind(void **state)
{
	struct gt_agent_row row = row_of(&nobody, "f a.c:1");
	char *line;

	row.grows = true;
	row.growth_per_second = 2;
	row.growth_since_ns = 1800000000000; /* half an hour ago */
	line = line_of(&row);
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_growth_bytes), "7200");
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_growth_objects), "0");
	assert_string_equal(column(line, GT_COLUMN_OF_growing_since), "2026-09-21 11:30:00");
	free(line);
	row.kind = GT_CONTEXT;
	line = line_of(&row);
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_growth_bytes), "0");
	assert_string_equal(column(line, GT_COLUMN_OF_growth_objects), "7200");
	free(line);
	row.grows = false;
	line = line_of(&row);
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_growth_objects), "0");
	assert_string_equal(column(line, GT_COLUMN_OF_growing_since), "1970-01-01 00:00:00");
	free(line);
}

static void only_pods_have_a_pod(void **state)
{
	struct gt_agent_process process = nobody;
	struct gt_agent_row row = row_of(&process, "");
	char *line = line_of(&row);

	assert_string_equal(column(line, GT_COLUMN_OF_pod), "");
	free(line);
	process.pod = "c7f1";
	line = line_of(&row);
	assert_string_equal(column(line, GT_COLUMN_OF_pod), "host");
	free(line);
}

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	return path;
}

static struct gt_spool *open_spool(const char *name, uint64_t max_bytes)
{
	struct gt_spool *s;
	struct gt_error error;

	assert_int_equal(gt_spool_open(&s, path_of(name), max_bytes, &error), 0);
	return s;
}

/* The oldest batch's text, which is cut into `text`. */
static void read_first(struct gt_spool *s, char *text, size_t size)
{
	struct gt_batch batch;
	z_stream z = { 0 };
	size_t packed;
	uint8_t *bytes;

	assert_true(gt_spool_first(s, &batch));
	bytes = gt_spool_read(s, &batch, &packed);
	assert_non_null(bytes);
	inflateInit2(&z, 15 + 16);
	z.next_in = bytes;
	z.avail_in = (uInt)packed;
	z.next_out = (Bytef *)text;
	z.avail_out = (uInt)size - 1;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	text[z.total_out] = '\0';
	inflateEnd(&z);
	free(bytes);
	gt_spool_remove(s, &batch);
}

static void batches_outlive_the_process_that_wrote_them(void **state)
{
	struct gt_spool *s = open_spool("outlive", 1 << 20);
	struct gt_batch batch;
	char text[64];
	FILE *torn;

	assert_int_equal(gt_spool_put(s, "stacks", NOON, 1, "one\n", 4), 0);
	assert_int_equal(gt_spool_put(s, "rows", NOON, 2, "two\nthree\n", 10), 0);
	gt_spool_close(s);
	torn = fopen(path_of("outlive/00000000001789992000-00000009-1-rows.gz.new"), "w");
	fclose(torn);
	s = open_spool("outlive", 1 << 20);
	assert_int_not_equal(
		access(path_of("outlive/00000000001789992000-00000009-1-rows.gz.new"), F_OK), 0);
	assert_int_equal(gt_spool_put(s, "rows", NOON, 1, "four\n", 5), 0);
	assert_int_equal(gt_spool_state(s).batches, 3);
	assert_true(gt_spool_first(s, &batch));
	assert_string_equal(batch.table, "stacks");
	read_first(s, text, sizeof text);
	assert_string_equal(text, "one\n");
	assert_true(gt_spool_first(s, &batch));
	assert_int_equal(batch.rows, 2);
	read_first(s, text, sizeof text);
	assert_string_equal(text, "two\nthree\n");
	read_first(s, text, sizeof text);
	assert_string_equal(text, "four\n");
	assert_false(gt_spool_first(s, &batch));
	assert_int_equal(gt_spool_state(s).bytes, 0);
	gt_spool_close(s);
}

static void a_full_spool_drops_the_oldest_and_counts(void **state)
{
	enum { BATCHES = 200, MAX = 2048 };
	struct gt_spool *s = open_spool("full", MAX);
	struct gt_spool_state at;
	uint64_t rows = 0;
	char text[64];

	for (int i = 0; i < BATCHES; i++) {
		int size = snprintf(text, sizeof text, "row of batch %d\n", i);

		assert_int_equal(gt_spool_put(s, "rows", NOON, 10, text, (size_t)size), 0);
		assert_true(gt_spool_state(s).bytes <= MAX);
	}
	at = gt_spool_state(s);
	assert_true(at.batches > 10);
	while (gt_spool_state(s).batches) {
		read_first(s, text, sizeof text);
		rows += 10;
	}
	assert_string_equal(text, "row of batch 199\n");
	assert_int_equal(at.dropped_rows + rows, 10 * BATCHES);
	gt_spool_close(s);
	/* one that could never fit is dropped alone */
	s = open_spool("tiny", 8);
	assert_int_not_equal(gt_spool_put(s, "rows", NOON, 7, "x\n", 2), 0);
	assert_int_equal(gt_spool_state(s).dropped_rows, 7);
	gt_spool_close(s);
}

static void a_spool_has_one_user(void **state)
{
	struct gt_spool *s = open_spool("one", 1 << 20), *other;
	struct gt_error error;

	assert_int_not_equal(gt_spool_open(&other, path_of("one"), 1 << 20, &error), 0);
	assert_non_null(strstr(error.text, "in use"));
	gt_spool_close(s);
	gt_spool_close(open_spool("one", 1 << 20));
}

static void write_file(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "a");

	fputs(text, out);
	fclose(out);
}

static const char *contents(const char *name)
{
	static char text[8192];
	FILE *in = fopen(path_of(name), "r");
	size_t size = fread(text, 1, sizeof text - 1, in);

	fclose(in);
	text[size] = '\0';
	return text;
}

static void files_have_one_head_and_whole_lines(void **state)
{
	struct gt_rows_folder *f;
	struct gt_error error;

	assert_int_equal(gt_rows_folder_open(&f, path_of("folder"), 2, 0, &error), 0);
	assert_int_equal(gt_rows_folder_add(f, "stacks", NOON, gt_stack_text_head, "a\tb\n", 4), 0);
	write_file("folder/stacks-2026-09-21.tsv", "c\thalf of a li");
	assert_int_equal(gt_rows_folder_add(f, "stacks", NOON, gt_stack_text_head, "d\te\n", 4), 0);
	assert_string_equal(contents("folder/stacks-2026-09-21.tsv"),
			    "stack\tframes\na\tb\nd\te\n");
	/* of the last two days and today */
	write_file("folder/rows-2026-09-20.tsv", "");
	write_file("folder/rows-2026-09-01.txt", "");
	assert_int_equal(
		gt_rows_folder_add(f, "stacks", NOON + 2 * 86400, gt_stack_text_head, "", 0), 0);
	assert_int_not_equal(access(path_of("folder/rows-2026-09-20.tsv"), F_OK), 0);
	assert_int_equal(access(path_of("folder/stacks-2026-09-21.tsv"), F_OK), 0);
	assert_int_equal(access(path_of("folder/rows-2026-09-01.txt"), F_OK), 0);
	gt_rows_folder_close(f);
}

static size_t line_count(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static bool is_there(const char *name)
{
	return !access(path_of(name), F_OK);
}

static void add_to(struct gt_rows_folder *f, unsigned days, const char *text, int expected)
{
	assert_int_equal(gt_rows_folder_add(f, "rows", NOON + days * 86400, gt_row_text_head, text,
					    strlen(text)),
			 expected);
}

static void days_that_are_over_make_room_in_files_and_today_does_not(void **state)
{
	struct gt_rows_folder *f;
	struct gt_error error;
	char text[1001];

	memset(text, 'x', 999);
	strcpy(text + 999, "\n");
	assert_int_equal(gt_rows_folder_open(&f, path_of("limit"), 14, 3500, &error), 0);
	write_file("limit/notes.txt", text);
	for (unsigned i = 0; i < 3; i++)
		add_to(f, i, "x\n", 0);
	add_to(f, 3, text, 0);
	add_to(f, 3, text, 0);
	assert_true(is_there("limit/rows-2026-09-22.tsv"));
	/* as many days as it takes, the oldest first */
	add_to(f, 3, text, 0);
	assert_false(is_there("limit/rows-2026-09-21.tsv"));
	add_to(f, 3, text, -ENOSPC);
	assert_false(is_there("limit/rows-2026-09-23.tsv"));
	assert_int_equal(line_count(contents("limit/rows-2026-09-24.tsv")), 4);
	assert_true(is_there("limit/notes.txt"));
	gt_rows_folder_close(f);
}

static void batches_of_one_second_have_different_times(void **state)
{
	static const int moments[] = { 0, 0, -3, 1, -3600 };
	static const char *const expected[] = { "12:00:00", "12:00:01", "12:00:02", "12:00:03",
						"11:00:00" };
	struct gt_rows_out *out;
	struct gt_error error;
	const char *line;

	assert_int_equal(gt_rows_out_open(&out,
					  &(struct gt_rows_options){ .host = "h",
								     .folder = path_of("times") },
					  &error),
			 0);
	for (size_t i = 0; i < 5; i++) {
		gt_rows_out_begin(out, (uint64_t)((int64_t)NOON + moments[i]), 1);
		gt_rows_out_end(out);
	}
	gt_rows_out_close(out, 0);
	line = contents("times/rows-2026-09-21.tsv");
	for (size_t i = 0; i < 5; i++) {
		line = strchr(line, '\n') + 1;
		assert_memory_equal(line + strlen("2026-09-21 "), expected[i], 8);
	}
}

/* Rows and a stack of a minute, of a process that runs and of one that has ended. */
static void put_minute(struct gt_rows_out *out, uint64_t real_s)
{
	struct gt_frame frames[] = { { .function = "load", .file = "a.c", .line = 3 } };
	struct gt_agent_stack stack = { .id = 7, .frames = frames, .count = 1 };
	struct gt_agent_process ended = nobody;
	struct gt_agent_row row = row_of(&nobody, "load a.c:3");

	ended.end_ns = 1;
	gt_rows_out_begin(out, real_s, 1);
	gt_rows_out_row(out, &row);
	row.process = &ended;
	gt_rows_out_row(out, &row);
	gt_rows_out_stack(out, &stack);
	gt_rows_out_end(out);
}

static void each_stack_is_written_once(void **state)
{
	struct gt_rows_out *out;
	struct gt_error error;

	assert_int_equal(gt_rows_out_open(&out,
					  &(struct gt_rows_options){ .host = "h",
								     .folder = path_of("once") },
					  &error),
			 0);
	put_minute(out, NOON);
	put_minute(out, NOON + 60);
	gt_rows_out_close(out, 0);
	assert_string_equal(contents("once/stacks-2026-09-21.tsv"),
			    "stack\tframes\n0000000000000007\tload (a.c:3)\n");
	assert_int_equal(line_count(contents("once/rows-2026-09-21.tsv")), 3);
}

static void an_idle_host_says_so(void **state)
{
	struct gt_rows_out *out;
	struct gt_error error;
	char *line;

	assert_int_equal(gt_rows_out_open(&out,
					  &(struct gt_rows_options){ .host = "h",
								     .folder = path_of("idle") },
					  &error),
			 0);
	gt_rows_out_begin(out, NOON, 1);
	gt_rows_out_end(out);
	gt_rows_out_close(out, 0);
	line = strchr(contents("idle/rows-2026-09-21.tsv"), '\n') + 1;
	assert_int_equal(line_count(line), 1);
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_host), "h");
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_place), "");
	assert_string_equal(column(strdupa(line), GT_COLUMN_OF_live_bytes), "0");
	assert_string_equal(column(line, GT_COLUMN_OF_stack), "");
}

/* Where nothing listens, rows wait in the spool; the caller does not. */
static void rows_wait_for_a_server_that_is_away(void **state)
{
	struct gt_rows_options options = { .host = "h",
					   .clickhouse = "http://127.0.0.1:1",
					   .spool = path_of("away") };
	struct gt_rows_out *out;
	struct gt_rows_state at;
	struct gt_error error;

	if (gt_rows_out_open(&out, &options, &error) && strstr(error.text, "libcurl"))
		skip();
	put_minute(out, NOON);
	do {
		usleep(1000);
		at = gt_rows_out_state(out);
	} while (!at.failures);
	assert_true(at.is_failing);
	assert_non_null(strstr(at.error, "cannot reach http://127.0.0.1:1/gputrack"));
	assert_int_equal(at.waiting_batches, 2);
	assert_int_equal(at.sent_rows, 0);
	gt_rows_out_close(out, 10000);
	options.spool = NULL;
	assert_int_not_equal(gt_rows_out_open(&out, &options, &error), 0);
	assert_non_null(strstr(error.text, "--spool"));
	options.clickhouse = "ftp://u:secret@x";
	options.spool = path_of("away");
	assert_int_not_equal(gt_rows_out_open(&out, &options, &error), 0);
	assert_non_null(strstr(error.text, "no URL of a server"));
	assert_null(strstr(error.text, "secret"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_texts_stay_in_their_column),
		cmocka_unit_test(growth_is_told_in_the_unit_of_the_kind),
		cmocka_unit_test(only_pods_have_a_pod),
		cmocka_unit_test(batches_outlive_the_process_that_wrote_them),
		cmocka_unit_test(a_full_spool_drops_the_oldest_and_counts),
		cmocka_unit_test(a_spool_has_one_user),
		cmocka_unit_test(files_have_one_head_and_whole_lines),
		cmocka_unit_test(days_that_are_over_make_room_in_files_and_today_does_not),
		cmocka_unit_test(batches_of_one_second_have_different_times),
		cmocka_unit_test(each_stack_is_written_once),
		cmocka_unit_test(an_idle_host_says_so),
		cmocka_unit_test(rows_wait_for_a_server_that_is_away),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
