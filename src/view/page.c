/* page.c - text for people: colours, columns, and names that cannot harm the terminal. */
#include "view/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static const char *const paints[GT_PAINT_COUNT] = {
	[GT_PLAIN] = "",          [GT_BOLD] = "\033[1m",    [GT_DIM] = "\033[2m",
	[GT_RED] = "\033[1;31m",  [GT_YELLOW] = "\033[33m", [GT_GREEN] = "\033[32m",
};

void gt_page_init(struct gt_page *p, FILE *out, const struct gt_style *style)
{
	*p = (struct gt_page){ .out = out, .style = *style };
	if (p->style.width < GT_PAGE_MIN)
		p->style.width = GT_PAGE_MIN;
}

static void paint_on(struct gt_page *p, enum gt_paint paint)
{
	if (p->style.color)
		fputs(paints[paint], p->out);
}

static void paint_off(struct gt_page *p, enum gt_paint paint)
{
	if (p->style.color && paint != GT_PLAIN)
		fputs("\033[0m", p->out);
}

static void put_cut(struct gt_page *p, enum gt_paint paint, const char *text, unsigned columns,
		    enum gt_cut where)
{
	if (!*text)
		return;
	paint_on(p, paint);
	p->column += gt_text_put(p->out, text, columns, where, p->style.utf8);
	paint_off(p, paint);
}

void gt_page_name(struct gt_page *p, enum gt_paint paint, const char *text, unsigned columns)
{
	put_cut(p, paint, text, columns, GT_CUT_MIDDLE);
}

void gt_page_path(struct gt_page *p, enum gt_paint paint, const char *text, unsigned columns)
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

void gt_page_put(struct gt_page *p, enum gt_paint paint, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = print_alloc(format, args);
	va_end(args);
	gt_page_name(p, paint, text, UINT32_MAX);
	free(text);
}

void gt_page_tab(struct gt_page *p, unsigned column)
{
	unsigned blanks = column > p->column ? column - p->column : p->column ? 1 : 0;

	for (unsigned i = 0; i < blanks; i++)
		putc(' ', p->out);
	p->column += blanks;
}

void gt_page_right(struct gt_page *p, enum gt_paint paint, const char *text, unsigned column)
{
	unsigned wide = gt_text_columns(text, p->style.utf8);

	if (p->column + wide < column)
		gt_page_tab(p, column - wide);
	else if (p->column)
		gt_page_tab(p, p->column + 1);
	gt_page_name(p, paint, text, UINT32_MAX);
}

void gt_page_end(struct gt_page *p)
{
	putc('\n', p->out);
	p->column = 0;
}

void gt_page_wrap(struct gt_page *p, enum gt_paint paint, unsigned indent, const char *format, ...)
{
	va_list args;
	char *text, *word, *rest;
	bool fresh = true;

	va_start(args, format);
	text = print_alloc(format, args);
	va_end(args);
	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		unsigned wide = gt_text_columns(word, p->style.utf8);

		if (!fresh && p->column + 1 + wide > p->style.width) {
			gt_page_end(p);
			fresh = true;
		}
		if (!fresh)
			gt_page_tab(p, p->column + 1);
		else if (p->column < indent)
			gt_page_tab(p, indent);
		gt_page_name(p, paint, word, p->style.width - indent);
		fresh = false;
	}
	gt_page_end(p);
	free(text);
}

unsigned gt_page_left(const struct gt_page *p)
{
	return p->column < p->style.width ? p->style.width - p->column : 0;
}

const char *gt_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}
