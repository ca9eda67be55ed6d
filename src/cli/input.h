/* SPDX-License-Identifier: MIT */
/* input.h - the recording or table that a command reads: which one, and how. */
#pragma once

#include <stddef.h>

#include "base/mem.h"
#include "cli/options.h"
#include "replay/frames.h"
#include "trace/recording.h"

struct gt_input {
	const char *output;
	uint64_t pid;
	bool all_frames, debuginfod, no_symbols;
	struct gt_texts symbols;
};

/* Rows for a table of options whose settings have a `struct gt_input input`. */
#define GT_INPUT_AT(settings, field)                                                               \
	.at = offsetof(settings, input) + offsetof(struct gt_input, field)
/* clang-format off */
#define GT_INPUT_OPTIONS(settings)                                                             \
	{ .name = "output", .letter = 'o', .argument = "FILE", .type = GT_OPTION_TEXT,          \
	  GT_INPUT_AT(settings, output), .help = "write to FILE instead of the terminal" },    \
	GT_INPUT_READING(settings)
/* Those of them that say how to read it. */
#define GT_INPUT_READING(settings)                                                             \
	{ .name = "pid", .letter = 'p', .argument = "PID", .type = GT_OPTION_COUNT,             \
	  GT_INPUT_AT(settings, pid),                                                          \
	  .help = "only this process; otherwise all processes of the recording are taken "      \
		  "together" },                                                                 \
	{ .name = "all-frames", .type = GT_OPTION_FLAG, GT_INPUT_AT(settings, all_frames),     \
	  .help = "show the API loader's frames and the C library's start-up frames too, and "  \
		  "the C++ library's where a few frames are shown" },                           \
	{ .name = "symbols", .argument = "DIR", .type = GT_OPTION_TEXTS,                        \
	  GT_INPUT_AT(settings, symbols),                                                      \
	  .help = "look for programs, libraries and debug files in DIR first; may be given "    \
		  "several times" },                                                            \
	{ .name = "debuginfod", .type = GT_OPTION_FLAG, GT_INPUT_AT(settings, debuginfod),     \
	  .help = "fetch missing debug files from the servers in DEBUGINFOD_URLS" },            \
	{ .name = "no-symbols", .type = GT_OPTION_FLAG, GT_INPUT_AT(settings, no_symbols),     \
	  .help = "show modules and offsets only; opens none of the recorded programs" }
/* clang-format on */

/*
 * Opens the one recording that is left in argv after the options. 0, or the exit status after the
 * user has been told what is wrong.
 */
int gt_input_open(const struct gt_syntax *syntax, const struct gt_input *input, int argc,
		  char **argv, int first, struct gt_recording **recording);
int gt_input_frames(const struct gt_input *input, const struct gt_recording *recording,
		    struct gt_frames **frames, struct gt_error *error);
void gt_input_fini(struct gt_input *input);
/* True for stdin, and for a regular file that is not a trace. */
bool gt_input_is_table(const char *path);

/*
 * The end of a message about `path`, which does not exist. A tracker told to write tracker.csv
 * writes tracker_pid123.csv: "; … wrote tracker_pid123.csv", or "" if it did not. The caller frees
 * it.
 */
char *gt_input_pid_hint(const char *path);
