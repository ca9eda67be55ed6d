/* SPDX-License-Identifier: MIT */
/* print.h - text for people: colours, columns, and names that cannot harm the terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gt_style {
	bool color, utf8;
	unsigned width;        /* columns, at least GT_PAGE_MIN */
	bool whole;            /* names and paths are never cut: their lines may be wider */
	const char *directory; /* files below it are shown relative to it; NULL: none */
};

/* `path` relative to style->directory, if it is below it. */
const char *gt_style_relative(const struct gt_style *style, const char *path);

enum { GT_PAGE_MIN = 40 };

enum gt_paint { GT_PLAIN, GT_BOLD, GT_DIM, GT_RED, GT_YELLOW, GT_GREEN, GT_PAINT_COUNT };

struct gt_printer {
	FILE *out;
	struct gt_style style;
	unsigned column; /* in the line being written */
	unsigned blanks; /* before `column`, not written yet */
	unsigned hang;   /* indentation of the next line if this one is full; 0: it is empty */
	unsigned shift;  /* to the left, of table columns that continue on the next line */
};

void gt_print_init(struct gt_printer *p, FILE *out, const struct gt_style *style);

/*
 * Formatted text, sanitized like all text. What does not fit on the line continues on the next,
 * indented; no word is cut.
 */
void gt_print_put(struct gt_printer *p, enum gt_paint paint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, and ends the line. */
void gt_print_line(struct gt_printer *p, enum gt_paint paint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A foreign name, sanitized, and cut in the middle to `columns` unless style.whole. */
void gt_print_name(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned columns);
/* The same for a function or variable: its template arguments are cut first. */
void gt_print_function(struct gt_printer *p, enum gt_paint paint, const char *text,
		       unsigned columns);
/* The same for a path, which is cut at the start. */
void gt_print_path(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned columns);
/* Blanks up to a column: at least one unless the line is empty; two if it is off the page. */
void gt_print_tab(struct gt_printer *p, unsigned column);
/* `text`, uncut, ending at a column; columns off the page continue on the next line. */
void gt_print_right(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned column);
void gt_print_end(struct gt_printer *p);
/* A paragraph, wrapped at the page's width and indented; "1.50 MiB" stays on one line. */
void gt_print_wrap(struct gt_printer *p, enum gt_paint paint, unsigned indent, const char *format,
		   ...) __attribute__((format(printf, 4, 5)));

/* Continues on the next line unless so many columns are left. */
void gt_print_need(struct gt_printer *p, unsigned columns);
/* Columns left on the line. */
unsigned gt_print_left(const struct gt_printer *p);

/* "1 event", "2 events". */
const char *gt_plural(uint64_t count, const char *one, const char *many);
