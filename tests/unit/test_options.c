/* SPDX-License-Identifier: MIT */
/* test_options.c - the option parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/options.h"

struct settings {
	bool quiet, verbose;
	const char *output;
	struct gt_texts folders;
	uint64_t top;
	int color;
	struct gt_choices paints;
	const char *limit;
	double interval;
};

static const char *const colors[] = { "auto", "always", "never", NULL };

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG, AT(quiet), .help = "hush" },
	{ .name = "verbose", .letter = 'v', .type = GT_OPTION_FLAG, AT(verbose), .help = "talk" },
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, AT(output), .argument = "FILE",
	  .help = "where" },
	{ .name = "symbols", .type = GT_OPTION_TEXTS, AT(folders), .argument = "DIR",
	  .help = "more" },
	{ .name = "top", .letter = 'n', .type = GT_OPTION_COUNT, AT(top), .argument = "N",
	  .help = "few" },
	{ .name = "limit", .type = GT_OPTION_MAYBE, AT(limit), .argument = "SPEC", .bare = "any",
	  .help = "too much" },
	{ .name = "color", .type = GT_OPTION_CHOICE, AT(color), .argument = "WHEN",
	  .choices = colors, .help = "paint" },
	{ .name = "paints", .type = GT_OPTION_CHOICES, AT(paints), .argument = "HOW[,HOW…]",
	  .choices = colors, .help = "paint more" },
	{ .name = "interval", .type = GT_OPTION_DECIMAL, AT(interval), .argument = "S",
	  .help = "how often" },
	{ .name = "every", .type = GT_OPTION_DECIMAL, AT(interval), .argument = "S" },
	{ .name = "ranged", .type = GT_OPTION_DECIMAL, AT(interval), .argument = "S", .least = 0.5,
	  .most = 3600 },
	{ .name = "depth", .type = GT_OPTION_COUNT, AT(top), .argument = "N", .most = 64 },
	{ .name = "threads", .type = GT_OPTION_COUNT, AT(top), .argument = "N", .least = 1 },
	{ 0 },
};
/* clang-format on */

static const struct gt_syntax report = {
	.name = "report", .summary = "show", .operands = "NAME.gt", .options = options
};
static const struct gt_syntax run = { .name = "run",
				      .summary = "run",
				      .operands = "PROGRAM",
				      .options = options,
				      .first_operand_ends = true };
static const struct gt_syntax doctor = { .name = "doctor", .summary = "look" };

/* The result of a parse, and the output on stdout and stderr. */
struct result {
	struct settings settings;
	int first, status, argc;
	char *argv[16];
	char said[4096];
};

static void parse(struct result *r, const struct gt_syntax *usage, const char *words)
{
	static char copy[512];
	FILE *sink = tmpfile();
	int out = dup(1), err = dup(2);
	char *rest;
	size_t size;

	memset(r, 0, sizeof *r);
	snprintf(copy, sizeof copy, "%s %s", usage->name, words);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		r->argv[r->argc++] = word;
	fflush(NULL);
	dup2(fileno(sink), 1);
	dup2(fileno(sink), 2);
	r->first = gt_options_parse(usage, &r->settings, r->argc, r->argv, &r->status);
	fflush(NULL);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	rewind(sink);
	size = fread(r->said, 1, sizeof r->said - 1, sink);
	r->said[size] = '\0';
	fclose(sink);
}

static void every_form_of_an_option_is_understood(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &report, "-q --output=a -n3 --color never --symbols x --symbols=y in.gt");
	assert_int_equal(r.first, r.argc - 1);
	assert_string_equal(r.argv[r.first], "in.gt");
	assert_true(r.settings.quiet);
	assert_false(r.settings.verbose);
	assert_string_equal(r.settings.output, "a");
	assert_int_equal(r.settings.top, 3);
	assert_int_equal(r.settings.color, 2);
	assert_int_equal(r.settings.folders.count, 2);
	assert_string_equal(r.settings.folders.items[1], "y");
	assert_null(r.settings.folders.items[2]);
	gt_texts_fini(&r.settings.folders);
	parse(&r, &report, "-qvo out");
	assert_true(r.settings.quiet && r.settings.verbose);
	assert_string_equal(r.settings.output, "out");
	assert_int_equal(r.first, r.argc);
	parse(&r, &report, "--every 3 --interval 0.25");
	assert_true(r.settings.interval == 0.25);
	parse(&r, &report, "--every 3");
	assert_true(r.settings.interval == 3);
}

