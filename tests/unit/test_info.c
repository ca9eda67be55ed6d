/* SPDX-License-Identifier: MIT */
/* test_info.c - lines of "key: value" survive writing, reading and damage. */
#include "trace/info.h"

#include "test_writer.h"

static const char *save_text(const char *text)
{
	const char *path = fresh_path("info");
	struct image image = { (uint8_t *)text, strlen(text) };

	save_image(path, &image);
	return path;
}

static void values_round_trip(void **state)
{
	const char *path = fresh_path("info");
	struct gt_info *info = gt_info_new();
	struct gt_error error = { "" };

	gt_info_set(info, "command", "program: with colon");
	gt_info_set(info, "empty", "");
	gt_info_setf(info, "number", "%d %s", 42, "x");
	gt_info_set(info, "command", "replaced: too");
	assert_int_equal(gt_info_write(info, path, &error), 0);
	gt_info_free(info);
	info = gt_info_read(path);
	assert_string_equal(gt_info_get(info, "command"), "replaced: too");
	assert_string_equal(gt_info_get(info, "empty"), "");
	assert_string_equal(gt_info_get(info, "number"), "42 x");
	assert_string_equal(gt_info_get(info, "none"), "");
	gt_info_free(info);
}

static void a_value_stays_one_line(void **state)
{
	const char *path = fresh_path("info");
	struct gt_info *info = gt_info_new();

	gt_info_set(info, "command", "a\nhost: evil\r\nb");
	gt_info_set(info, "host", "good");
	assert_int_equal(gt_info_write(info, path, NULL), 0);
	gt_info_free(info);
	info = gt_info_read(path);
	assert_string_equal(gt_info_get(info, "command"), "a host: evil  b");
	assert_string_equal(gt_info_get(info, "host"), "good");
	gt_info_free(info);
}

static void a_missing_file_is_an_empty_list(void **state)
{
	struct gt_info *info = gt_info_read(fresh_path("none"));

	assert_string_equal(gt_info_get(info, "command"), "");
	gt_info_free(info);
	info = gt_info_read(scratch);
	assert_string_equal(gt_info_get(info, "command"), "");
	gt_info_free(info);
	gt_info_free(NULL);
}

static void malformed_lines_are_skipped(void **state)
{
	struct gt_info *info =
		gt_info_read(save_text("junk\n\nkey: value\nno:colon\n: odd\nlast: one"));

	assert_string_equal(gt_info_get(info, "key"), "value");
	assert_string_equal(gt_info_get(info, "last"), "one");
	assert_string_equal(gt_info_get(info, "junk"), "");
	gt_info_free(info);
}

static void a_long_line_does_not_become_two(void **state)
{
	size_t size = 20000;
	char *text = malloc(size);
	struct gt_info *info;

	/* wherever a reader may cut the line, what follows is not a key of its own */
	memset(text, 'x', size);
	for (size_t at = 103; at + 16 < size; at += 7)
		memcpy(text + at, "host: x", 7);
	memcpy(text, "host: good\ncommand: ", 20);
	text[size - 1] = '\0';
	info = gt_info_read(save_text(text));
	assert_string_equal(gt_info_get(info, "host"), "good");
	assert_non_null(strstr(gt_info_get(info, "command"), "xxx"));
	gt_info_free(info);
	free(text);
}

static void endless_lines_cost_no_memory(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size + 1), *at = text;
	struct gt_info *info;

	while (at + 32 < text + size)
		at += sprintf(at, "k%zu: v\n", (size_t)(at - text));
	info = gt_info_read(save_text(text));
	assert_string_equal(gt_info_get(info, "k0"), "v");
	gt_info_free(info);
	free(text);
}

static void a_failed_write_is_an_error_and_keeps_the_old_file(void **state)
{
	const char *path = save_text("key: old\n");
	struct gt_info *info = gt_info_new();
	struct gt_error error = { "" };
	char beside[256];

	snprintf(beside, sizeof beside, "%s.new", path);
	assert_int_equal(mkdir(beside, 0700), 0);
	gt_info_set(info, "key", "new");
	assert_true(gt_info_write(info, path, &error) < 0);
	assert_non_null(strstr(error.text, "cannot write"));
	gt_info_free(info);
	info = gt_info_read(path);
	assert_string_equal(gt_info_get(info, "key"), "old");
	gt_info_free(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_round_trip),
		cmocka_unit_test(a_value_stays_one_line),
		cmocka_unit_test(a_missing_file_is_an_empty_list),
		cmocka_unit_test(malformed_lines_are_skipped),
		cmocka_unit_test(a_long_line_does_not_become_two),
		cmocka_unit_test(endless_lines_cost_no_memory),
		cmocka_unit_test(a_failed_write_is_an_error_and_keeps_the_old_file),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
