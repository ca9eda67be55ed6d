/* SPDX-License-Identifier: MIT */
/* chart.c - a timeline as a chart of characters. */
#include "report/chart.h"

#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"

enum { LABEL = 11, EIGHTHS = 8 };

static const char *const blocks[EIGHTHS + 1] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const plain[EIGHTHS + 1] = { " ", ".", ".", ".", ":", ":", ":", "#", "#" };

void gt_chart_spark(struct gt_printer *p, const uint64_t *values, size_t count, unsigned columns)
{
	const char *const *glyphs = p->style.utf8 ? blocks : plain;
	uint64_t top = 1;

	for (size_t i = 0; i < count; i++)
		top = values[i] > top ? values[i] : top;
	if (columns > count)
		columns = (unsigned)count;
	for (unsigned i = 0; i < columns; i++) {
		uint64_t value = values[(i + 1) * count / columns - 1];
		unsigned high = (unsigned)((double)value / (double)top * EIGHTHS + 0.5);

		gt_print_name(p, GT_PLAIN, glyphs[value && !high ? 1 : high], 1);
	}
}

/* Heights of the columns in eighths of a row; anything above nothing is at least one eighth. */
static unsigned *heights(const struct gt_timeline *t, unsigned columns, unsigned rows, uint64_t top)
{
	unsigned *high = gt_alloc(columns * sizeof *high);

	for (unsigned i = 0; i < columns; i++) {
		uint64_t from = (uint64_t)((double)t->end_ns * i / columns);
		uint64_t to = (uint64_t)((double)t->end_ns * (i + 1) / columns) + 1;
		uint64_t most = gt_timeline_most(t, from, to);

		high[i] = (unsigned)((double)most / (double)top * rows * EIGHTHS + 0.5);
		if (most && !high[i])
			high[i] = 1;
	}
	return high;
}

static void put_row(struct gt_printer *p, const unsigned *high, unsigned columns, unsigned row)
{
	const char *const *glyphs = p->style.utf8 ? blocks : plain;

	/* no blanks at the end of a line */
	while (columns && high[columns - 1] <= row * EIGHTHS)
		columns--;
	for (unsigned i = 0; i < columns; i++) {
		unsigned above = high[i] > row * EIGHTHS ? high[i] - row * EIGHTHS : 0;

		gt_print_name(p, GT_PLAIN, glyphs[above > EIGHTHS ? EIGHTHS : above], 1);
	}
}

static void put_axis(struct gt_printer *p, const struct gt_timeline *t, unsigned columns)
{
	char text[GT_FORMAT_MAX];

	gt_print_tab(p, LABEL);
	gt_print_name(p, GT_DIM, p->style.utf8 ? "└" : "+", 1);
	for (unsigned i = 0; i < columns; i++)
		gt_print_name(p, GT_DIM, p->style.utf8 ? "─" : "-", 1);
	gt_print_end(p);
	gt_print_tab(p, LABEL + 1);
	gt_print_put(p, GT_DIM, "0 s");
	gt_print_right(p, GT_DIM, gt_format_span(text, t->end_ns / 2), LABEL + 1 + columns / 2);
	gt_print_right(p, GT_DIM, gt_format_span(text, t->end_ns), LABEL + 1 + columns);
	gt_print_end(p);
}

void gt_chart_put(struct gt_printer *p, const struct gt_timeline *t, unsigned rows)
{
	unsigned columns = p->style.width - LABEL - 2, *high;
	uint64_t top = gt_timeline_most(t, 0, UINT64_MAX);
	char text[GT_FORMAT_MAX];

	high = heights(t, columns, rows, top ? top : 1);
	for (unsigned row = rows; row-- > 0;) {
		if (row + 1 == rows || row + 1 == rows / 2)
			gt_print_right(p, GT_DIM,
				       gt_format_bytes(text, row + 1 == rows ? top : top / 2),
				       LABEL - 1);
		gt_print_tab(p, LABEL);
		gt_print_name(p, GT_DIM, p->style.utf8 ? "│" : "|", 1);
		put_row(p, high, columns, row);
		gt_print_end(p);
	}
	put_axis(p, t, columns);
	free(high);
}
