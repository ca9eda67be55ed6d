/* SPDX-License-Identifier: MIT */
/* screen_rows.c - a board's processes, sites and biggest resources as rows, filtered and sorted. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "screen/screen.h"

enum { SITES_MAX = 1000, BIGGEST_MAX = 200 };

static struct gt_screen_row *add_row(struct gt_screen *s, const struct gt_board *b,
				     uint16_t process)
{
	const struct gt_board_process *p = gt_board_process(b, process);
	struct gt_screen_row *row;

	GT_GROW(s->rows, s->count, s->room);
	row = &s->rows[s->count++];
	*row = (struct gt_screen_row){ .process = process, .pid = p->pid, .ended = p->end_ns };
	memcpy(row->program, p->name, sizeof row->program);
	return row;
}

static void name_row(const struct gt_screen *s, struct gt_screen_row *row)
{
	if (s->names.frames)
		row->frame_count =
			s->names.frames(s->names.context, row->process, row->stack, &row->frame);
	if (!row->frame_count)
		row->frame = NULL;
}

static void add_processes(struct gt_screen *s, const struct gt_board *b)
{
	for (size_t i = 0; i < gt_board_process_count(b); i++) {
		const struct gt_board_process *p = gt_board_process(b, (uint16_t)i);
		struct gt_screen_row *row;

		if (p->end_ns && s->hide_ended)
			continue;
		row = add_row(s, b, (uint16_t)i);
		row->bytes = p->bytes;
		row->peak = p->peak_bytes;
		row->objects = p->live;
		row->before = p->before;
		row->failed = p->failed;
		row->created_rate = p->created_rate;
		row->ended_rate = p->ended_rate;
		row->history = p->history;
	}
}

static enum gt_board_order order_of(enum gt_screen_column column)
{
	switch (column) {
	case GT_COLUMN_RESOURCES: return GT_BOARD_BY_LIVE;
	case GT_COLUMN_CREATED_RATE: return GT_BOARD_BY_RATE;
	case GT_COLUMN_GROWTH: return GT_BOARD_BY_GROWTH;
	default: return GT_BOARD_BY_BYTES;
	}
}

static void add_sites(struct gt_screen *s, const struct gt_board *b)
{
	const struct gt_board_site **sites = gt_alloc(SITES_MAX * sizeof *sites);
	size_t count = gt_board_sites(b, s->process, order_of(s->sort[s->view]), sites, SITES_MAX);

	for (size_t i = 0; i < count; i++) {
		const struct gt_board_site *site = sites[i];
		struct gt_screen_row *row = add_row(s, b, site->process);

		row->stack = site->stack;
		row->api = site->api;
		row->kind = site->kind;
		row->bytes = site->bytes;
		row->objects = site->live;
		row->created_rate = site->created_rate;
		row->growth = site->growth;
		row->history = site->history;
		name_row(s, row);
	}
	free(sites);
}

static void add_biggest_of(struct gt_screen *s, const struct gt_board *b, uint16_t process)
{
	const struct gt_entry *entries[BIGGEST_MAX];
	size_t count = gt_board_biggest(b, process, entries, BIGGEST_MAX);

	for (size_t i = 0; i < count; i++) {
		struct gt_screen_row *row = add_row(s, b, process);

		row->stack = entries[i]->stack;
		row->api = gt_functions[entries[i]->function].api;
		row->kind = (uint8_t)gt_entry_kind(entries[i]);
		row->bytes = entries[i]->size;
		row->handle = entries[i]->handle;
		row->time_ns = entries[i]->time_ns;
		name_row(s, row);
	}
}

static void add_biggest(struct gt_screen *s, const struct gt_board *b)
{
	if (s->process != GT_BOARD_ALL) {
		add_biggest_of(s, b, s->process);
		return;
	}
	for (size_t i = 0; i < gt_board_process_count(b); i++)
		if (!gt_board_process(b, (uint16_t)i)->end_ns)
			add_biggest_of(s, b, (uint16_t)i);
}

static bool holds(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool passes(const struct gt_screen *s, const struct gt_screen_row *row)
{
	const char *f = s->filter;
	char pid[16];

	if (!*f)
		return true;
	snprintf(pid, sizeof pid, "%u", row->pid);
	if (holds(row->program, f) || holds(pid, f))
		return true;
	if (s->view == GT_SCREEN_PROCESSES)
		return false;
	return holds(gt_kinds[row->kind].name, f) || holds(gt_api_names[row->api], f) ||
	       (row->frame && (holds(row->frame->function, f) || holds(row->frame->file, f) ||
			       holds(row->frame->module, f)));
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Below 0: `a` goes first. Numbers go down, names and numbers of processes up. */
static int compare(const struct gt_screen_row *a, const struct gt_screen_row *b,
		   enum gt_screen_column by)
{
#define DOWN(field) ((a->field < b->field) - (a->field > b->field))
	switch (by) {
	case GT_COLUMN_PID: return (a->pid > b->pid) - (a->pid < b->pid);
	case GT_COLUMN_PROGRAM: return compare_text(a->program, b->program);
	case GT_COLUMN_BYTES: return DOWN(bytes);
	case GT_COLUMN_PEAK: return DOWN(peak);
	case GT_COLUMN_RESOURCES: return DOWN(objects);
	case GT_COLUMN_CREATED_RATE: return DOWN(created_rate);
	case GT_COLUMN_ENDED_RATE: return DOWN(ended_rate);
	case GT_COLUMN_GROWTH: return DOWN(growth);
	case GT_COLUMN_BEFORE: return DOWN(before);
	case GT_COLUMN_FAILED: return DOWN(failed);
	case GT_COLUMN_KIND: return compare_text(gt_kinds[a->kind].name, gt_kinds[b->kind].name);
	case GT_COLUMN_AGE: return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
	case GT_COLUMN_HANDLE: return (a->handle > b->handle) - (a->handle < b->handle);
	case GT_COLUMN_WHERE:
		return compare_text(a->frame ? a->frame->function : NULL,
				    b->frame ? b->frame->function : NULL);
	case GT_COLUMN_HISTORY:
	case GT_COLUMN_COUNT: break;
	}
#undef DOWN
	return 0;
}

