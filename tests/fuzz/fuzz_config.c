/* SPDX-License-Identifier: MIT */
/* fuzz_config.c - reads any bytes as a configuration, and sets options of every type from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "fuzz.h"

struct settings {
	bool flag;
	const char *text, *empty, *path, *maybe;
	struct gt_texts texts;
	uint64_t count, size;
	double decimal;
	int choice;
};

static const char *const choices[] = { "auto", "always", "never", NULL };

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "quiet", .type = GT_OPTION_FLAG, .at = offsetof(struct settings, flag) },
	{ .name = "output", .type = GT_OPTION_TEXT, .at = offsetof(struct settings, text),
	  .argument = "FILE" },
	{ .name = "description", .type = GT_OPTION_TEXT, .may_be_empty = true,
	  .at = offsetof(struct settings, empty), .argument = "TEXT" },
	{ .name = "baseline", .type = GT_OPTION_TEXT, .is_path = true,
	  .at = offsetof(struct settings, path), .argument = "FILE" },
	{ .name = "suppressions", .type = GT_OPTION_TEXTS, .is_path = true,
	  .at = offsetof(struct settings, texts), .argument = "FILE" },
	{ .name = "top", .type = GT_OPTION_COUNT, .at = offsetof(struct settings, count),
	  .argument = "N" },
	{ .name = "interval", .type = GT_OPTION_DECIMAL, .argument = "S",
	  .at = offsetof(struct settings, decimal) },
	{ .name = "max-size", .type = GT_OPTION_SIZE, .at = offsetof(struct settings, size),
	  .argument = "SIZE" },
	{ .name = "color", .type = GT_OPTION_CHOICE, .choices = choices, .argument = "WHEN",
	  .at = offsetof(struct settings, choice) },
	{ .name = "fail-on-leak", .type = GT_OPTION_MAYBE, .bare = "any", .argument = "SPEC",
	  .at = offsetof(struct settings, maybe) },
	{ 0 },
};
/* clang-format on */

static const struct gt_syntax run = { .name = "run", .options = options };
static const struct gt_syntax report = { .name = "report", .options = options + 1 };

/* Replaces the one in main.c, which is not linked here. */
void gt_tell(const char *format, ...)
{
	(void)format;
}

/* The lines alone, with any content. */
static void parse(const uint8_t *data, size_t size)
{
	struct gt_config c = { 0 };
	struct gt_error error = { "" };
	int e = gt_config_parse(&c, "input", (const char *)data, size, "\n", &error);

	FUZZ_CHECK(!e || *error.text);
	for (size_t i = 0; i < c.count; i++)
		FUZZ_CHECK(c.lines[i].key && c.lines[i].value && c.lines[i].line);
	gt_config_fini(&c);
}

static void check_settings(const struct settings *s)
{
	FUZZ_CHECK(!s->text || *s->text);
	FUZZ_CHECK(s->size && s->decimal >= 0 && s->choice >= 0 && s->choice < 3);
	for (size_t i = 0; i < s->texts.count; i++)
		FUZZ_CHECK(*s->texts.items[i]);
}

/* As the tool does it. */
static void configure(void)
{
	const struct gt_syntax *const usages[] = { &run, &report };
	struct gt_error error = { "" };

	if (gt_config_load(usages, 2, &error)) {
		FUZZ_CHECK(*error.text && gt_config_mistake());
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		char *argv[] = { (char *)usages[i]->name, NULL };
		struct settings s = { .size = 1 };
		int status = -1, first = gt_options_parse(usages[i], &s, 1, argv, &status);

		FUZZ_CHECK(first == 1 || (first < 0 && status == GT_EXIT_USAGE));
		if (first == 1)
			check_settings(&s);
		gt_texts_fini(&s.texts);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	FILE *before = stderr;

	if (!nowhere)
		FUZZ_CHECK((nowhere = fopen("/dev/null", "w")) != NULL);
	parse(data, size);
	setenv("GPUTRACK_CONFIG", fuzz_file(data, size), 1);
	stderr = nowhere; /* mistakes are told there */
	configure();
	stderr = before;
	gt_config_free();
	return 0;
}
