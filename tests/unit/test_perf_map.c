/* SPDX-License-Identifier: MIT */
/* test_perf_map.c - names that JIT compilers write for profilers, and files that are none. */
#include "symbol/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/test_perf_map.XXXXXX";

static void write_map(const char *text)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static struct gt_perf_map *read_map(const char *file, uid_t owner, int64_t since_ns)
{
	size_t room = GT_PERF_MAPS_ROOM;

	return gt_perf_map_read(file, owner, since_ns, &room);
}

static struct gt_perf_map *map_of(const char *text)
{
	struct gt_perf_map *map;

	write_map(text);
	map = read_map(path, geteuid(), 0);
	assert_non_null(map);
	return map;
}

static void code_is_named_from_its_first_byte_to_its_last(void **state)
{
	struct gt_perf_map *map = map_of("7f0000001000 20 step\n0x7f0000002000 0x8 run it\n");
	struct gt_perf_name name;

	(void)state;
	assert_false(gt_perf_map_find(map, 0x7f0000000fff, &name));
	assert_true(gt_perf_map_find(map, 0x7f0000001000, &name));
	assert_true(gt_perf_map_find(map, 0x7f000000101f, &name));
	assert_string_equal(name.function, "step");
	assert_null(name.file);
	assert_int_equal(name.line, 0);
	assert_false(gt_perf_map_find(map, 0x7f0000001020, &name));
	assert_true(gt_perf_map_find(map, 0x7f0000002007, &name));
	assert_string_equal(name.function, "run it");
	gt_perf_map_free(map);
}

static void what_was_compiled_last_counts(void **state)
{
	struct gt_perf_map *map = map_of("1000 100 old\n1040 10 new\n");
	struct gt_perf_name name;

	(void)state;
	assert_true(gt_perf_map_find(map, 0x1048, &name));
	assert_string_equal(name.function, "new");
	assert_true(gt_perf_map_find(map, 0x1050, &name));
	assert_string_equal(name.function, "old");
	gt_perf_map_free(map);
}

