/* SPDX-License-Identifier: MIT */
/* output.h - where output goes: stdout, or a file that appears whole or not at all; its style. */
#pragma once

#include <langinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/print.h"

struct gt_output {
	FILE *file;
	char *path;    /* NULL: stdout */
	char *beside;  /* temporary file, renamed to `path` at the end; NULL: none */
	bool nameless; /* the temporary file has no name until then */
};

/* The suffix (".zst") of a name that promises compression, which we do not do; NULL: none. */
const char *gt_output_promises(const char *path);
/* Refuses a file that is part of a recording. 0, or -errno and the error. */
int gt_output_check(const char *path, struct gt_error *error);
/* `path` NULL or "-" is stdout. Pipes and devices are written to directly. */
int gt_output_open(struct gt_output *o, const char *path, struct gt_error *error);
/* Writes what is buffered: afterwards closing cannot fail for lack of space. */
int gt_output_flush(struct gt_output *o, struct gt_error *error);
/* Writes what is buffered and puts the file in its place. Frees `o`, even on failure. */
int gt_output_close(struct gt_output *o, struct gt_error *error);
/* Leaves the file that was there before unchanged. Frees `o`. */
void gt_output_abandon(struct gt_output *o);
/*
 * The name from which files beside `input` derive theirs: its path without trailing slashes; for
 * the current folder and those above it, the absolute path. The caller frees it.
 */
char *gt_output_stem(const char *input);

/* True if the locale's encoding is UTF-8. */
static inline bool gt_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

enum gt_color { GT_COLOR_AUTO, GT_COLOR_ALWAYS, GT_COLOR_NEVER };

extern const char *const gt_color_names[];

/* A row for a table of options; `target` is the `.at` of an int. */
#define GT_COLOR_OPTION(target)                                                                    \
	{                                                                                          \
		.name = "color", .argument = "WHEN", .type = GT_OPTION_CHOICE, target,             \
		.choices = gt_color_names, .local = GT_LOCAL_YES,                                  \
		.help = "auto (on a terminal, unless NO_COLOR is set; the default), always or "    \
			"never"                                                                    \
	}

/*
 * The style for text on `out`: as wide as the terminal or COLUMNS; without either, nothing is cut.
 * `directory` of the result is the current one, valid until exit.
 */
struct gt_style gt_terminal_style(FILE *out, enum gt_color color);

/*
 * "read 12,345,678 events" on stderr after a second, if stderr is a terminal; "… again" if they are
 * read a second time; "writing" for GT_TICK_WRITING (replay/replay.h).
 */
void gt_progress_tick(uint64_t events);
/* Removes the progress line. */
void gt_progress_end(void);
