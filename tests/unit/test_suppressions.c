/* SPDX-License-Identifier: MIT */
/* test_suppressions.c - patterns in LeakSanitizer's form, and files of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/suppressions.h"

static void patterns_match_as_in_leaksanitizer(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} cases[] = {
		{ "tick", "tick", true },
		{ "tick", "on_tick_now", true },
		{ "^tick", "on_tick", false },
		{ "^tick", "ticks", true },
		{ "tick$", "on_tick", true },
		{ "tick$", "ticks", false },
		{ "^tick$", "tick", true },
		{ "^tick$", "ticktick", false },
		{ "a*c", "xabcx", true },
		{ "a*c", "xcax", false },
		{ "^a*c$", "abcbc", true },
		{ "^a*c$", "abcb", false },
		{ "^a*b*c$", "a_b_b_c", true },
		{ "*", "", true },
		{ "**", "anything", true },
		{ "^*$", "anything", true },
		{ "a*", "b", false },
		{ "*a$", "ba", true },
		{ "^ab*ab$", "ab", false },
		{ "^ab*ab$", "abab", true },
		{ "$", "", true },
		{ "x$y", "ax$yb", true },
		{ "libdriver.so", "/usr/lib/libdriver.so.1", true },
		{ "Tick", "tick", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (gt_pattern_matches(cases[i].pattern, cases[i].name) != cases[i].fits)
			fail_msg("%s and %s", cases[i].pattern, cases[i].name);
}

static int parse(struct gt_suppressions *s, const char *text, struct gt_error *error)
{
	*s = (struct gt_suppressions){ 0 };
	return gt_suppressions_parse(s, "f", text, strlen(text), error);
}

static void files_are_read(void **state)
{
	struct gt_suppressions s;
	struct gt_error error;

	(void)state;
	assert_int_equal(parse(&s,
			       "# comment\n\n  leak:one \r\nleak[event,opencl.buffer]:two\n"
			       "leak:last",
			       &error),
			 0);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.list[0].pattern, "one");
	assert_null(s.list[0].comment); /* it is not the line above */
	assert_int_equal(s.list[0].line, 3);
	assert_string_equal(s.list[1].pattern, "two");
	assert_true(s.list[1].what.has[GT_LEVELZERO][GT_EVENT]);
	assert_true(s.list[1].what.has[GT_OPENCL][GT_BUFFER]);
	assert_false(s.list[1].what.has[GT_OPENCL][GT_IMAGE]);
	assert_string_equal(s.list[2].pattern, "last");
	gt_suppressions_fini(&s);
}

static void the_comment_above_a_line_is_kept(void **state)
{
	struct gt_suppressions s;
	struct gt_error error;

	(void)state;
	assert_int_equal(parse(&s, "# no\n#  X 1.0: why\nleak:one\nleak:two\n# alone", &error), 0);
	assert_int_equal(s.count, 2);
	assert_string_equal(s.list[0].comment, "X 1.0: why");
	assert_null(s.list[1].comment);
	gt_suppressions_fini(&s);
}

static void mistakes_name_their_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "leak:a\nrace:b\n", "f:2: a suppression must begin" },
		{ "leak:\n", "f:1: missing pattern" },
		{ "leak: < a\n", "f:1: missing pattern" },
		{ "leak:a <  < b\n", "f:1: missing pattern" },
		{ "leak:a <<  < b\n", "f:1: missing pattern" },
		{ "leak[event]b\n", "f:1: expected kinds and" },
		{ "leak[event\n", "f:1: expected kinds and" },
		{ "\n\nleak[evnt]:b\n", "f:3: 'evnt' is not a kind" },
		{ "leak[event,,buffer]:b", "is not a kind" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_suppressions s;
		struct gt_error error = { "" };

		assert_int_not_equal(parse(&s, cases[i].text, &error), 0);
		assert_non_null(strstr(error.text, cases[i].says));
		gt_suppressions_fini(&s);
	}
}

static void any_frame_and_the_api_function_can_match(void **state)
{
	static const struct gt_frame frames[] = {
		{ .function = "inner", .file = "/src/inner.c", .module = "/bin/demo" },
		{ .module = "/usr/lib/libengine.so.2" },
	};
	struct gt_suppressions s;
	struct gt_error error;

	(void)state;
	assert_int_equal(parse(&s, "leak[image]:inner\nleak:libengine\nleak:inner.c", &error), 0);
	assert_ptr_equal(gt_suppressions_find(&s, GT_OPENCL, GT_BUFFER, "x", frames, 2),
			 &s.list[1]);
	assert_ptr_equal(gt_suppressions_find(&s, GT_OPENCL, GT_IMAGE, "clCreateImage", frames, 2),
			 &s.list[0]);
	assert_ptr_equal(gt_suppressions_find(&s, GT_OPENCL, GT_BUFFER, "x", frames, 1),
			 &s.list[2]);
	assert_null(gt_suppressions_find(&s, GT_OPENCL, GT_BUFFER, "clCreateBuffer", frames, 0));
	gt_suppressions_fini(&s);
	assert_int_equal(parse(&s, "leak:^clCreateBuffer$", &error), 0);
	assert_non_null(gt_suppressions_find(&s, GT_OPENCL, GT_BUFFER, "clCreateBuffer", NULL, 0));
	gt_suppressions_fini(&s);
}

static void caller_patterns_match_outer_frames(void **state)
{
	static const struct gt_frame frames[] = {
		{ .function = "Buffer::Buffer", .file = "/src/buffer.h" },
		{ .function = "grow" },
		{ .function = "grow" },
		{ .function = "main", .module = "/bin/demo" },
		{ .function = "run", .module = "/usr/lib/libengine.so.2" },
	};
	static const struct {
		const char *line;
		bool fits;
	} cases[] = {
		{ "leak:^Buffer::Buffer$ < ^grow$", true },
		{ "leak:Buffer < grow < grow < demo", true },
		{ "leak:buffer.h < main", true },
		{ "leak:^clCreateBuffer$ < Buffer < main", true },
		{ "leak:Buffer < grow < grow < grow", false },
		{ "leak:grow < Buffer", false },
		{ "leak:Buffer < shrink", false },
		{ "leak:main < clCreateBuffer", false },
		{ "leak:Buffer<grow", false },
		{ "leak:Buffer << grow << grow << main", true },
		{ "leak:grow << main", true },
		{ "leak:clCreateBuffer << Buffer < main", true },
		{ "leak:Buffer << grow < main", true },
		{ "leak:Buffer << main", false },
		{ "leak:clCreateBuffer << grow", false },
		{ "leak:Buffer < grow << grow << grow", false },
		{ "leak:main << main", false },
		{ "leak:libengine.so!run", true },
		{ "leak:grow << libengine.so!run < main", false },
		{ "leak:main < libengine.so!^run$", true },
		{ "leak:main << libengine.so", true },
		{ "leak:libengine.so!libengine", false },
		{ "leak:libengine.so!main", false },
		{ "leak:libother.so!run", false },
		{ "leak:operator!=", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gt_suppressions s;
		struct gt_error error;

		assert_int_equal(parse(&s, cases[i].line, &error), 0);
		if (!gt_suppressions_find(&s, GT_OPENCL, GT_BUFFER, "clCreateBuffer", frames, 5) ==
		    cases[i].fits)
			fail_msg("%s", cases[i].line);
		gt_suppressions_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_in_leaksanitizer),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(the_comment_above_a_line_is_kept),
		cmocka_unit_test(mistakes_name_their_line),
		cmocka_unit_test(any_frame_and_the_api_function_can_match),
		cmocka_unit_test(caller_patterns_match_outer_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
