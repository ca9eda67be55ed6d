/* SPDX-License-Identifier: MIT */
/* screen_table.c - the live screen's table: columns that fit, headings, rows. */
#include "screen/screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/place.h"

enum { MARGIN = 1, GAP = 2 };

/* A column: its width, and the width of the screen from which on it is shown. */
/* clang-format off */
static const struct column {
	const char *title;
	unsigned width, from;
	bool left, up; /* left-aligned; sorted with the smallest first */
	bool stays;    /* shown on any width: without it rows say nothing */
} columns[GT_COLUMN_COUNT] = {
	[GT_COLUMN_PID] = { .title = "PID", .width = 7, .up = true },
	[GT_COLUMN_UID] = { .title = "UID", .width = 6, .from = 150, .up = true },
	[GT_COLUMN_USER] = { .title = "USER", .width = 8, .from = 98, .left = true, .up = true },
	[GT_COLUMN_CONTAINER] = { .title = "CONTAINER", .width = 22, .from = 124, .left = true,
				  .up = true },
	[GT_COLUMN_DEVICE] = { .title = "DEV", .width = 4, .from = 70, .left = true, .up = true },
	[GT_COLUMN_THREAD] = { .title = "TID", .width = 7, .from = 100, .up = true },
	[GT_COLUMN_COMMAND] = { .title = "COMMAND", .width = 20, .from = 170, .left = true,
				.up = true },
	[GT_COLUMN_PROGRAM] = { .title = "PROGRAM", .width = 10, .left = true, .up = true },
	[GT_COLUMN_BYTES] = { .title = "LIVE", .width = 9 },
	[GT_COLUMN_GPU] = { .title = "GPU", .width = 6, .from = 104, .left = true, .up = true },
	[GT_COLUMN_GPU_NAME] = { .title = "NAME", .width = 16, .left = true, .up = true },
	[GT_COLUMN_GPU_BYTES] = { .title = "GPU MEM", .width = 9, .from = 112 },
	[GT_COLUMN_GPU_TOTAL] = { .title = "OF", .width = 9 },
	[GT_COLUMN_SHARE] = { .title = "SHARE", .width = 6, .from = 118 },
	[GT_COLUMN_BUSY] = { .title = "BUSY", .width = 6 },
	[GT_COLUMN_HOLDERS] = { .title = "PROCS", .width = 6 },
	[GT_COLUMN_PEAK] = { .title = "PEAK", .width = 9, .from = 92 },
	[GT_COLUMN_RESOURCES] = { .title = "RESOURCES", .width = 10 },
	[GT_COLUMN_CREATED_RATE] = { .title = "ALLOC/S", .width = 8 },
	[GT_COLUMN_ENDED_RATE] = { .title = "FREE/S", .width = 8, .from = 60 },
	[GT_COLUMN_GROWTH] = { .title = "GROWTH/S", .width = 10, .from = 62 },
	[GT_COLUMN_BEFORE] = { .title = "BEFORE", .width = 8, .from = 130 },
	[GT_COLUMN_FAILED] = { .title = "FAILED", .width = 8, .from = 120 },
	[GT_COLUMN_HISTORY] = { .title = "HISTORY", .width = 8, .from = 78, .left = true },
	[GT_COLUMN_KIND] = { .title = "KIND", .width = 16, .from = 120, .left = true, .up = true },
	[GT_COLUMN_AGE] = { .title = "AGE", .width = 11 },
	[GT_COLUMN_HANDLE] = { .title = "HANDLE", .width = 16, .from = 60, .left = true,
			       .up = true },
	[GT_COLUMN_WHERE] = { .title = "WHERE", .width = 12, .left = true, .up = true,
			      .stays = true },
};
/* clang-format on */

/* Where each column of the view stands; width 0: no room for it. */
struct layout {
	const enum gt_screen_column *order;
	unsigned at[GT_COLUMN_COUNT], width[GT_COLUMN_COUNT];
};

/* Views with call sites show the chart only with plenty of room, and the pid only for all
 * processes. */
