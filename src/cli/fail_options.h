/* SPDX-License-Identifier: MIT */
/* fail_options.h - the options by which a command fails when too much leaked or was used. */
#pragma once

#include "cli/options.h"
#include "cli/input.h"
#include "judge/verdict.h"

/* What the baseline's recordings of a test leaked; they are closed. */
struct gt_baseline {
	char *test;                   /* NULL: the baseline is one recording, for every test */
	struct gt_leaks leaks;        /* their keys and sums */
	struct gt_growing_sites grow; /* their keys */
	bool is_unsure;               /* some of them may not have leaked */
};

struct gt_fail_options {
	const char *fail_on_leak;   /* NULL: not given */
	const char *fail_on_growth; /* likewise */
	const char *baseline;
	uint64_t max_peak; /* bytes; 0: not given */
	struct gt_strictness strict;
	uint64_t skip_status; /* instead of GT_EXIT_UNTRACKED; 0: not given */
	struct gt_texts suppressions;
	/* derived from these by gt_fail_options_open */
	struct gt_limits limits;
	struct gt_growth_limit growth;
	struct gt_suppressions known;
	struct gt_baseline *baselines; /* by test */
	size_t baseline_count;
	struct gt_verdict verdict;
};

/* Rows for a table of options whose settings have a `struct gt_strictness` at this offset. */
/* clang-format off */
#define GT_STRICT_OPTIONS(offset)                                                               \
	{ .name = "killed-is-leak", .type = GT_OPTION_FLAG,                                     \
	  .at = (offset) + offsetof(struct gt_strictness, killed_is_leak),                      \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "count what was alive when its process was killed, crashed or ended in the "  \
		  "middle of a call as leaked" },                                               \
	{ .name = "running-is-leak", .type = GT_OPTION_FLAG,                                    \
	  .at = (offset) + offsetof(struct gt_strictness, running_is_leak),                     \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "count what processes hold that still run, or ran when gputrack detached, as " \
		  "leaked" }
/* clang-format on */

/* A row for a table of options; `target` is the `.at` of a const char *. */
/* clang-format off */
#define GT_FAIL_ON_GROWTH_OPTION(condition, target)                                             \
	{ .name = "fail-on-growth", .type = GT_OPTION_MAYBE, .argument = "RATE", .bare = "any", \
	  target,                                                                               \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "exit with status 23 if a call site keeps growing" condition ". RATE is how "  \
		  "fast it may grow: 1MiB/h or 64KiB/s for memory, 10/min for other resources, " \
		  "or both with a comma (default: any growth; doc/growth.md)" }
/* clang-format on */

/* Rows for a table of options whose settings have a `struct gt_fail_options fail`. */
#define GT_FAIL_AT(settings, field)                                                                \
	.at = offsetof(settings, fail) + offsetof(struct gt_fail_options, field)
/* clang-format off */
/* Leaks that do not count. */
#define GT_KNOWN_OPTIONS(settings)                                                              \
	{ .name = "suppressions", .type = GT_OPTION_TEXTS, .argument = "FILE", .is_path = true, \
	  GT_FAIL_AT(settings, suppressions),                                                   \
	  .local = GT_LOCAL_BELOW,                                                              \
	  .help = "ignore the leaks listed in FILE, in LeakSanitizer's format; may be repeated. " \
		  "`gputrack suppress` writes such a file" },                                   \
	{ .name = "baseline", .type = GT_OPTION_TEXT, .argument = "OLD.gt", .is_path = true,    \
	  GT_FAIL_AT(settings, baseline),                                                       \
	  .local = GT_LOCAL_BELOW,                                                              \
	  .help = "count only leaks that this older recording does not have, by call site. Of a " \
		  "folder of recordings, those of the same test count: its name is that of the " \
		  "recording, without .gt" }
#define GT_FAIL_OPTIONS(settings)                                                               \
	{ .name = "fail-on-leak", .type = GT_OPTION_MAYBE, .argument = "SPEC", .bare = "any",   \
	  GT_FAIL_AT(settings, fail_on_leak),                                                   \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "exit with status 23 if anything leaked, 24 if nothing could be tracked, 25 " \
		  "if it cannot be told (a process was killed or still runs, events are "       \
		  "missing). SPEC narrows what counts: memory>1MiB, event>10, opencl.event, "   \
		  "cl_mem>=5, residue>100KiB (memory the driver kept, with --csv or --log); "   \
		  "separate several with commas (doc/ci.md)" },                                 \
	GT_FAIL_ON_GROWTH_OPTION("", GT_FAIL_AT(settings, fail_on_growth)),                     \
	GT_KNOWN_OPTIONS(settings),                                                             \
	{ .name = "max-peak", .type = GT_OPTION_SIZE, .argument = "SIZE",                       \
	  GT_FAIL_AT(settings, max_peak),                                                       \
	  .local = GT_LOCAL_YES,                                                                \
	  .help = "exit with status 23 if device memory peaked above SIZE (K, M, G or T for "   \
		  "powers of 1024), 24 if nothing could be tracked" },                          \
	{ .name = "skip-status", .type = GT_OPTION_COUNT, .argument = "N", .least = 1,          \
	  .most = 255, GT_FAIL_AT(settings, skip_status),                                       \
	  .help = "exit with status N instead of 24 if nothing could be tracked: 77 is a "      \
		  "skipped test for Meson and Automake" },                                      \
	GT_STRICT_OPTIONS(offsetof(settings, fail) + offsetof(struct gt_fail_options, strict))
/* clang-format on */

/*
 * Reads the files that the options name. Sites are compared by their frames, so the baseline's are
 * read as `input` says. 0, or the exit status after a message.
 */
int gt_fail_options_open(struct gt_fail_options *fail, const struct gt_syntax *syntax,
			 const struct gt_input *input);
/*
 * If `judges` is false, the command has no use for these options, but for --fail-on-growth if
 * `judges_growth`: those from a configuration file are dropped. 0, or the exit status after a
 * message that a typed one needs `what`.
 */
int gt_fail_options_needs(struct gt_fail_options *fail, const struct gt_syntax *syntax, bool judges,
			  bool judges_growth, const char *what);
/* True if any of the options was given. */
bool gt_fail_options_is_set(const struct gt_fail_options *fail);
/* True if one of them can change the exit status. */
bool gt_fail_options_fails(const struct gt_fail_options *fail);
/* Sets how strictly a view judges: before anything is shown of it. */
void gt_fail_options_apply(const struct gt_fail_options *fail, struct gt_view *v);
/* Judges a recording; valid until gt_fail_options_fini, and to be finished before. */
void gt_fail_options_judge(struct gt_fail_options *fail, struct gt_verdict *verdict,
			   const struct gt_view *v);
/* The exit status that --fail-on-leak and --max-peak give an outcome; 0 without them. */
int gt_fail_options_status(const struct gt_fail_options *fail, enum gt_outcome outcome);
/* The verdict's outcome on stderr, if it fails: for commands that print no report. */
void gt_fail_options_explain(const struct gt_fail_options *fail);
void gt_fail_options_fini(struct gt_fail_options *fail);
