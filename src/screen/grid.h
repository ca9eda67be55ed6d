/* SPDX-License-Identifier: MIT */
/*
 * grid.h - a screen of characters in memory: views draw on it, whoever has a terminal shows it.
 *
 * What does not fit is cut; nothing is ever written outside. Text is cleaned as all text is.
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
	char text[12]; /* one character, with what combines with it; "": covered by a wide one */
	uint8_t ink;
};

struct gt_grid {
	unsigned columns, rows;
	bool utf8;
	struct gt_cell *cells;
};

enum { GT_GRID_COLUMNS_MAX = 1000, GT_GRID_ROWS_MAX = 500 };

/* Blank, of this size. Zeroed is initialised; sizes are held within the limits above. */
void gt_grid_resize(struct gt_grid *c, unsigned columns, unsigned rows);
void gt_grid_fini(struct gt_grid *c);

/* Writes at most `width` columns, and gives those used. */
unsigned gt_grid_put(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		     enum gt_ink ink, const char *text);
/* The same for a function, which loses its template arguments first. */
unsigned gt_grid_function(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
			  enum gt_ink ink, const char *text);
/* The same for a path, which loses its start. */
unsigned gt_grid_path(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		      enum gt_ink ink, const char *text);
/* Ends at the last of the columns. */
void gt_grid_right(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		   enum gt_ink ink, const char *text);
/* The whole row gets another ink. */
void gt_grid_tint(struct gt_grid *c, unsigned row, enum gt_ink ink);

/* A row as text, without blanks at its end; the caller frees it. */
char *gt_grid_text(const struct gt_grid *c, unsigned row);
