/* SPDX-License-Identifier: MIT */
/* screen_table.h - the live screen's table: columns that fit, headings, rows. */
#pragma once

#include "screen/screen.h"

/* Draws headings at `top` and rows below them, before `end`; scrolls to the chosen row. */
void gt_screen_table(struct gt_screen *s, struct gt_grid *c, const struct gt_style *style,
		     unsigned top, unsigned end);

/* Bytes at the last ticks, the latest at the right end. */
void gt_screen_spark(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		     enum gt_ink ink, const struct gt_recent *h);
