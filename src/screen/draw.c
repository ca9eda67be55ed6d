/* SPDX-License-Identifier: MIT */
/* draw.c - the live screen on a grid: bar, totals, chart, table, stack, keys. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "screen/screen.h"
#include "replay/place.h"
#include "replay/stack.h"

/* clang-format off */
enum {
	MARGIN = 1, ROWS_MIN = 6, COLUMNS_MIN = 30,
	CHART_FROM = 16,        /* rows that a screen needs to have the chart at all */
	STACK_FROM = 24,        /* … and the chosen row's stack */
	STACK_ROWS = 7, EIGHTHS = 8, LABEL = 10,
};
/* clang-format on */

static const char *const blocks[EIGHTHS + 1] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const plain[EIGHTHS + 1] = { " ", ".", ".", "-", "-", "=", "=", "#", "#" };

/* The drawing in progress. */
struct drawing {
	struct gt_screen *s;
	struct gt_grid *c;
	unsigned row; /* the next free row */
	unsigned end; /* the first row taken at the bottom */
};

void gt_screen_spark(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		     enum gt_ink ink, const struct gt_recent *h)
{
	const char *const *glyphs = c->utf8 ? blocks : plain;
	uint32_t count = h->count < GT_BOARD_HISTORY ? h->count : GT_BOARD_HISTORY, first;
	uint64_t top = 1;

	if (count > width)
		count = width;
	first = h->count - count;
	for (uint32_t i = 0; i < count; i++)
		if (h->values[(first + i) % GT_BOARD_HISTORY] > top)
			top = h->values[(first + i) % GT_BOARD_HISTORY];
	/* the latest value stands at the right end, even if there are few */
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = h->values[(first + i) % GT_BOARD_HISTORY];
		unsigned high = (unsigned)((double)value / (double)top * EIGHTHS + 0.5);

		gt_grid_put(c, row, column + width - count + i, 1, ink,
			    glyphs[value && !high ? 1 : high]);
	}
}

static void draw_bar(struct drawing *d)
{
	const struct gt_screen *s = d->s;
	char text[160];

	gt_grid_tint(d->c, 0, GT_INK_BAR);
	snprintf(text, sizeof text, "gputrack top  %s", s->target);
	gt_grid_put(d->c, 0, MARGIN, d->c->columns > 40 ? d->c->columns - 32 : 12, GT_INK_BAR,
		    text);
	if (s->paused)
		snprintf(text, sizeof text, "PAUSED  %s ", s->clock);
	else
		snprintf(text, sizeof text, "every %g s  %s ", s->interval_s, s->clock);
	if (d->c->columns > 40)
		gt_grid_right(d->c, 0, d->c->columns - 30, 30, GT_INK_BAR, text);
	d->row = 1;
}

/* A number and its words, if they fit; returns the column after them and a gap. */
static unsigned put_pair(struct drawing *d, unsigned column, enum gt_ink ink, const char *number,
			 const char *words)
{
	if (column + gt_text_columns(number, true) + 1 + gt_text_columns(words, true) >
	    d->c->columns)
		return d->c->columns;
	column += gt_grid_put(d->c, d->row, column, UINT32_MAX, ink, number) + 1;
	return column +
	       gt_grid_put(d->c, d->row, column, UINT32_MAX, ink == GT_INK_BAD ? ink : GT_INK_PLAIN,
			   words) +
	       3;
}

static void draw_totals(struct drawing *d)
{
	const struct gt_board_process *t = &d->s->total;
	char text[GT_FORMAT_MAX];
	unsigned at = MARGIN;

	at = put_pair(d, at, GT_INK_BOLD, gt_format_bytes(text, t->bytes), "live");
	if (t->lost) /* early in the line, where it fits */
		at = put_pair(d, at, GT_INK_BAD, gt_format_count(text, t->lost),
			      gt_plural(t->lost, "event lost", "events lost"));
	at = put_pair(d, at, GT_INK_BOLD, gt_format_count(text, t->live),
		      gt_plural(t->live, "resource", "resources"));
	at = put_pair(d, at, GT_INK_BOLD, gt_format_count(text, d->s->running),
		      gt_plural(d->s->running, "process", "processes"));
	at = put_pair(d, at, GT_INK_BOLD, gt_format_count(text, (uint64_t)(t->created_rate + 0.5)),
		      "allocs/s");
	at = put_pair(d, at, GT_INK_BOLD, gt_format_count(text, (uint64_t)(t->ended_rate + 0.5)),
		      "frees/s");
	put_pair(d, at, GT_INK_BOLD, gt_format_bytes(text, t->peak_bytes), "peak");
	d->row++;
}