static void options_may_follow_operands(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &report, "a.gt -q b.gt -o x");
	assert_int_equal(r.argc - r.first, 2);
	assert_string_equal(r.argv[r.first], "a.gt");
	assert_string_equal(r.argv[r.first + 1], "b.gt");
	assert_true(r.settings.quiet);
	assert_string_equal(r.settings.output, "x");
	parse(&r, &report, "a.gt -- -q");
	assert_int_equal(r.argc - r.first, 2);
	assert_string_equal(r.argv[r.first + 1], "-q");
	assert_false(r.settings.quiet);
	parse(&r, &report, "-");
	assert_string_equal(r.argv[r.first], "-");
}

static void a_program_keeps_its_own_options(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &run, "-q ./app -v --output x -- y");
	assert_int_equal(r.first, 2);
	assert_string_equal(r.argv[2], "./app");
	assert_string_equal(r.argv[3], "-v");
	assert_string_equal(r.argv[6], "--");
	assert_false(r.settings.verbose);
	parse(&r, &run, "-q -- -v x");
	assert_string_equal(r.argv[r.first], "-v");
	assert_int_equal(r.argc - r.first, 2);
}

static void several_choices_keep_their_order(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &report, "--paints never,auto,never");
	assert_int_equal(r.settings.paints.count, 3);
	assert_int_equal(r.settings.paints.list[0], 2);
	assert_int_equal(r.settings.paints.list[1], 0);
	assert_int_equal(r.settings.paints.list[2], 2);
	parse(&r, &report, "--paints auto,always --paints=never");
	assert_int_equal(r.settings.paints.count, 1);
	assert_int_equal(r.settings.paints.list[0], 2);
}

static void ranges_include_both_ends(void **state)
{
	static const char *const fit[] = { "--ranged 0.5 x", "--ranged 3600 x", "--depth 64 x",
					   "--depth 0 x", "--threads 1 x" };

	(void)state;
	for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
		struct result r;

		parse(&r, &report, fit[i]);
		assert_int_equal(r.status, 0);
	}
}

static void typed_options_are_remembered(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &report, "-n 3 --color=never x");
	assert_true(gt_option_was_typed("top") && gt_option_was_typed("color"));
	assert_false(gt_option_was_typed("limit"));
	assert_int_equal(gt_option_needs(&report, "limit", false, "-q"), 0);
	assert_int_equal(gt_option_needs(&report, "top", true, "-q"), 0);
	parse(&r, &report, "x");
	assert_false(gt_option_was_typed("top"));
}

