/* SPDX-License-Identifier: MIT */
/* terminal.h - what can be shown where the output goes: colours, width, characters, progress. */
#pragma once

#include "base/print.h"

enum gt_color { GT_COLOR_AUTO, GT_COLOR_ALWAYS, GT_COLOR_NEVER };

/* For the option --color. */
extern const char *const gt_color_names[];

/*
 * The style for text on `out`: as wide as the terminal or COLUMNS, and whole where it has neither.
 * `directory` of the result is the current one, kept until exit.
 */
struct gt_style gt_terminal_style(FILE *out, enum gt_color color);

/* "read 12,345,678 events" on stderr, after a second, when that is a terminal. */
void gt_progress_tick(uint64_t events);
/* Takes the progress line away. */
void gt_progress_end(void);