static unsigned needed_width(const struct gt_screen *s, enum gt_screen_column c)
{
	enum { NEVER = 10000, WIDE = 200 };

	if (s->view != GT_SCREEN_PROCESSES && c == GT_COLUMN_HISTORY)
		return 100;
	if (s->view != GT_SCREEN_PROCESSES && c == GT_COLUMN_PID)
		return s->process == GT_BOARD_ALL ? 90 : NEVER;
	if (s->view == GT_SCREEN_GPUS)
		return 0;
	if (s->view == GT_SCREEN_SITES && c == GT_COLUMN_DEVICE)
		return 90;
	if (c == GT_COLUMN_GPU || c == GT_COLUMN_GPU_BYTES || c == GT_COLUMN_SHARE)
		return s->has_gpus ? columns[c].from : NEVER;
	if (s->has_gpus && (c == GT_COLUMN_FAILED || c == GT_COLUMN_BEFORE))
		return WIDE;
	return columns[c].from;
}

/* Divides the spare width: charts grow up to the length of their history, names and places take the
 * rest. */
static void widen(struct layout *l, unsigned left)
{
	unsigned *chart = &l->width[GT_COLUMN_HISTORY], *name = &l->width[GT_COLUMN_PROGRAM],
		 *where = &l->width[GT_COLUMN_WHERE], *command = &l->width[GT_COLUMN_COMMAND];
	unsigned more = 0;

	if (l->width[GT_COLUMN_GPU_NAME])
		l->width[GT_COLUMN_GPU_NAME] += left < 32 ? left : 32;
	if (*name) {
		more = left / (*command ? 2 : 3);
		more = more < 22 ? more : 22;
		*name += more;
		left -= more;
	}
	if (l->width[GT_COLUMN_DEVICE] && !*where) {
		more = left / 4 < 4 ? left / 4 : 4;
		l->width[GT_COLUMN_DEVICE] += more;
		left -= more;
	}
	if (*chart) {
		more = *where ? left / 4 : *command ? left / 3 : left;
		if (more > GT_BOARD_HISTORY - *chart)
			more = GT_BOARD_HISTORY - *chart;
		*chart += more;
		left -= more;
	}
	if (*where)
		*where += left;
	if (*command)
		*command += left;
}

static struct layout lay_out(const struct gt_screen *s, unsigned width)
{
	struct layout l = { .order = gt_screen_columns(s->view) };
	unsigned used = 2 * MARGIN, at = MARGIN;

	for (const enum gt_screen_column *c = l.order; *c != GT_COLUMN_COUNT; c++)
		if (columns[*c].stays) {
			l.width[*c] = columns[*c].width;
			used += columns[*c].width + GAP;
		}
	for (const enum gt_screen_column *c = l.order; *c != GT_COLUMN_COUNT; c++)
		if (!columns[*c].stays && width >= needed_width(s, *c) &&
		    used + columns[*c].width <= width) {
			l.width[*c] = columns[*c].width;
			used += columns[*c].width + GAP;
		}
	widen(&l, width + GAP - used);
	for (const enum gt_screen_column *c = l.order; *c != GT_COLUMN_COUNT; c++)
		if (l.width[*c]) {
			l.at[*c] = at;
			at += l.width[*c] + GAP;
		}
	return l;
}

static void draw_headings(const struct gt_screen *s, struct gt_grid *c, const struct layout *l,
			  unsigned row)
{
	gt_grid_tint(c, row, GT_INK_HEAD);
	for (const enum gt_screen_column *id = l->order; *id != GT_COLUMN_COUNT; id++) {
		bool sorted = s->sort[s->view] == *id, up = columns[*id].up;
		enum gt_ink ink = sorted ? GT_INK_SORTED : GT_INK_HEAD;
		char text[32];

		if (!l->width[*id])
			continue;
		if (s->reversed[s->view])
			up = !up;
		snprintf(text, sizeof text, "%s%s", columns[*id].title,
			 !sorted ? "" :
			 c->utf8 ? up ? "▲" : "▼" :
			 up      ? "^" :
				   "v");
		if (columns[*id].left)
			gt_grid_put(c, row, l->at[*id], l->width[*id], ink, text);
		else
			gt_grid_right(c, row, l->at[*id], l->width[*id], ink, text);
	}
}

static const char *format_rate(char out[GT_FORMAT_MAX], double rate)
{
	if (rate > 0 && rate < 9.95)
		snprintf(out, GT_FORMAT_MAX, "%.1f", rate);
	else
		gt_format_count(out, (uint64_t)(rate + 0.5));
	return out;
}

/* In bytes, or in resources for a kind without bytes. */
static const char *format_growth(char out[GT_FORMAT_MAX], const struct gt_screen_row *row)
{
	bool in_bytes = gt_kind_has_bytes((enum gt_kind)row->kind);
	double size = row->growth < 0 ? -row->growth : row->growth;
	char text[GT_FORMAT_MAX];

	if (size < (in_bytes ? 0.5 : 0.05))
		return strcpy(out, "0");
	if (in_bytes)
		gt_format_bytes(text, (uint64_t)(size + 0.5));
	else
		format_rate(text, size);
	snprintf(out, GT_FORMAT_MAX, "%c%.40s", row->growth < 0 ? '-' : '+', text);
	return out;
}

