/* SPDX-License-Identifier: MIT */
/* fail_options.h - the options by which a command fails when too much leaked or was used. */
#pragma once

#include "cli/options.h"
#include "cli/input.h"
#include "judge/verdict.h"

struct gt_fail_options {
	const char *fail_on_leak; /* NULL: was not asked */
	const char *baseline;
	uint64_t max_peak; /* bytes; 0: was not asked */
	struct gt_texts suppressions;
	/* made of these by gt_fail_options_open */
	struct gt_limits limits;
	struct gt_suppressions known;
	struct gt_recording *old;
	struct gt_ledger *old_ledger;
	struct gt_frames *old_frames;
	struct gt_leaks old_leaks;
	struct gt_verdict verdict;
};

/* Rows for a table of options whose settings have a `struct gt_fail_options fail`. */
#define GT_FAIL_AT(settings, field)                                                                \
	.at = offsetof(settings, fail) + offsetof(struct gt_fail_options, field)
/* clang-format off */
/* clang-format off */
#define GT_FAIL_OPTIONS(settings)                                                               \
	{ .name = "fail-on-leak", .type = GT_OPTION_MAYBE, .argument = "SPEC", .bare = "any",   \
	  GT_FAIL_AT(settings, fail_on_leak),                                                   \
	  .help = "exit with status 23 when something leaked, and with 24 when nothing could "  \
		  "be tracked at all. SPEC limits it: memory>1MiB, event>10, opencl.event, "    \
		  "cl_mem>=5, residue>100KiB (what the driver kept, with --csv or --log); "     \
		  "several with commas between them (doc/ci.md)" },                             \
	{ .name = "suppressions", .type = GT_OPTION_TEXTS, .argument = "FILE", .is_path = true, \
	  GT_FAIL_AT(settings, suppressions),                                                   \
	  .help = "do not count leaks that this file lists, in LeakSanitizer's form; may be "   \
		  "given several times. `gputrack suppress` writes one" },                      \
	{ .name = "baseline", .type = GT_OPTION_TEXT, .argument = "OLD.gt", .is_path = true,    \
	  GT_FAIL_AT(settings, baseline),                                                       \
	  .help = "count only what this older recording did not leak already, by call site" },  \
	{ .name = "max-peak", .type = GT_OPTION_SIZE, .argument = "SIZE",                       \
	  GT_FAIL_AT(settings, max_peak),                                                       \
	  .help = "exit with status 23 when the peak of device memory was higher than SIZE "    \
		  "(K, M, G or T for powers of 1024), and with 24 when nothing could be "       \
		  "tracked at all" }
/* clang-format on */
/* clang-format on */

/*
 * Reads what the options name. The baseline's frames are read as `input` says, for a site is known
 * again by its frames; NULL is as `run` reads. 0, or the exit status after the user has been told.
 */
int gt_fail_options_open(struct gt_fail_options *fail, const struct gt_syntax *syntax,
			 const struct gt_input *input);
/*
 * For a command that judges nothing when `judges` is false: options that a settings file gave are
 * forgotten then. 0, or the exit status after the user, who typed one, has been told what it `goes`
 * with.
 */
int gt_fail_options_needs(struct gt_fail_options *fail, const struct gt_syntax *syntax, bool judges,
			  const char *goes);
/* True when any of the options was given. */
bool gt_fail_options_is_set(const struct gt_fail_options *fail);
/* True when one of them asks for an exit status. */
bool gt_fail_options_fails(const struct gt_fail_options *fail);
/* Judges, into fail->verdict, which lives until gt_fail_options_fini. */
void gt_fail_options_judge(struct gt_fail_options *fail, const struct gt_view *v);
/* The exit status for the verdict, when --fail-on-leak or --max-peak asked for one. */
int gt_fail_options_status(const struct gt_fail_options *fail);
void gt_fail_options_fini(struct gt_fail_options *fail);