struct order {
	enum gt_screen_column by;
	bool reversed;
};

static int compare_rows(const void *x, const void *y, void *context)
{
	const struct gt_screen_row *a = x, *b = y;
	const struct order *order = context;
	int before = a->ended - b->ended; /* what is gone is at the end, whatever the order */

	if (!before)
		before = compare(a, b, order->by) * (order->reversed ? -1 : 1);
	/* rows that are alike keep their places from one moment to the next */
	if (!before)
		before = (a->process > b->process) - (a->process < b->process);
	if (!before)
		before = (a->stack > b->stack) - (a->stack < b->stack);
	if (!before)
		before = (a->kind > b->kind) - (a->kind < b->kind);
	return before ? before : (a->handle > b->handle) - (a->handle < b->handle);
}

static bool is_same(const struct gt_screen_row *a, const struct gt_screen_row *b)
{
	return a->process == b->process && a->stack == b->stack && a->kind == b->kind &&
	       a->api == b->api && a->handle == b->handle;
}

void gt_screen_fill(struct gt_screen *s, const struct gt_board *board)
{
	struct order order = { s->sort[s->view], s->reversed[s->view] };
	struct gt_screen_row chosen = { 0 };
	bool had = s->chosen < s->count;
	size_t kept = 0;

	if (had)
		chosen = s->rows[s->chosen];
	s->count = 0;
	if (s->view == GT_SCREEN_PROCESSES)
		add_processes(s, board);
	else if (s->view == GT_SCREEN_SITES)
		add_sites(s, board);
	else
		add_biggest(s, board);
	for (size_t i = 0; i < s->count; i++)
		if (passes(s, &s->rows[i]))
			s->rows[kept++] = s->rows[i];
	s->count = kept;
	if (s->count)
		qsort_r(s->rows, s->count, sizeof *s->rows, compare_rows, &order);
	/* at the top one sees who is first; elsewhere one looks at somebody */
	for (size_t i = 0; had && s->chosen && i < s->count; i++)
		if (is_same(&s->rows[i], &chosen)) {
			s->chosen = i;
			break;
		}
	if (s->chosen >= s->count)
		s->chosen = s->count ? s->count - 1 : 0;
}

void gt_screen_tick(struct gt_screen *s, const struct gt_board *board, uint64_t now_ns)
{
	struct gt_board_process total = gt_board_total(board);

	s->trail[s->ticks++ % GT_SCREEN_TRAIL] = total.bytes;
	if (s->paused)
		return;
	s->total = total;
	s->shown_ticks = s->ticks;
	s->now_ns = now_ns;
	s->running = 0;
	for (size_t i = 0; i < gt_board_process_count(board); i++)
		s->running += !gt_board_process(board, (uint16_t)i)->end_ns;
	gt_screen_fill(s, board);
}
