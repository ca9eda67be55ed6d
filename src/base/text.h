/* SPDX-License-Identifier: MIT */
/* text.h - bytes from elsewhere made fit for a terminal, a column or a TSV field. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline bool gt_text_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* What gt_utf8_next gives for a byte that is no part of a valid character. */
#define GT_UTF8_BAD UINT32_MAX

/*
 * One character from `text` of `size` > 0 bytes: its length, and its code point in *code. A byte
 * that begins no valid character (overlong, surrogate, beyond U+10FFFF, cut) counts alone, as
 * GT_UTF8_BAD.
 */
size_t gt_utf8_next(const char *text, size_t size, uint32_t *code);

/*
 * True for what no report lets through as it is: control characters, and those that reorder their
 * line or hide in it, so that a name can lie about itself.
 */
bool gt_utf8_is_treacherous(uint32_t code);

/* Columns that `text` takes up when gt_text_put writes it whole. */
unsigned gt_text_columns(const char *text, bool utf8);

/*
 * Where a text that is too long loses a piece: names in the middle, paths at their start, functions
 * their template arguments before their middle.
 */
enum gt_cut { GT_CUT_MIDDLE, GT_CUT_START, GT_CUT_FUNCTION };

/*
 * Writes `text` in at most `columns` columns, cut where it is longer, and gives the columns used.
 * Nothing that a terminal would obey gets through: control characters, changes of direction and
 * broken UTF-8 become \xNN, and so does everything beyond ASCII unless `utf8`.
 */
unsigned gt_text_put(FILE *out, const char *text, unsigned columns, enum gt_cut where, bool utf8);

/*
 * Writes `text` as a TSV field: tab, line feed and backslash as \t \n \\, treacherous characters
 * and broken UTF-8 as \xNN for each byte.
 */
void gt_tsv_put(FILE *out, const char *text);

/* A copy in which every byte that is no UTF-8 has become U+FFFD; the caller frees it. */
char *gt_utf8_repair(const char *text);

/* The same with every treacherous character but the line feed as '?'. */
char *gt_text_tame(const char *text);

/*
 * Writes `text` as XML character data, good in attributes too: what XML cannot hold becomes U+FFFD,
 * treacherous characters and line ends become references.
 */
void gt_xml_put(FILE *out, const char *text);
/* Writes `text` as a path within a URI: what is no plain character becomes %NN. */
void gt_uri_put(FILE *out, const char *text);

/*
 * Writes `text` as a CSV field: in quotes where it holds a comma, a quote or a blank at an end, and
 * treacherous characters (line ends among them) and broken UTF-8 as \xNN for each byte.
 */
void gt_csv_put(FILE *out, const char *text);
/* The same with an apostrophe before what a spreadsheet would take for a formula. */
void gt_csv_put_safe(FILE *out, const char *text);
