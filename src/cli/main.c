/* SPDX-License-Identifier: MIT */
/* main.c - gputrack: finds the subcommand and runs it. */
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/tool.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/launch.h"
#include "cli/output.h"

static const struct gt_command commands[] = {
#define COMMAND(name) { .syntax = &gt_##name##_syntax, .run = gt_cmd_##name },
#define HIDDEN(name)  { .syntax = &gt_##name##_syntax, .run = gt_cmd_##name, .hidden = true },
#include "cli/commands.def"
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands, LARGE_BYTES = 1 << 20 };

const struct gt_command *gt_commands(size_t *count)
{
	*count = COMMAND_COUNT;
	return commands;
}

void gt_tell(const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fputs("gputrack: ", stderr);
	/* file names in a recording may be foreign text */
	gt_text_put(stderr, text, UINT32_MAX, GT_CUT_MIDDLE, gt_is_utf8());
	putc('\n', stderr);
}

static const char *command_name(const void *context, size_t index)
{
	(void)context;
	return commands[index].syntax->name;
}

static void print_help(FILE *out)
{
	fputs("usage: gputrack COMMAND [OPTION…]\n\n"
	      "Records every GPU resource that a program creates and destroys, and reports\n"
	      "which were never released, where in the source they were created, and when\n"
	      "memory peaked.\n\n"
	      "commands:\n",
	      out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i].hidden)
			fprintf(out, "  %-10s%s\n", commands[i].syntax->name,
				commands[i].syntax->summary);
	fputs("\n`gputrack COMMAND --help` explains a command, `gputrack --version` prints "
	      "the\nversion.\n\nto begin:\n  gputrack run ./program            run it, then report "
	      "its leaks\n  gputrack report program.PID.gt    show the recording in more detail\n",
	      out);
}

/* NULL: there is none of that name. */
static const struct gt_command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(name, commands[i].syntax->name))
			return &commands[i];
	return NULL;
}

static int unknown(const char *word)
{
	const char *near = gt_nearest(word, COMMAND_COUNT, command_name, NULL);

	if (!access(word, X_OK) && strchr(word, '/'))
		gt_tell("unknown command '%.200s': to run a program, use `%s run %.200s`", word,
			gt_tool_name(), word);
	else if (near)
		gt_tell("unknown command '%.200s': did you mean '%s'? (see `%s --help`)", word,
			near, gt_tool_name());
	else
		gt_tell("unknown command '%.200s' (see `%s --help`)", word, gt_tool_name());
	return GT_EXIT_USAGE;
}

/* Some users type `gputrack help report`. */
static int help(int argc, char **argv)
{
	const struct gt_command *command = argc < 3 ? NULL : find_command(argv[2]);

	if (command)
		gt_syntax_print(command->syntax);
	else if (argc < 3)
		print_help(stdout);
	else
		return unknown(argv[2]);
	return GT_EXIT_DONE;
}

/* A mistake in the configuration stops every command except those that show it. */
static int configure(const struct gt_command *command)
{
	const struct gt_syntax *syntaxes[COMMAND_COUNT];
	struct gt_error error;
	size_t count = 0;

	if (command->hidden)
		return 0;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!commands[i].hidden)
			syntaxes[count++] = commands[i].syntax;
	if (!gt_config_load(syntaxes, count, &error) || command->syntax->shows_config)
		return 0;
	gt_tell("%s", error.text);
	return GT_EXIT_USAGE;
}

static int run_command(const struct gt_command *command, int argc, char **argv)
{
	int status = configure(command);

	if (!status)
		status = command->run(argc, argv);
	gt_config_free();
	return status;
}

/*
 * If a standard stream is closed, the next file we open would take its descriptor and receive our
 * messages. The placeholder is not writable, and programs that we start find the stream closed.
 */
static void fill_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static int dispatch(int argc, char **argv)
{
	const struct gt_command *command;

	if (argc < 2) {
		print_help(stderr);
		return GT_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argc, argv);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("gputrack " GT_VERSION);
		return GT_EXIT_DONE;
	}
	command = find_command(argv[1]);
	return command ? run_command(command, argc - 1, argv + 1) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
	struct gt_error error;
	int status;

	fill_streams();
	gt_inherited_save();
	gt_tool_survive_files();
	/* large arrays grow in place, and go back to the system when they are freed */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	gt_tool_set_name(argv[0]);
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* machine-readable output has a decimal point in any locale */
	status = dispatch(argc, argv);
	/* any other status comes with a message already */
	if (status == GT_EXIT_DONE &&
	    gt_output_flush(&(struct gt_output){ .file = stdout }, &error))
		status = gt_fail("%s", error.text);
	return status;
}