/* Of a call site that several processes have: how many. */
static const char *format_pid(char out[GT_FORMAT_MAX], const struct gt_screen_row *row)
{
	if (row->processes > 1)
		snprintf(out, GT_FORMAT_MAX, "of %" PRIu32, row->processes);
	else
		snprintf(out, GT_FORMAT_MAX, "%" PRIu32, row->pid);
	return out;
}

/* What tells interpreters apart: the script, where there is no room for both. */
static const char *fit_program(const char *name, unsigned width)
{
	const char *script = strchr(name, ' ');

	return script && gt_text_columns(name, true) > width ? script + 1 : name;
}

static const char *format_cell(char out[GT_FORMAT_MAX], const struct gt_screen *s,
			       const struct gt_screen_row *row, enum gt_screen_column column)
{
	switch (column) {
	case GT_COLUMN_PID: return format_pid(out, row);
	case GT_COLUMN_UID:
		if (row->uid == GT_UID_UNKNOWN)
			return "";
		snprintf(out, GT_FORMAT_MAX, "%" PRIu32, row->uid);
		return out;
	case GT_COLUMN_USER: return row->user;
	case GT_COLUMN_PROGRAM: return row->program;
	case GT_COLUMN_CONTAINER: return row->container;
	case GT_COLUMN_DEVICE: return row->device;
	case GT_COLUMN_THREAD: snprintf(out, GT_FORMAT_MAX, "%" PRIu32, row->tid); return out;
	case GT_COLUMN_COMMAND: return row->command;
	case GT_COLUMN_BYTES: return gt_format_bytes(out, row->bytes);
	case GT_COLUMN_PEAK: return gt_format_bytes(out, row->peak);
	case GT_COLUMN_GPU: return row->gpu;
	case GT_COLUMN_GPU_NAME: return row->program;
	case GT_COLUMN_GPU_BYTES: return row->gpu_bytes ? gt_format_bytes(out, row->gpu_bytes) : "";
	case GT_COLUMN_GPU_TOTAL: return row->gpu_total ? gt_format_bytes(out, row->gpu_total) : "";
	case GT_COLUMN_SHARE:
		if (!row->gpu_total || !row->gpu_bytes)
			return "";
		snprintf(out, GT_FORMAT_MAX, "%.0f %%",
			 100 * (double)row->gpu_bytes / (double)row->gpu_total);
		return out;
	case GT_COLUMN_BUSY:
		if (row->busy < 0)
			return "";
		snprintf(out, GT_FORMAT_MAX, "%d %%", row->busy);
		return out;
	case GT_COLUMN_HOLDERS: return gt_format_count(out, row->objects);
	case GT_COLUMN_RESOURCES: return gt_format_count(out, row->objects);
	case GT_COLUMN_CREATED_RATE:
		if (row->ended)
			return strcpy(out, "ended");
		return format_rate(out, row->created_rate);
	case GT_COLUMN_ENDED_RATE: return row->ended ? "" : format_rate(out, row->ended_rate);
	case GT_COLUMN_GROWTH: return format_growth(out, row);
	case GT_COLUMN_BEFORE: return gt_format_count(out, row->before);
	case GT_COLUMN_FAILED: return gt_format_count(out, row->failed);
	case GT_COLUMN_KIND: return gt_kinds[row->kind].name;
	case GT_COLUMN_AGE:
		return gt_format_span(out, s->now_ns > row->time_ns ? s->now_ns - row->time_ns : 0);
	case GT_COLUMN_HANDLE: return gt_format_hex(out, row->handle);
	case GT_COLUMN_HISTORY:
	case GT_COLUMN_WHERE:
	case GT_COLUMN_COUNT: break;
	}
	return "";
}

/* The place in at most `width` columns; the caller frees it. */
static char *fit_place(const struct gt_screen_row *r, unsigned width, bool utf8)
{
	struct gt_style style = { .utf8 = utf8, .width = GT_GRID_COLUMNS_MAX };
	struct gt_printer page;
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	gt_print_init(&page, out, &style);
	gt_place_put(&page, &(struct gt_view){ .frames = r->frames }, r->number, width);
	gt_memstream_close(out);
	return text;
}

