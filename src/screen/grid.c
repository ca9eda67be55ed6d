/* SPDX-License-Identifier: MIT */
/* grid.c - a screen of characters in memory. */
#include "screen/grid.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/mem.h"

void gt_grid_resize(struct gt_grid *c, unsigned columns, unsigned rows)
{
	size_t count;

	c->columns = columns < GT_GRID_COLUMNS_MAX ? columns : GT_GRID_COLUMNS_MAX;
	c->rows = rows < GT_GRID_ROWS_MAX ? rows : GT_GRID_ROWS_MAX;
	count = (size_t)c->columns * c->rows;
	c->cells = gt_realloc(c->cells, (count + 1) * sizeof *c->cells);
	for (size_t i = 0; i < count; i++)
		c->cells[i] = (struct gt_cell){ .text = " " };
}

void gt_grid_fini(struct gt_grid *c)
{
	free(c->cells);
	c->cells = NULL;
	c->columns = c->rows = 0;
}

/* Cleaned and cut; the caller frees it. */
static char *prepare(const struct gt_grid *c, const char *text, unsigned width, enum gt_cut cut)
{
	char *clean = NULL;
	size_t size;
	FILE *file = gt_memstream(&clean, &size);

	gt_text_put(file, text, width, cut, c->utf8);
	gt_memstream_close(file);
	return clean;
}

static unsigned put_clean(struct gt_grid *c, unsigned row, unsigned column, enum gt_ink ink,
			  const char *text)
{
	struct gt_cell *line = c->cells + (size_t)row * c->columns, *last = NULL;
	unsigned at = column;

	while (*text) {
		uint32_t code;
		size_t length = gt_utf8_next(text, &code);
		int wide = code < 0x80 ? 1 : wcwidth((wchar_t)code);

		if (wide <= 0) { /* goes with the character before it */
			if (last && strlen(last->text) + length < sizeof last->text)
				strncat(last->text, text, length);
		} else if (at + (unsigned)wide > c->columns) {
			break;
		} else {
			last = &line[at];
			*last = (struct gt_cell){ .ink = (uint8_t)ink };
			memcpy(last->text, text, length);
			for (int i = 1; i < wide; i++)
				line[at + (unsigned)i] = (struct gt_cell){ .ink = (uint8_t)ink };
			at += (unsigned)wide;
		}
		text += length;
	}
	return at - column;
}

static unsigned put(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		    enum gt_ink ink, const char *text, enum gt_cut cut)
{
	unsigned used;
	char *clean;

	if (row >= c->rows || column >= c->columns)
		return 0;
	if (width > c->columns - column)
		width = c->columns - column;
	clean = prepare(c, text, width, cut);
	used = put_clean(c, row, column, ink, clean);
	free(clean);
	return used;
}

unsigned gt_grid_put(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		     enum gt_ink ink, const char *text)
{
	return put(c, row, column, width, ink, text, GT_CUT_MIDDLE);
}

unsigned gt_grid_function(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
			  enum gt_ink ink, const char *text)
{
	return put(c, row, column, width, ink, text, GT_CUT_FUNCTION);
}

unsigned gt_grid_path(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		      enum gt_ink ink, const char *text)
{
	return put(c, row, column, width, ink, text, GT_CUT_START);
}

void gt_grid_right(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		   enum gt_ink ink, const char *text)
{
	unsigned wide = gt_text_columns(text, c->utf8);

	if (wide < width)
		column += width - wide;
	else
		wide = width;
	gt_grid_put(c, row, column, wide, ink, text);
}

void gt_grid_tint(struct gt_grid *c, unsigned row, enum gt_ink ink)
{
	for (unsigned i = 0; row < c->rows && i < c->columns; i++)
		c->cells[(size_t)row * c->columns + i].ink = (uint8_t)ink;
}

char *gt_grid_text(const struct gt_grid *c, unsigned row)
{
	char *text = gt_alloc((size_t)c->columns * sizeof c->cells->text + 1), *end = text;

	for (unsigned i = 0; i < c->columns; i++)
		end = stpcpy(end, c->cells[(size_t)row * c->columns + i].text);
	while (end > text && end[-1] == ' ')
		*--end = '\0';
	return text;
}
