/* SPDX-License-Identifier: MIT */
/*
 * config.h - defaults for options, from a file and from the environment.
 *
 *   # .gputrackrc
 *   fail-on-leak = memory>1MiB      for every subcommand that has the option
 *   report.color = never            for one
 *   suppressions = gpu.supp         a path, relative to this file's folder
 *
 * The file is $GPUTRACK_CONFIG; otherwise .gputrackrc in the current folder, unless it belongs to
 * another user or is world-writable; otherwise gputrack/config in $XDG_CONFIG_HOME (~/.config).
 * GPUTRACK_OPTIONS has the same lines, separated by newlines or semicolons, and overrides the file;
 * the command line overrides both.
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

/* Adds the lines of `text`, each ended by one of `separators`. 0, or -EINVAL and the mistake. */
int gt_config_parse(struct gt_config *c, const char *from, const char *text, size_t size,
		    const char *separators, struct gt_error *error);
void gt_config_fini(struct gt_config *c);

/* Reads file and environment, checks the names against these subcommands, sets the defaults. */
int gt_config_load(const struct gt_syntax *const *syntaxes, size_t count, struct gt_error *error);
void gt_config_free(void);

/* For the doctor: the file in use (NULL: none) and the number of settings from all sources; */
const char *gt_config_path(size_t *count);
/* why a file was ignored (NULL: none was), and what is wrong (NULL: nothing). */
const char *gt_config_ignored(void);
const char *gt_config_mistake(void);