/* The place, its function brighter than the rest. */
static void draw_where(struct gt_grid *c, unsigned row, unsigned at, unsigned width,
		       enum gt_ink ink, const struct gt_screen_row *r)
{
	struct gt_place_words words;
	unsigned used = 0;
	char *text;
	size_t bold;

	if (!r->frames) {
		gt_grid_put(c, row, at, width, ink == GT_INK_PLAIN ? GT_INK_DIM : ink, "?");
		return;
	}
	text = fit_place(r, width, c->utf8);
	words = gt_place_words(r->frames, r->number, c->utf8);
	bold = gt_text_begins(text, words.function) ? strlen(words.function) : 0;
	if (bold)
		used = gt_grid_put(c, row, at, width, ink == GT_INK_PLAIN ? GT_INK_BOLD : ink,
				   words.function);
	gt_grid_put(c, row, at + used, width - used, ink, text + bold);
	gt_place_words_fini(&words);
	free(text);
}

static void draw_row(const struct gt_screen *s, struct gt_grid *c, const struct layout *l,
		     unsigned row, size_t index)
{
	const struct gt_screen_row *r = &s->rows[index];
	bool chosen = index == s->chosen;
	enum gt_ink ink = chosen ? GT_INK_CHOSEN : r->ended ? GT_INK_DIM : GT_INK_PLAIN;
	char text[GT_FORMAT_MAX];

	gt_grid_tint(c, row, ink);
	for (const enum gt_screen_column *id = l->order; *id != GT_COLUMN_COUNT; id++) {
		unsigned at = l->at[*id], width = l->width[*id];

		if (!width)
			continue;
		if (*id == GT_COLUMN_HISTORY)
			gt_screen_spark(c, row, at, width, ink == GT_INK_PLAIN ? GT_INK_SPARK : ink,
					&r->history);
		else if (*id == GT_COLUMN_WHERE)
			draw_where(c, row, at, width, ink, r);
		else if (*id == GT_COLUMN_PROGRAM)
			gt_grid_put(c, row, at, width, ink, fit_program(r->program, width));
		else if (columns[*id].left)
			gt_grid_put(c, row, at, width, ink, format_cell(text, s, r, *id));
		else
			gt_grid_right(c, row, at, width, ink, format_cell(text, s, r, *id));
	}
}

static const char *why_empty(const struct gt_screen *s)
{
	if (s->filter[0])
		return "nothing matches the filter";
	if (s->view == GT_SCREEN_GPUS)
		return "the driver's library (NVML) lists no GPU";
	return s->view == GT_SCREEN_PROCESSES ? "no GPU API calls yet" : "nothing is alive";
}

/* Settles how many callers tell the rows apart that are drawn; each process has its own list. */
static void list_places(const struct gt_screen *s)
{
	size_t end = s->first + s->page < s->count ? s->first + s->page : s->count;
	uint32_t *stacks = gt_alloc((s->page + 1) * sizeof *stacks);

	for (size_t i = s->first; i < end; i++) {
		struct gt_frames *frames = s->rows[i].frames;
		bool is_first = frames;
		size_t count = 0;

		for (size_t k = s->first; k < i; k++)
			is_first &= s->rows[k].frames != frames;
		for (size_t k = i; is_first && k < end; k++)
			if (s->rows[k].frames == frames)
				stacks[count++] = s->rows[k].number;
		if (is_first)
			gt_places_list(frames, stacks, count);
	}
	free(stacks);
}

void gt_screen_table(struct gt_screen *s, struct gt_grid *c, unsigned top, unsigned end)
{
	struct layout l = lay_out(s, c->columns);

	s->shown = 0;
	for (const enum gt_screen_column *id = l.order; *id != GT_COLUMN_COUNT; id++)
		s->shown |= (uint32_t)(l.width[*id] > 0) << *id;
	if (top + 1 >= end)
		return;
	draw_headings(s, c, &l, top);
	s->page = end - top - 1;
	if (s->chosen < s->first)
		s->first = s->chosen;
	if (s->chosen >= s->first + s->page)
		s->first = s->chosen - s->page + 1;
	if (s->first + s->page > s->count)
		s->first = s->count > s->page ? s->count - s->page : 0;
	list_places(s);
	for (size_t i = 0; i < s->page && s->first + i < s->count; i++)
		draw_row(s, c, &l, top + 1 + (unsigned)i, s->first + i);
	if (!s->count)
		gt_grid_put(c, top + 1, MARGIN, UINT32_MAX, GT_INK_DIM, why_empty(s));
}
