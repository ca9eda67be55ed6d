/* SPDX-License-Identifier: MIT */
/* describe.c - `gputrack describe`: the commands and options as JSON, for man pages and shells. */
#include "base/json.h"
#include "cli/cli.h"

enum { SCHEMA = 1 };

const struct gt_syntax gt_describe_syntax = {
	.name = "describe",
	.summary = "write all commands and options as JSON, for man pages and completions",
};

static void describe_option(struct gt_json *j, const struct gt_option *o)
{
	gt_json_line(j, NULL);
	gt_json_text(j, "name", o->name);
	gt_json_text(j, "letter", o->letter ? (char[]){ o->letter, '\0' } : NULL);
	gt_json_text(j, "value",
		     o->type == GT_OPTION_FLAG  ? "none" :
		     o->type == GT_OPTION_MAYBE ? "optional" :
						  "needed");
	gt_json_text(j, "argument", o->argument);
	gt_json_bool(j, "repeats", o->type == GT_OPTION_TEXTS);
	gt_json_array(j, "choices");
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		gt_json_text(j, NULL, o->choices[i]);
	gt_json_end(j);
	gt_json_text(j, "local",
		     o->local == GT_LOCAL_YES   ? "yes" :
		     o->local == GT_LOCAL_BELOW ? "below" :
						  "no");
	gt_json_text(j, "help", o->help);
	gt_json_end(j);
}

static void describe_command(struct gt_json *j, const struct gt_syntax *syntax)
{
	gt_json_object(j, NULL);
	gt_json_text(j, "name", syntax->name);
	gt_json_text(j, "summary", syntax->summary);
	gt_json_text(j, "operands", syntax->operands);
	gt_json_bool(j, "first_operand_ends", syntax->first_operand_ends);
	gt_json_text(j, "about", syntax->about);
	gt_json_array(j, "options");
	for (size_t i = 0; i < gt_syntax_option_count(syntax); i++)
		if (gt_syntax_option(syntax, i)->help) /* as --help does */
			describe_option(j, gt_syntax_option(syntax, i));
	gt_json_end(j);
	gt_json_end(j);
}

int gt_cmd_describe(int argc, char **argv)
{
	const struct gt_command *commands;
	struct gt_json json;
	size_t count;
	int status;

	if (gt_options_parse(&gt_describe_syntax, NULL, argc, argv, &status) < 0)
		return status;
	commands = gt_commands(&count);
	gt_json_begin(&json, stdout);
	gt_json_uint(&json, "schema", SCHEMA);
	gt_json_text(&json, "version", GT_VERSION);
	gt_json_array(&json, "commands");
	for (size_t i = 0; i < count; i++)
		if (!commands[i].hidden)
			describe_command(&json, commands[i].syntax);
	gt_json_end(&json);
	gt_json_finish(&json);
	return GT_EXIT_DONE;
}