static uint64_t total_at(const struct gt_screen *s, uint64_t tick)
{
	return s->totals[tick % GT_SCREEN_TOTALS];
}

/* The total over time, the latest at the right; the top is labelled. */
static void draw_chart(struct drawing *d, unsigned rows)
{
	const struct gt_screen *s = d->s;
	const char *const *glyphs = d->c->utf8 ? blocks : plain;
	unsigned width = d->c->columns - LABEL - 2 * MARGIN;
	uint64_t shown = s->shown_ticks, top = 0;
	char text[GT_FORMAT_MAX];

	/* while paused, new totals overwrite the oldest: show only half of the ring */
	if (shown > GT_SCREEN_TOTALS / 2)
		shown = GT_SCREEN_TOTALS / 2;
	if (shown > width)
		shown = width;
	for (uint64_t i = s->shown_ticks - shown; i < s->shown_ticks; i++)
		top = total_at(s, i) > top ? total_at(s, i) : top;
	for (uint64_t i = 0; i < shown; i++) {
		uint64_t value = total_at(s, s->shown_ticks - shown + i);
		unsigned high =
			(unsigned)((double)value / (double)(top ? top : 1) * rows * EIGHTHS + 0.5);

		if (value && !high)
			high = 1;
		for (unsigned r = 0; r < rows; r++) {
			unsigned below = (rows - 1 - r) * EIGHTHS,
				 part = high > below ? high - below : 0;

			gt_grid_put(d->c, d->row + r, MARGIN + width - (unsigned)(shown - i), 1,
				    GT_INK_SPARK, glyphs[part > EIGHTHS ? EIGHTHS : part]);
		}
	}
	if (top)
		gt_grid_right(d->c, d->row, MARGIN + width, LABEL, GT_INK_DIM,
			      gt_format_bytes(text, top));
	if (rows > 1 || !top)
		gt_grid_right(d->c, d->row + rows - 1, MARGIN + width, LABEL, GT_INK_DIM, "0 B");
	d->row += rows;
}

static void draw_tabs(struct drawing *d)
{
	static const char *const titles[GT_SCREEN_VIEWS] = { "1 Processes", "2 Call sites",
							     "3 Biggest", "4 GPUs" };
	const struct gt_screen *s = d->s;
	char text[GT_SCREEN_FILTER_MAX + 96];
	unsigned at = MARGIN;

	for (int i = 0; i < GT_SCREEN_VIEWS; i++) {
		bool here = (int)s->view == i;

		at += gt_grid_put(d->c, d->row, at, UINT32_MAX, here ? GT_INK_BOLD : GT_INK_DIM,
				  titles[i]) +
		      3;
	}
	if (s->process != GT_BOARD_ALL && s->count && s->view != GT_SCREEN_PROCESSES &&
	    s->view != GT_SCREEN_GPUS) {
		snprintf(text, sizeof text, "of %u %s", s->rows[0].pid, s->rows[0].program);
		at += gt_grid_put(d->c, d->row, at, 28, GT_INK_GOOD, text) + 3;
	}
	if (s->typing || s->filter[0]) {
		snprintf(text, sizeof text, "filter: %s%s", s->filter,
			 s->typing ? d->c->utf8 ? "▏" : "_" : "");
		if (at < d->c->columns)
			gt_grid_right(d->c, d->row, at, d->c->columns - at - MARGIN, GT_INK_KEY,
				      text);
	}
	d->row++;
}

static void draw_keys(struct drawing *d)
{
	static const char *const keys[][2] = {
		{ "q", "quit" },       { "?", "help" },  { "Enter", "call sites" },
		{ "Tab", "view" },     { "s", "sort" },  { "r", "reverse" },
		{ "/", "filter" },     { "p", "pause" }, { "e", "ended" },
		{ "+ -", "interval" },
	};
	static const char *const typing[][2] = { { "Enter", "keep" }, { "Esc", "clear" } };
	const char *const(*shown)[2] = d->s->typing ? typing : keys;
	size_t count = d->s->typing ? sizeof typing / sizeof *typing : sizeof keys / sizeof *keys;
	unsigned row = --d->end, at = MARGIN;

	for (size_t i = 0; i < count; i++) {
		if (at + strlen(shown[i][0]) + 1 + strlen(shown[i][1]) > d->c->columns)
			break;
		at += gt_grid_put(d->c, row, at, UINT32_MAX, GT_INK_KEY, shown[i][0]) + 1;
		at += gt_grid_put(d->c, row, at, UINT32_MAX, GT_INK_DIM, shown[i][1]) + 2;
	}
}

