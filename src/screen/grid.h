/* SPDX-License-Identifier: MIT */
/*
 * grid.h - a screen of characters in memory: views draw on it, and a terminal shows it.
 *
 * Text that does not fit is cut; nothing is ever written outside. Control characters are escaped,
 * as in all text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* What a character means; a terminal chooses its colours. */
enum gt_ink {
	GT_INK_PLAIN,
	GT_INK_BOLD,
	GT_INK_DIM,
	GT_INK_BAR,    /* the bar at the top */
	GT_INK_HEAD,   /* headings of columns */
	GT_INK_SORTED, /* the heading that rows are sorted by */
	GT_INK_CHOSEN, /* the row that is chosen */
	GT_INK_KEY,    /* a key that does something */
	GT_INK_SPARK,  /* charts */
	GT_INK_GOOD,
	GT_INK_BAD,
	GT_INK_COUNT
};

struct gt_cell {
	char text[12]; /* a character and its combining marks; "": covered by a wide one */
	uint8_t ink;
};

struct gt_grid {
	unsigned columns, rows;
	bool utf8;
	struct gt_cell *cells;
};

enum { GT_GRID_COLUMNS_MAX = 1000, GT_GRID_ROWS_MAX = 500 };

/* Makes the grid blank and of this size, within the limits above. A zeroed grid is valid. */
void gt_grid_resize(struct gt_grid *c, unsigned columns, unsigned rows);
void gt_grid_fini(struct gt_grid *c);

/* Writes at most `width` columns, and returns those used. */
unsigned gt_grid_put(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		     enum gt_ink ink, const char *text);
/* The same for a function: its template arguments are cut first. */
unsigned gt_grid_function(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
			  enum gt_ink ink, const char *text);
/* The same for a path: its start is cut. */
unsigned gt_grid_path(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		      enum gt_ink ink, const char *text);
/* Aligned to the right end of the columns. */
void gt_grid_right(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		   enum gt_ink ink, const char *text);
/* Changes the ink of a whole row. */
void gt_grid_tint(struct gt_grid *c, unsigned row, enum gt_ink ink);

/* A row as text, without blanks at its end; the caller frees it. */
char *gt_grid_text(const struct gt_grid *c, unsigned row);
