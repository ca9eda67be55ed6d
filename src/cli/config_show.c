/* SPDX-License-Identifier: MIT */
/* config_show.c - gputrack config: the settings in force, and where each comes from. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/output.h"

enum { SCHEMA = 1 };

struct settings {
	bool json;
};

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "json", .type = GT_OPTION_FLAG, .at = offsetof(struct settings, json),
	  .local = GT_LOCAL_YES, .help = "write the settings as JSON" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_config_syntax = {
	.name = "config",
	.summary = "show the default options in force, and where they come from",
	.about =
		"Shows the options that files and the environment set, the file and line of each, "
		"and the commands it applies to. A .gputrackrc in the current folder can set only "
		"options that cannot write, run, send or open anything; suppressions and baseline "
		"must lie in its folder or below. gputrack/config in $XDG_CONFIG_HOME (~/.config), "
		"the file that GPUTRACK_CONFIG names, and GPUTRACK_OPTIONS can set every option. "
		"Exit status 2 if a setting is wrong or refused.",
	.options = options,
	.shows_config = true,
};

/* Calls `each` for every command in which the line is in force. Returns how many there are. */
static size_t for_commands(const struct gt_config_line *line,
			   void (*each)(void *context, const char *command, size_t index),
			   void *context)
{
	const struct gt_command *commands;
	size_t count, found = 0;

	commands = gt_commands(&count);
	if (gt_config_mistake())
		return 0; /* nothing is in force */
	for (size_t i = 0; i < count; i++)
		if (!commands[i].hidden && gt_config_option(line, commands[i].syntax) &&
		    !gt_config_override(line, commands[i].syntax))
			each(context, commands[i].syntax->name, found++);
	return found;
}

static void add_json(void *json, const char *command, size_t index)
{
	(void)index;
	gt_json_text(json, NULL, command);
}

static void add_text(void *out, const char *command, size_t index)
{
	fprintf(out, "%s%s", index ? ", " : "; for ", command);
}

static void write_json(const struct gt_config *config)
{
	struct gt_json j;
	size_t count;

	gt_json_begin(&j, stdout);
	gt_json_uint(&j, "schema", SCHEMA);
	gt_json_text(&j, "file", gt_config_path(&count));
	gt_json_text(&j, "ignored", gt_config_ignored());
	gt_json_text(&j, "mistake", gt_config_mistake());
	gt_json_array(&j, "settings");
	for (size_t i = 0; i < config->count; i++) {
		const struct gt_config_line *line = &config->lines[i];

		gt_json_line(&j, NULL);
		gt_json_text(&j, "name", line->key);
		gt_json_text(&j, "value", line->value);
		gt_json_text(&j, "from", line->from);
		gt_json_uint(&j, "line", line->line);
		gt_json_bool(&j, "local", line->is_local);
		gt_json_array(&j, "commands");
		for_commands(line, add_json, &j);
		gt_json_end(&j);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_json_finish(&j);
}

static void put(const char *text)
{
	gt_text_put(stdout, text, UINT32_MAX, GT_CUT_MIDDLE, gt_is_utf8());
}

static void write_none(void)
{
	const char *named = getenv("GPUTRACK_CONFIG");
	size_t count;

	if (gt_config_path(&count)) {
		put(gt_config_path(&count));
		puts(" sets nothing.");
	} else if (named && !*named) {
		puts("No settings: GPUTRACK_CONFIG is empty, so no file is read.");
	} else if (gt_config_ignored()) {
		puts("No settings.");
	} else if (!gt_config_mistake()) {
		puts("No settings: neither .gputrackrc in this folder nor gputrack/config in "
		     "$XDG_CONFIG_HOME\n(~/.config) exists, and GPUTRACK_OPTIONS is not set.");
	}
}

static void write_text(const struct gt_config *config)
{
	if (!config->count)
		write_none();
	for (size_t i = 0; i < config->count; i++) {
		const struct gt_config_line *line = &config->lines[i];

		put(line->key);
		fputs(" = ", stdout);
		put(line->value);
		fputs("\n    ", stdout);
		put(line->from);
		printf(":%u%s", line->line, line->is_local ? " in this folder" : "");
		if (!for_commands(line, add_text, stdout))
			fputs("; not in force", stdout);
		putchar('\n');
	}
}

/* What an option of any type may be set to. */
union value {
	bool flag;
	const char *text;
	uint64_t count;
	double decimal;
	int choice;
	struct gt_choices choices;
	struct gt_texts texts;
};

/* As the command would: 0, or the exit status after a message. */
static int try_value(const struct gt_config_line *line, const struct gt_syntax *syntax,
		     const struct gt_option *option)
{
	struct gt_option one = *option;
	union value value = { 0 };
	char called[600];
	int status;

	one.at = 0;
	snprintf(called, sizeof called, "%s:%u: %s", line->from, line->line, line->key);
	status = gt_option_set(syntax, &value, &one, line->value, called);
	if (!status && one.type == GT_OPTION_TEXTS)
		gt_texts_fini(&value.texts);
	return status;
}

/* Names each value that a command would refuse, once. */
static int check_values(const struct gt_config *config)
{
	const struct gt_command *commands;
	size_t count;
	int status = GT_EXIT_DONE;

	commands = gt_commands(&count);
	for (size_t i = 0; i < config->count; i++)
		for (size_t k = 0; k < count; k++) {
			const struct gt_option *option =
				gt_config_option(&config->lines[i], commands[k].syntax);

			if (option && try_value(&config->lines[i], commands[k].syntax, option)) {
				status = GT_EXIT_USAGE;
				break;
			}
		}
	return status;
}

int gt_cmd_config(int argc, char **argv)
{
	struct settings s = { 0 };
	int status;

	if (gt_options_parse(&gt_config_syntax, &s, argc, argv, &status) < 0)
		return status;
	(s.json ? write_json : write_text)(gt_config_in_use());
	fflush(stdout);
	if (!gt_config_mistake())
		return check_values(gt_config_in_use());
	gt_tell("%s", gt_config_mistake());
	return GT_EXIT_USAGE;
}
