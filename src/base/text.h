/* SPDX-License-Identifier: MIT */
/* text.h - text from elsewhere made fit for a terminal, a column, a file format; paths as text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline bool gt_text_begins(const char *text, const char *with)
{
	/* most texts differ in their first byte: no call for these */
	return (*text == *with || !*with) && !strncmp(text, with, strlen(with));
}

/* The code point that gt_utf8_next gives for a byte outside any valid character. */
#define GT_UTF8_BAD UINT32_MAX

/*
 * Returns the length of the first character of `text`, which is not empty, and sets *code to its
 * code point. A byte that begins no valid character (overlong, surrogate, beyond U+10FFFF,
 * truncated) is taken alone, as GT_UTF8_BAD.
 */
size_t gt_utf8_next(const char *text, uint32_t *code);

/*
 * True for characters that no report passes on unchanged: control characters, and those that are
 * invisible or reorder their line, so that a name could pose as another.
 */
bool gt_utf8_is_unsafe(uint32_t code);
/* True for a byte that every format writes as it is: printable ASCII but quotes, &, <, > and \. */
extern const bool gt_text_plain[256];
static inline bool gt_text_is_plain(char c)
{
	return gt_text_plain[(uint8_t)c];
}
/* Writes such bytes at the start of a text, most of most texts; returns the text after them. */
const char *gt_text_put_plain(FILE *out, const char *text);

/* Columns that gt_text_put needs to write `text` whole. */
unsigned gt_text_columns(const char *text, bool utf8);

/*
 * Where a text that is too long is cut: names in the middle; paths at the start, before a folder
 * where that is enough ("…/src/demo.c"); functions lose their template arguments first, then their
 * middle.
 */
enum gt_cut { GT_CUT_MIDDLE, GT_CUT_START, GT_CUT_FUNCTION };

/*
 * Writes `text` in at most `columns` columns, cut if it is longer, and returns the columns used.
 * Nothing that a terminal would obey gets through: unsafe characters and invalid UTF-8 become \xNN,
 * and so does everything beyond ASCII unless `utf8`.
 */
unsigned gt_text_put(FILE *out, const char *text, unsigned columns, enum gt_cut where, bool utf8);

/*
 * Writes `text` as a TSV field: tab, line feed and backslash as \t \n \\, unsafe characters and
 * invalid UTF-8 as \xNN for each byte.
 */
void gt_tsv_put(FILE *out, const char *text);

/* A copy with every invalid byte replaced by U+FFFD; the caller frees it. */
char *gt_utf8_repair(const char *text);

/* The same with every unsafe character except the line feed replaced by '?'. */
char *gt_text_sanitize(const char *text);

/*
 * Writes `text` as XML character data, also valid in attributes: characters that XML does not allow
 * become U+FFFD, unsafe characters and line ends become references.
 */
void gt_xml_put(FILE *out, const char *text);
/* Writes `text` as a path within a URI: reserved characters become %NN. */
void gt_uri_put(FILE *out, const char *text);

/*
 * Writes `text` as a CSV field, in quotes if it holds a comma, a quote or a blank at either end;
 * unsafe characters (line ends among them) and invalid UTF-8 become \xNN for each byte.
 */
void gt_csv_put(FILE *out, const char *text);
/* The same with an apostrophe before text that a spreadsheet would take for a formula. */
void gt_csv_put_safe(FILE *out, const char *text);

/* Paths as text: none of these looks at a file. */

/* Columns of the least that a path should be cut to: its last component, with a mark. */
unsigned gt_path_least(const char *path, bool utf8);

/* Bytes of a path that are its folder, final slash included; 0 for a bare name. */
static inline size_t gt_path_folder_size(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

/* A path's last component, within the path; the whole path if it ends in a slash. */
static inline const char *gt_path_name(const char *path)
{
	const char *name = path + gt_path_folder_size(path);

	return *name ? name : path;
}

/*
 * "/w/build/../src/demo.c" -> "/w/src/demo.c", in place: compilers that run in a build folder name
 * files so. Where `build` is a symbolic link, the two are not the same file.
 */
void gt_path_normalize(char *path);
/* "NAME.gt/" -> "NAME.gt", in place: shells complete folders with a slash. */
void gt_path_trim_slashes(char *path);
