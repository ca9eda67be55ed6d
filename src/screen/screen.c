/* SPDX-License-Identifier: MIT */
/* screen.c - the live screen's state, and what keys do to it. */
#include "screen/screen.h"

#include <stdlib.h>
#include <string.h>

static const enum gt_screen_column process_columns[] = {
	GT_COLUMN_PID, GT_COLUMN_PROGRAM, GT_COLUMN_BYTES, GT_COLUMN_PEAK, GT_COLUMN_RESOURCES,
	GT_COLUMN_CREATED_RATE, GT_COLUMN_ENDED_RATE, GT_COLUMN_BEFORE, GT_COLUMN_FAILED,
	GT_COLUMN_HISTORY, GT_COLUMN_COUNT,
}, site_columns[] = {
	GT_COLUMN_BYTES, GT_COLUMN_RESOURCES, GT_COLUMN_GROWTH, GT_COLUMN_CREATED_RATE,
	GT_COLUMN_HISTORY, GT_COLUMN_PID, GT_COLUMN_KIND, GT_COLUMN_WHERE, GT_COLUMN_COUNT,
}, biggest_columns[] = {
	GT_COLUMN_BYTES, GT_COLUMN_AGE, GT_COLUMN_HANDLE, GT_COLUMN_PID, GT_COLUMN_KIND,
	GT_COLUMN_WHERE, GT_COLUMN_COUNT,
};

const enum gt_screen_column *gt_screen_columns(enum gt_screen_view view)
{
	static const enum gt_screen_column *const views[] = {
		[GT_SCREEN_PROCESSES] = process_columns,
		[GT_SCREEN_SITES] = site_columns,
		[GT_SCREEN_BIGGEST] = biggest_columns,
	};

	return views[view];
}

void gt_screen_init(struct gt_screen *s, const struct gt_screen_names *names)
{
	*s = (struct gt_screen){ .process = GT_BOARD_ALL, .interval_s = 1, .target = "" };
	if (names)
		s->names = *names;
	for (int i = 0; i < GT_SCREEN_VIEWS; i++)
		s->sort[i] = GT_COLUMN_BYTES;
}

void gt_screen_fini(struct gt_screen *s)
{
	free(s->rows);
	s->rows = NULL;
	s->count = s->room = 0;
}

static void go_to(struct gt_screen *s, enum gt_screen_view view, uint16_t process)
{
	s->view = view;
	s->process = process;
	s->chosen = s->first = 0;
	s->count = 0; /* rows of another view are not this one's */
}

/* The next column to sort by, in the view's order; a chart is no order. */
static void sort_by_next(struct gt_screen *s, int step)
{
	const enum gt_screen_column *columns = gt_screen_columns(s->view);
	int count = 0, at = 0;

	for (; columns[count] != GT_COLUMN_COUNT; count++)
		if (columns[count] == s->sort[s->view])
			at = count;
	do
		at = (at + step + count) % count;
	while (columns[at] == GT_COLUMN_HISTORY);
	s->sort[s->view] = columns[at];
	s->reversed[s->view] = false;
}

static void move(struct gt_screen *s, long steps)
{
	long at = (long)s->chosen + steps, last = s->count ? (long)s->count - 1 : 0;

	s->chosen = (size_t)(at < 0 ? 0 : at > last ? last : at);
}

/* While a filter is typed, all keys that are characters are its own. */
static bool type_filter(struct gt_screen *s, uint32_t key)
{
	size_t length = strlen(s->filter);

	if (key == GT_KEY_ENTER) {
		s->typing = false;
	} else if (key == GT_KEY_ESCAPE) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == GT_KEY_BACKSPACE && length) {
		do /* a whole character */
			length--;
		while (length && ((uint8_t)s->filter[length] & 0xc0) == 0x80);
		s->filter[length] = '\0';
	} else if (key >= ' ' && key < 0x100 && key != 0x7f && length + 1 < GT_SCREEN_FILTER_MAX) {
		s->filter[length] = (char)key; /* bytes of UTF-8 come one by one */
		s->filter[length + 1] = '\0';
	}
	return true;
}

static bool move_key(struct gt_screen *s, uint32_t key)
{
	long page = s->page > 1 ? (long)s->page - 1 : 1;

	switch (key) {
	case GT_KEY_UP:
	case 'k': move(s, -1); return true;
	case GT_KEY_DOWN:
	case 'j': move(s, 1); return true;
	case GT_KEY_PAGE_UP: move(s, -page); return true;
	case GT_KEY_PAGE_DOWN:
	case ' ': move(s, page); return true;
	case GT_KEY_HOME: move(s, -(long)s->count); return true;
	case GT_KEY_END: move(s, (long)s->count); return true;
	default: return false;
	}
}

static void change_interval(struct gt_screen *s, bool longer)
{
	static const double steps[] = { 0.1, 0.2, 0.5, 1, 2, 5, 10 };
	enum { COUNT = sizeof steps / sizeof *steps };
	size_t at = 0;

	while (at + 1 < COUNT && steps[at] < s->interval_s - 1e-9)
		at++;
	if (longer)
		at = at + 1 < COUNT ? at + 1 : at;
	else
		at = at ? at - 1 : 0;
	s->interval_s = steps[at];
}

/* Into what is chosen: a process's sites. */
static void enter(struct gt_screen *s)
{
	if (s->view == GT_SCREEN_PROCESSES && s->chosen < s->count)
		go_to(s, GT_SCREEN_SITES, s->rows[s->chosen].process);
}

/* Out of the filter, of the one process, of the view. */
static void leave(struct gt_screen *s)
{
	if (s->filter[0])
		s->filter[0] = '\0';
	else if (s->process != GT_BOARD_ALL || s->view != GT_SCREEN_PROCESSES)
		go_to(s, GT_SCREEN_PROCESSES, GT_BOARD_ALL);
}

bool gt_screen_key(struct gt_screen *s, uint32_t key)
{
	if (s->help) {
		s->help = false;
		s->quit = key == 'q';
		return false;
	}
	if (s->typing)
		return type_filter(s, key);
	if (move_key(s, key))
		return false;
	switch (key) {
	case 'q':
	case 'Q':
	case 3: s->quit = true; return false;
	case '?':
	case 'h': s->help = true; return false;
	case 'p': s->paused = !s->paused; return true;
	case '/': s->typing = true; return true;
	case '1':
	case '2':
	case '3': go_to(s, (enum gt_screen_view)(key - '1'), GT_BOARD_ALL); return true;
	case GT_KEY_TAB: go_to(s, (s->view + 1) % GT_SCREEN_VIEWS, s->process); return true;
	case GT_KEY_BACK_TAB:
		go_to(s, (s->view + GT_SCREEN_VIEWS - 1) % GT_SCREEN_VIEWS, s->process);
		return true;
	case GT_KEY_ENTER: enter(s); return true;
	case GT_KEY_ESCAPE:
	case GT_KEY_BACKSPACE: leave(s); return true;
	case 's':
	case '>':
	case GT_KEY_RIGHT: sort_by_next(s, 1); return true;
	case 'S':
	case '<':
	case GT_KEY_LEFT: sort_by_next(s, -1); return true;
	case 'r': s->reversed[s->view] = !s->reversed[s->view]; return true;
	case 'e': s->hide_ended = !s->hide_ended; return true;
	case '+': change_interval(s, true); return false;
	case '-': change_interval(s, false); return false;
	default: return false;
	}
}
