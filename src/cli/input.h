/* SPDX-License-Identifier: MIT */
/* input.h - the recording or table that a command reads: which one, and how. */
#pragma once

#include <stddef.h>

#include "base/mem.h"
#include "cli/options.h"
#include "replay/place.h"
#include "trace/recording.h"

/* Whose code is whose. */
struct gt_own_options {
	struct gt_texts roots, own, library;
};

struct gt_input {
	const char *output;
	uint64_t pid;
	struct gt_texts phases;
	bool all_frames, debuginfod, no_symbols, no_held;
	struct gt_texts symbols;
	struct gt_own_options own;
	int by;        /* enum gt_by */
	bool compares; /* as struct gt_frames_options has it */
};

/* Rows for a table of options whose settings have a `struct gt_input input`. */
#define GT_INPUT_AT(settings, field)                                                               \
	.at = offsetof(settings, input) + offsetof(struct gt_input, field)
/* clang-format off */
#define GT_INPUT_OPTIONS(settings)                                                              \
	{ .name = "output", .letter = 'o', .argument = "FILE", .type = GT_OPTION_TEXT,          \
	  GT_INPUT_AT(settings, output), .help = "write to FILE instead of standard output" },  \
	GT_INPUT_READING(settings)
/* The same without the output. */
#define GT_INPUT_READING(settings)                                                              \
	{ .name = "pid", .letter = 'p', .argument = "PID", .type = GT_OPTION_COUNT,             \
	  .most = UINT32_MAX, GT_INPUT_AT(settings, pid),                                       \
	  .help = "read only this process (default: all processes of the recording together)" }, \
	{ .name = "phase", .argument = "PATTERN", .type = GT_OPTION_TEXTS,                      \
	  GT_INPUT_AT(settings, phases),                                                        \
	  .help = "read only resources created in a phase that PATTERN matches: \"forward\" "   \
		  "anywhere in its ranges, \"^train > forward\" from the outermost on, \"^(no "   \
		  "phase)$\" outside all; may be repeated (doc/phases.md)" },                    \
	{ .name = "all-frames", .type = GT_OPTION_FLAG, GT_INPUT_AT(settings, all_frames),      \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "show whole stacks, also where a few own frames would do, with the frames of " \
		  "the API's loader and of the C library's start-up code" },                    \
	{ .name = "symbols", .argument = "DIR", .type = GT_OPTION_TEXTS,                        \
	  GT_INPUT_AT(settings, symbols),                                                       \
	  .help = "search DIR first for programs, libraries and debug files; may be repeated" }, \
	{ .name = "debuginfod", .type = GT_OPTION_FLAG, GT_INPUT_AT(settings, debuginfod),      \
	  .help = "download missing debug files from the servers in DEBUGINFOD_URLS" },         \
	{ .name = "no-symbols", .type = GT_OPTION_FLAG, GT_INPUT_AT(settings, no_symbols),      \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "show only modules and offsets; do not open the recorded programs" },         \
	GT_OWN_OPTIONS(offsetof(settings, input) + offsetof(struct gt_input, own)),             \
	GT_NO_HELD_OPTION(GT_INPUT_AT(settings, no_held))
/* Rows for a `struct gt_own_options` at this offset. */
#define GT_OWN_OPTIONS(base)                                                                    \
	{ .name = "root", .argument = "DIR", .type = GT_OPTION_TEXTS, .is_path = true,          \
	  .at = (base) + offsetof(struct gt_own_options, roots), .local = GT_LOCAL_BELOW,       \
	  .check = gt_roots_check,                                                              \
	  .help = "code below DIR is your own: places are named by its functions and lines, "   \
		  "relative to DIR; may be repeated (default: the folder the recording was "    \
		  "made in, those of its programs, and the repositories around them)" },        \
	{ .name = "own", .argument = "PATTERN", .type = GT_OPTION_TEXTS,                        \
	  .at = (base) + offsetof(struct gt_own_options, own), .local = GT_LOCAL_YES,           \
	  .help = "functions, files and modules that match PATTERN are your own code; may be "  \
		  "repeated. Patterns are those of suppressions (doc/ci.md)" },                 \
	{ .name = "library", .argument = "PATTERN", .type = GT_OPTION_TEXTS,                    \
	  .at = (base) + offsetof(struct gt_own_options, library), /* stress has another */      \
	  .help = "functions, files and modules that match PATTERN are a library's, unless "    \
		  "--own matches them too; may be repeated" }
/* For views that group; `last`: the ways that stacks are parted by, as far as there are any. */
#define GT_BY_OPTION(at_, last)                                                                 \
	{ .name = "by", .argument = "WHAT", .type = GT_OPTION_CHOICE, at_,                      \
	  .choices = gt_by_names, .local = GT_LOCAL_YES,                                        \
	  .help = "what is one call site: line (your own functions and lines, whatever their "  \
		  "addresses; the default), function, file, module, stack (every address "      \
		  "apart), " last }
/* What libraries hold by design: to judge without the list, and to see what it covers. */
#define GT_NO_HELD_OPTION(at_)                                                                  \
	{ .name = "no-held", .type = GT_OPTION_FLAG, at_,                                       \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "count as leaked what libraries hold by design until the process ends, too: " \
		  "pools, handles, caches (doc/ci.md)" }
#define GT_SHOW_HELD_OPTION(at_)                                                                \
	{ .name = "show-held", .type = GT_OPTION_FLAG, at_,                                     \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "list what libraries hold by design until the process ends, with the reasons " \
		  "(default: one line with the sum)" }
/* clang-format on */

/*
 * Refuses a way to group that has no meaning here, which is one that `has` returns false for: 0, or
 * the exit status after a line that says `why`. One from a configuration file gives way to
 * GT_BY_LINE.
 */
int gt_by_check(const struct gt_syntax *syntax, int *by, bool (*has)(enum gt_by by),
		const char *why);

/* Roots must be folders, unless one of the operands is a recording of another machine. */
gt_option_check_fn gt_roots_check;
struct gt_own_rules gt_own_options_rules(const struct gt_own_options *own);
void gt_own_options_fini(struct gt_own_options *own);

/* Opens the one recording that is left in argv after the options. 0, or the exit status. */
int gt_input_open(const struct gt_syntax *syntax, const struct gt_input *input, int argc,
		  char **argv, int first, struct gt_recording **recording);
/* Its texts must stay as long as the recording. */
int gt_input_frames(const struct gt_input *input, struct gt_recording *recording,
		    struct gt_frames **frames, struct gt_error *error);
/* For struct gt_replay: what finds the resources that libraries hold; NULL with --no-held. */
static inline struct gt_frames *gt_input_held(const struct gt_input *input,
					      struct gt_frames *frames)
{
	return input->no_held ? NULL : frames;
}
/* Opens a recording and its frames, both or none. 0, or -errno and the error. */
int gt_input_load(const struct gt_input *input, const char *path, struct gt_recording **recording,
		  struct gt_frames **frames, struct gt_error *error);
void gt_input_fini(struct gt_input *input);
/* True for stdin, and for a regular file that is not a trace. */
bool gt_input_is_table(const char *path);

/*
 * The end of a message about `path`, which does not exist: "; … it wrote tracker_pid123.csv" if a
 * tracker added a pid to this name, otherwise "". The caller frees it.
 */
char *gt_input_pid_hint(const char *path);