static void names_tell_file_and_line_where_the_compiler_wrote_them(void **state)
{
	static const struct {
		const char *text, *function, *file;
		uint32_t line;
	} cases[] = {
		/* V8, of node 20 and before */
		{ "JS:*step /app/main.js:12:5", "step", "/app/main.js", 12 },
		{ "LazyCompile:~ /app/main.js:3", "(anonymous)", "/app/main.js", 3 },
		{ "JS:~Model.step file:///app/my model.mjs:7:1", "Model.step file:///app/my",
		  "model.mjs", 7 },
		{ "JS:^step file:///app/model.mjs:7:1", "step", "/app/model.mjs", 7 },
		{ "Builtin:ArrayPrototypePush", "ArrayPrototypePush", NULL, 0 },
		{ "Script:~ node:internal/main/run_main_module:1:1", "(anonymous)",
		  "node:internal/main/run_main_module", 1 },
		/* CPython 3.12 */
		{ "py::Model.step:/app/loop.py", "Model.step", "/app/loop.py", 0 },
		{ "py::nowhere", "py::nowhere", NULL, 0 },
		{ "py:::nobody", "py:::nobody", NULL, 0 },
		/* Java, .NET */
		{ "void app.Model.step(int)", "void app.Model.step(int)", NULL, 0 },
		{ "int32 [app] Model::Step(int32)[Tier1]", "int32 [app] Model::Step(int32)[Tier1]",
		  NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_perf_name name;
		struct gt_perf_map *map;
		char line[256];

		snprintf(line, sizeof line, "1000 10 %s\r\n", cases[i].text);
		map = map_of(line);
		assert_true(gt_perf_map_find(map, 0x1004, &name));
		assert_string_equal(name.function, cases[i].function);
		assert_int_equal(name.line, cases[i].line);
		if (cases[i].file)
			assert_string_equal(name.file, cases[i].file);
		else
			assert_null(name.file);
		gt_perf_map_free(map);
	}
}

static void damaged_lines_are_left_out(void **state)
{
	struct gt_perf_map *map = map_of("\n1000\n1000 10\n1000 10 \n1000 0 empty\nname 10 10\n"
					 "ffffffffffffffff ff wraps\n-1 2 negative\n"
					 "2000 10 good\n3000 10 without an end");
	struct gt_perf_name name;

	(void)state;
	assert_false(gt_perf_map_find(map, 0x1000, &name));
	assert_false(gt_perf_map_find(map, UINT64_MAX, &name));
	assert_true(gt_perf_map_find(map, 0x2001, &name));
	assert_string_equal(name.function, "good");
	assert_true(gt_perf_map_find(map, 0x3001, &name));
	assert_string_equal(name.function, "without an end");
	gt_perf_map_free(map);
}

static void only_a_fresh_regular_file_of_the_owner_is_read(void **state)
{
	char link[sizeof path + 8], pipe[sizeof path + 8];
	struct stat st;

	(void)state;
	write_map("1000 10 step\n");
	assert_int_equal(stat(path, &st), 0);
	assert_null(read_map(path, geteuid() + 1, 0));
	assert_null(read_map(path, geteuid(), (st.st_mtim.tv_sec + 1) * INT64_C(1000000000)));
	assert_null(read_map("/tmp", geteuid(), 0));
	assert_null(read_map("/tmp/no/such/file", geteuid(), 0));
	snprintf(link, sizeof link, "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_null(read_map(link, geteuid(), 0));
	unlink(link);
	snprintf(pipe, sizeof pipe, "%s.pipe", path);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_null(read_map(pipe, geteuid(), 0));
	unlink(pipe);
	assert_int_equal(truncate(path, INT64_C(1) << 30), 0);
	assert_null(read_map(path, geteuid(), 0));
}

static void no_more_is_read_than_there_is_room_for(void **state)
{
	size_t room = 200;
	struct gt_perf_name name;
	struct gt_perf_map *map;

	(void)state;
	write_map("1000 10 a\n2000 10 b\n3000 10 c\n4000 10 d\n");
	map = gt_perf_map_read(path, geteuid(), 0, &room);
	assert_true(gt_perf_map_find(map, 0x1000, &name));
	assert_true(gt_perf_map_find(map, 0x3000, &name));
	assert_false(gt_perf_map_find(map, 0x4000, &name));
	assert_int_equal(room, 0);
	gt_perf_map_free(map);
}

static void the_rest_of_a_long_line_is_no_line(void **state)
{
	enum { LONG = 5000 };
	char text[LONG + 64];
	struct gt_perf_name name;
	struct gt_perf_map *map;

	(void)state;
	/* where the line is divided, something like an entry follows, at 0x2000 or at 0 */
	strcpy(text, "1000 10 ");
	for (size_t i = strlen(text); i < LONG; i += 9)
		strcpy(text + i, "2000 10 x");
	strcat(text, "\n3000 10 next\n");
	map = map_of(text);
	assert_true(gt_perf_map_find(map, 0x1000, &name));
	assert_true(strlen(name.function) >= 4000);
	assert_false(gt_perf_map_find(map, 0x2000, &name));
	assert_false(gt_perf_map_find(map, 0, &name));
	assert_true(gt_perf_map_find(map, 0x3000, &name));
	assert_string_equal(name.function, "next");
	gt_perf_map_free(map);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_named_from_its_first_byte_to_its_last),
		cmocka_unit_test(what_was_compiled_last_counts),
		cmocka_unit_test(names_tell_file_and_line_where_the_compiler_wrote_them),
		cmocka_unit_test(damaged_lines_are_left_out),
		cmocka_unit_test(no_more_is_read_than_there_is_room_for),
		cmocka_unit_test(the_rest_of_a_long_line_is_no_line),
		cmocka_unit_test(only_a_fresh_regular_file_of_the_owner_is_read),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