static void mistakes_are_reported_in_one_line(void **state)
{
	static const struct {
		const struct gt_syntax *usage;
		const char *words, *said;
	} cases[] = {
		{ &report, "--ouptut x", "did you mean --output?" },
		{ &report, "--symb x", "did you mean --symbols?" },
		{ &report, "--zzz", "unknown option --zzz (" },
		{ &report, "-z", "unknown option -z" },
		{ &report, "--output", "--output needs FILE" },
		{ &report, "-n", "-n needs N" },
		{ &report, "-n 12x", "takes a whole number, not '12x'" },
		{ &report, "-n 99999999999999999999", "must be at most 18446744073709551615, not" },
		{ &report, "--ranged 0.4", "--ranged must be from 0.5 to 3600, not '0.4'" },
		{ &report, "--ranged 3600.1", "--ranged must be from 0.5 to 3600, not '3600.1'" },
		{ &report, "--depth 65", "--depth must be at most 64, not '65'" },
		{ &report, "--depth 99999999999999999999", "--depth must be at most 64, not '999" },
		{ &report, "--threads 0", "--threads must be at least 1, not '0'" },
		{ &report, "--interval 1e3", "--interval takes a number, not '1e3'" },
		{ &report, "--interval -1", "--interval takes a number, not '-1'" },
		{ &report, "--quiet=yes", "takes no value" },
		{ &report, "--color neverr", "did you mean 'never'?" },
		{ &report, "--color blue", "must be one of auto, always, never" },
		{ &report, "--paints auto,blue", "must be one of auto, always, never, not 'blue'" },
		{ &report, "--paints auto,", "must be one of auto, always, never, not ''" },
		{ &report,
		  "--paints auto,auto,auto,auto,auto,auto,auto,auto,auto,auto,auto,auto,auto,auto,"
		  "auto,auto,auto",
		  "at most 16" },
		{ &doctor, "thing", "takes no operand, got 'thing'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct result r;

		parse(&r, cases[i].usage, cases[i].words);
		assert_int_equal(r.first, -1);
		assert_int_equal(r.status, 2);
		assert_non_null(strstr(r.said, cases[i].said));
		assert_ptr_equal(strchr(r.said, '\n'), r.said + strlen(r.said) - 1);
	}
}

static void help_lists_every_option_and_succeeds(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &report, "-q --help --zzz");
	assert_int_equal(r.first, -1);
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.said, "usage: gputrack report [OPTION…] NAME.gt"));
	for (const struct gt_option *o = options; o->name; o++)
		if (o->help)
			assert_non_null(strstr(r.said, o->name));
	assert_null(strstr(r.said, "--every"));
	assert_non_null(strstr(r.said, "-h, --help"));
	parse(&r, &doctor, "-h");
	assert_int_equal(r.status, 0);
}

static void an_optional_value_is_attached_to_its_option(void **state)
{
	struct result r;

	(void)state;
	parse(&r, &report, "in.gt");
	assert_null(r.settings.limit);
	parse(&r, &report, "--limit in.gt");
	assert_string_equal(r.settings.limit, "any");
	assert_string_equal(r.argv[r.first], "in.gt");
	parse(&r, &report, "--limit=event>1 in.gt");
	assert_string_equal(r.settings.limit, "event>1");
	parse(&r, &report, "--help");
	assert_non_null(strstr(r.said, "--limit[=SPEC]"));
}

static int fill(const struct gt_syntax *usage, void *settings)
{
	static const char *const lines[][2] = {
		{ "quiet", "yes" },    { "top", "7" },        { "color", "never" },
		{ "limit", "memory" }, { "output", "there" },
	};
	int status = 0;

	for (size_t i = 0; !status && i < sizeof lines / sizeof *lines; i++)
		status = gt_option_set(usage, settings, gt_option_find(usage, lines[i][0]),
				       lines[i][1], "here");
	return status;
}

static int fill_badly(const struct gt_syntax *usage, void *settings)
{
	return gt_option_set(usage, settings, gt_option_find(usage, "quiet"), "perhaps", "f:3");
}

static void defaults_apply_before_the_arguments(void **state)
{
	struct result r;

	(void)state;
	assert_null(gt_option_find(&report, "help"));
	assert_null(gt_option_find(&report, "nothing"));
	gt_options_defaults(fill, NULL);
	parse(&r, &report, "--top 9 --output=here in.gt");
	assert_true(r.settings.quiet);
	assert_int_equal(r.settings.top, 9);
	assert_int_equal(r.settings.color, 2);
	assert_string_equal(r.settings.limit, "memory");
	assert_string_equal(r.settings.output, "here");
	gt_options_defaults(fill_badly, NULL);
	parse(&r, &report, "in.gt");
	assert_int_equal(r.first, -1);
	assert_int_equal(r.status, 2);
	assert_non_null(strstr(r.said, "f:3 must be yes or no, not 'perhaps'"));
	gt_options_defaults(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_an_option_is_understood),
		cmocka_unit_test(options_may_follow_operands),
		cmocka_unit_test(a_program_keeps_its_own_options),
		cmocka_unit_test(several_choices_keep_their_order),
		cmocka_unit_test(ranges_include_both_ends),
		cmocka_unit_test(typed_options_are_remembered),
		cmocka_unit_test(mistakes_are_reported_in_one_line),
		cmocka_unit_test(help_lists_every_option_and_succeeds),
		cmocka_unit_test(an_optional_value_is_attached_to_its_option),
		cmocka_unit_test(defaults_apply_before_the_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