/* The stack that creates the chosen row's resources. */
static void draw_stack(struct drawing *d)
{
	const struct gt_screen *s = d->s;
	const struct gt_screen_row *row = s->chosen < s->count ? &s->rows[s->chosen] : NULL;
	const struct gt_frame *frames;
	unsigned top = d->end - STACK_ROWS, half = 0;
	size_t count = 0;

	d->end = top;
	if (row && row->frames)
		count = gt_frames_get(row->frames, row->number, &frames);
	for (unsigned i = 0; i < d->c->columns; i++)
		gt_grid_put(d->c, top, i, 1, GT_INK_DIM, d->c->utf8 ? "─" : "-");
	if (row) {
		char text[160];

		if (row->processes > 1)
			snprintf(text, sizeof text, " %s %s of %u processes ",
				 gt_api_names[row->api], gt_kinds[row->kind].plural,
				 row->processes);
		else
			snprintf(text, sizeof text, " %s %s of %u %s ", gt_api_names[row->api],
				 gt_kinds[row->kind].plural, row->pid, row->program);
		gt_grid_put(d->c, top, 2, d->c->columns - 4, GT_INK_PLAIN, text);
	}
	if (!count)
		gt_grid_put(d->c, top + 1, MARGIN, UINT32_MAX, GT_INK_DIM,
			    row ? "no stack recorded" : "nothing is alive");
	for (unsigned i = 0; i < count && i + 1 < STACK_ROWS; i++) {
		unsigned wide =
			gt_text_columns(frames[i].function ? frames[i].function : "?", d->c->utf8) +
			MARGIN + 2;

		half = wide > half ? wide : half;
	}
	if (half > d->c->columns / 2)
		half = d->c->columns / 2;
	for (unsigned i = 0; i < count && i + 1 < STACK_ROWS; i++) {
		char *where = frames[i].file ?
				      gt_place_location(gt_frames_own(row->frames), &frames[i]) :
				      gt_stack_location(&frames[i], NULL);

		gt_grid_function(d->c, top + 1 + i, MARGIN, half - MARGIN - 2, GT_INK_BOLD,
				 frames[i].function ? frames[i].function : "?");
		gt_grid_path(d->c, top + 1 + i, half, d->c->columns - half - MARGIN, GT_INK_PLAIN,
			     where);
		free(where);
	}
}

static void draw_help(struct drawing *d)
{
	static const char *const lines[][2] = {
		{ "Up Down j k", "select a row; PgUp PgDn Home End move further" },
		{ "Enter", "show the call sites of the selected process" },
		{ "Esc", "clear the filter, or go back to all processes" },
		{ "Tab 1 2 3 4", "switch view: processes, call sites, biggest resources, GPUs" },
		{ "s S, < >", "sort by the next or previous column" },
		{ "r", "reverse the sort order" },
		{ "/", "filter by name, place, kind or number" },
		{ "p", "pause the display; counting continues" },
		{ "e", "show or hide processes that have ended" },
		{ "+ -", "longer or shorter update interval" },
		{ "q", "quit" },
		{ "", "" },
		{ "LIVE PEAK", "bytes alive now, and at the peak" },
		{ "DEV", "GPUs, by the process's own numbers; ?: unknown" },
		{ "GPU MEM",
		  "what the driver says of process or GPU; SHARE is of the memory there" },
		{ "GROWTH/S", "growth per second: bytes, or resources where a kind has none" },
		{ "BEFORE", "releases of resources allocated before gputrack attached" },
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines && d->row + 1 < d->end; i++) {
		d->row++;
		gt_grid_put(d->c, d->row, 3, 14, GT_INK_KEY, lines[i][0]);
		gt_grid_put(d->c, d->row, 18, UINT32_MAX, GT_INK_PLAIN, lines[i][1]);
	}
}

void gt_screen_draw(struct gt_screen *s, struct gt_grid *grid)
{
	struct drawing d = { .s = s, .c = grid, .end = grid->rows };
	bool has_stack = (s->view == GT_SCREEN_SITES || s->view == GT_SCREEN_BIGGEST) &&
			 grid->rows >= STACK_FROM;

	gt_grid_resize(grid, grid->columns, grid->rows);
	if (grid->rows < ROWS_MIN || grid->columns < COLUMNS_MIN) {
		gt_grid_put(grid, 0, 0, UINT32_MAX, GT_INK_PLAIN, "too small: q quits");
		return;
	}
	draw_bar(&d);
	draw_totals(&d);
	if (grid->rows >= CHART_FROM)
		draw_chart(&d, grid->rows >= 40 ? 5 : grid->rows >= 24 ? 3 : 2);
	draw_keys(&d);
	draw_tabs(&d);
	if (s->help) {
		draw_help(&d);
		return;
	}
	if (has_stack)
		draw_stack(&d);
	gt_screen_table(s, grid, d.row, d.end);
}
