/* SPDX-License-Identifier: MIT */
/* print.c - text for people: colours, columns, and names that cannot harm the terminal. */
#include "base/print.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { TABLE_HANG = 4, UNIT_MAX = 3 };

static const char *const paints[GT_PAINT_COUNT] = {
	[GT_PLAIN] = "",         [GT_BOLD] = "\033[1m",    [GT_DIM] = "\033[2m",
	[GT_RED] = "\033[1;31m", [GT_YELLOW] = "\033[33m", [GT_GREEN] = "\033[32m",
};

void gt_print_init(struct gt_printer *p, FILE *out, const struct gt_style *style)
{
	*p = (struct gt_printer){ .out = out, .style = *style };
	if (p->style.width < GT_PAGE_MIN)
		p->style.width = GT_PAGE_MIN;
}

static void paint_on(struct gt_printer *p, enum gt_paint paint)
{
	if (p->style.color)
		fputs(paints[paint], p->out);
}

static void paint_off(struct gt_printer *p, enum gt_paint paint)
{
	if (p->style.color && paint != GT_PLAIN)
		fputs("\033[0m", p->out);
}

/* Written only when something follows: lines have no trailing blanks. */
static void put_blanks(struct gt_printer *p, unsigned column)
{
	if (column <= p->column)
		return;
	p->blanks += column - p->column;
	p->column = column;
}

static void put_cut(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned columns,
		    enum gt_cut where)
{
	if (!*text)
		return;
	for (; p->blanks; p->blanks--)
		putc(' ', p->out);
	paint_on(p, paint);
	if (!p->hang)
		p->hang = p->column + (unsigned)strspn(text, " ") + 2;
	if (p->style.whole)
		columns = UINT32_MAX;
	p->column += gt_text_put(p->out, text, columns, where, p->style.utf8);
	paint_off(p, paint);
}

void gt_print_name(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned columns)
{
	put_cut(p, paint, text, columns, GT_CUT_MIDDLE);
}

void gt_print_function(struct gt_printer *p, enum gt_paint paint, const char *text,
		       unsigned columns)
{
	put_cut(p, paint, text, columns, GT_CUT_FUNCTION);
}

void gt_print_path(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned columns)
{
	put_cut(p, paint, text, columns, GT_CUT_START);
}

const char *gt_style_relative(const struct gt_style *style, const char *path)
{
	size_t length = style->directory ? strlen(style->directory) : 0;

	if (length > 1 && !strncmp(path, style->directory, length) && path[length] == '/' &&
	    path[length + 1])
		return path + length + 1;
	return path;
}

static char *print_alloc(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? gt_strdup("") : text;
}

/* The line is full: continues on the next one, indented a little further. */
static void continue_line(struct gt_printer *p)
{
	unsigned hang = p->hang, shift = p->shift;

	gt_print_end(p);
	put_blanks(p, hang);
	p->hang = hang;
	p->shift = shift;
}

/* The end of the next word; a number and its unit are one. */
static size_t word_end(const char *text, size_t at)
{
	at += strspn(text + at, " ");
	at += strcspn(text + at, " ");
	if (at && isdigit((unsigned char)text[at - 1]) && text[at] == ' ') {
		size_t unit = strcspn(text + at + 1, " ,;)");

		if (unit && unit <= UNIT_MAX)
			at += 1 + strcspn(text + at + 1, " ");
	}
	return at;
}

/* The length up to the blank before the first word that does not fit. */
static size_t fitting(const struct gt_printer *p, const char *text)
{
	size_t fits = 0, size = strlen(text);

	for (size_t at = 0; at < size;) {
		size_t end = word_end(text, at);
		char *piece = gt_strndup(text, end);
		unsigned wide = gt_text_columns(piece, p->style.utf8);

		free(piece);
		if (p->column + wide > p->style.width)
			return fits;
		fits = at = end;
	}
	return size;
}

/* Frees `text`. */
static void put_words(struct gt_printer *p, enum gt_paint paint, char *text)
{
	for (char *rest = text; *rest;) {
		size_t fits = fitting(p, rest), next = fits + strspn(rest + fits, " ");
		bool is_over = !rest[fits] || (!fits && (!p->hang || p->column <= p->hang));
		char *piece = gt_strndup(rest, fits);

		gt_print_name(p, paint, is_over ? rest : piece, UINT32_MAX);
		free(piece);
		if (is_over)
			break;
		rest += next;
		continue_line(p);
	}
	free(text);
}

void gt_print_put(struct gt_printer *p, enum gt_paint paint, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_words(p, paint, print_alloc(format, args));
	va_end(args);
}

void gt_print_line(struct gt_printer *p, enum gt_paint paint, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_words(p, paint, print_alloc(format, args));
	va_end(args);
	gt_print_end(p);
}

void gt_print_tab(struct gt_printer *p, unsigned column)
{
	column = column > p->shift ? column - p->shift : 0;
	/* a column of a table that is wider than the page */
	if (p->hang && column >= p->style.width)
		column = p->column + 2;
	put_blanks(p, column > p->column || !p->column ? column : p->column + 1);
}

void gt_print_right(struct gt_printer *p, enum gt_paint paint, const char *text, unsigned column)
{
	unsigned wide = gt_text_columns(text, p->style.utf8);

	if (column - p->shift > p->style.width && p->column > TABLE_HANG) {
		p->shift += p->column - TABLE_HANG;
		p->hang = TABLE_HANG;
		continue_line(p);
	}
	column -= p->shift;
	if (p->column + wide < column)
		put_blanks(p, column - wide);
	else if (p->column)
		put_blanks(p, p->column + 1);
	gt_print_name(p, paint, text, UINT32_MAX);
}

void gt_print_end(struct gt_printer *p)
{
	putc('\n', p->out);
	p->column = p->blanks = p->hang = p->shift = 0;
}

void gt_print_wrap(struct gt_printer *p, enum gt_paint paint, unsigned indent, const char *format,
		   ...)
{
	va_list args;
	char *text, *word, *rest;
	bool fresh = true;

	va_start(args, format);
	text = print_alloc(format, args);
	va_end(args);
	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		unsigned wide = gt_text_columns(word, p->style.utf8);

		/* a number and its unit stay together: "1.50 MiB" */
		if (isdigit((unsigned char)*word) && strspn(rest, "BKMGTPE"))
			wide += 1 + (unsigned)strcspn(rest, " ");
		if (!fresh && p->column + 1 + wide > p->style.width) {
			gt_print_end(p);
			fresh = true;
		}
		if (!fresh)
			put_blanks(p, p->column + 1);
		else
			put_blanks(p, indent);
		gt_print_name(p, paint, word, p->style.width - indent);
		fresh = false;
	}
	gt_print_end(p);
	free(text);
}

void gt_print_need(struct gt_printer *p, unsigned columns)
{
	if (p->hang && p->column > p->hang && gt_print_left(p) < columns)
		continue_line(p);
}

unsigned gt_print_left(const struct gt_printer *p)
{
	return p->column < p->style.width ? p->style.width - p->column : 0;
}

const char *gt_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}
