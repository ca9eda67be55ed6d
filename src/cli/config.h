/* SPDX-License-Identifier: MIT */
/*
 * config.h - defaults for options, from a file and from the environment.
 *
 *   # .gputrackrc
 *   fail-on-leak = memory>1MiB      for every subcommand that has the option
 *   report.color = never            for one
 *   suppressions = gpu.supp         a file: from the folder of this one
 *
 * The file is $GPUTRACK_CONFIG; or else .gputrackrc here, unless it is another user's or can be
 * written by everybody; or else gputrack/config in $XDG_CONFIG_HOME (~/.config). GPUTRACK_OPTIONS
 * has the same lines, with line ends or semicolons between them, and counts for more; the command
 * line for most.
 */
#pragma once

#include "base/mem.h"
#include "cli/options.h"

struct gt_config_line {
	char *key, *value;
	unsigned line;
	const char *from; /* the file's name, or the variable's */
};

struct gt_config {
	struct gt_config_line *lines;
	size_t count, room;
};

/* Adds the lines of `text`; `separators` end one. 0, or -EINVAL and where the mistake is. */
int gt_config_parse(struct gt_config *c, const char *from, const char *text, size_t size,
		    const char *separators, struct gt_error *error);
void gt_config_fini(struct gt_config *c);

/* Reads all there is, checks the names against these subcommands, and makes them defaults. */
int gt_config_load(const struct gt_syntax *const *usages, size_t count, struct gt_error *error);
void gt_config_free(void);

/* For the doctor: the file that is used (NULL: none), how many lines there are in all … */
const char *gt_config_path(size_t *count);
/* … one that was passed over, with the reason (NULL: none), and what is wrong (NULL: nothing). */
const char *gt_config_ignored(void);
const char *gt_config_mistake(void);
