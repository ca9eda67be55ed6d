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
 * The .gputrackrc may come with a repository that somebody else wrote, so it is not trusted: it can
 * set only the options whose row allows it (gt_option.local), and a line on stderr names them.
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
	bool is_local;    /* from a .gputrackrc in the current folder */
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

/* All settings, in the order in which they are applied: later ones override earlier ones. */
const struct gt_config *gt_config_in_use(void);
/* The option of this subcommand that the line sets; NULL if it sets none of it. */
const struct gt_option *gt_config_option(const struct gt_config_line *line,
					 const struct gt_syntax *syntax);
/* The later line that overrides this one for the subcommand; NULL if there is none. */
const struct gt_config_line *gt_config_override(const struct gt_config_line *line,
						const struct gt_syntax *syntax);
/*
 * 0 if a .gputrackrc may set this option to the line's value; otherwise -EPERM and what to do.
 * `folder` is that of the file.
 */
int gt_config_check_local(const struct gt_config_line *line, const struct gt_option *option,
			  const char *folder, struct gt_error *error);

/* For the doctor: the file in use (NULL: none) and the number of settings from all sources; */
const char *gt_config_path(size_t *count);
/* why a file was ignored (NULL: none was), and what is wrong (NULL: nothing). */
const char *gt_config_ignored(void);
const char *gt_config_mistake(void);
