/* SPDX-License-Identifier: MIT */
/* cli.h - the subcommands that main.c dispatches to. Only src/cli prints. */
#pragma once

#include "cli/options.h"

#ifndef GT_VERSION
#define GT_VERSION "unknown"
#endif

enum gt_exit {
	GT_EXIT_DONE = 0,
	GT_EXIT_FAILED = 1,
	GT_EXIT_USAGE = 2,
	GT_EXIT_LEAKED = 23, /* --fail-on-leak; diff: there are new leaks */
	GT_EXIT_UNTRACKED = 24,
	GT_EXIT_UNSURE = 25, /* it cannot be told whether anything leaked */
};

/* A subcommand: its options and its function. argv[0] is its name. */
struct gt_command {
	const struct gt_syntax *syntax;
	int (*run)(int argc, char **argv);
	bool hidden; /* internal: not in --help */
};

/* All of them, in the order of --help. */
const struct gt_command *gt_commands(size_t *count);

#define COMMAND(name)                                                                              \
	extern const struct gt_syntax gt_##name##_syntax;                                          \
	int gt_cmd_##name(int argc, char **argv);
#define HIDDEN COMMAND
#include "cli/commands.def"
#undef COMMAND
#undef HIDDEN

/* `gputrack: TEXT` on stderr, cleaned. */
void gt_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for an error, "WHAT, on what; what to do now". Its value is GT_EXIT_FAILED. */
#define gt_fail(...) (gt_tell(__VA_ARGS__), GT_EXIT_FAILED)
