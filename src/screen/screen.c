/* SPDX-License-Identifier: MIT */
/* screen.c - the live screen's state: what keys do to it, and its rows, filtered and sorted. */
#include "screen/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/place.h"

static const enum gt_screen_column process_columns[] = {
	GT_COLUMN_PID, GT_COLUMN_UID, GT_COLUMN_USER, GT_COLUMN_PROGRAM, GT_COLUMN_CONTAINER,
	GT_COLUMN_DEVICE, GT_COLUMN_BYTES, GT_COLUMN_PEAK, GT_COLUMN_GPU, GT_COLUMN_GPU_BYTES,
	GT_COLUMN_SHARE, GT_COLUMN_RESOURCES,
	GT_COLUMN_CREATED_RATE, GT_COLUMN_ENDED_RATE, GT_COLUMN_BEFORE, GT_COLUMN_FAILED,
	GT_COLUMN_HISTORY, GT_COLUMN_COMMAND, GT_COLUMN_COUNT,
}, site_columns[] = {
	GT_COLUMN_BYTES, GT_COLUMN_RESOURCES, GT_COLUMN_GROWTH, GT_COLUMN_CREATED_RATE,
	GT_COLUMN_HISTORY, GT_COLUMN_DEVICE, GT_COLUMN_PID, GT_COLUMN_KIND, GT_COLUMN_WHERE,
	GT_COLUMN_COUNT,
}, biggest_columns[] = {
	GT_COLUMN_BYTES, GT_COLUMN_AGE, GT_COLUMN_HANDLE, GT_COLUMN_DEVICE, GT_COLUMN_PID,
	GT_COLUMN_THREAD, GT_COLUMN_KIND, GT_COLUMN_WHERE, GT_COLUMN_COUNT,
}, gpu_columns[] = {
	GT_COLUMN_GPU, GT_COLUMN_GPU_NAME, GT_COLUMN_GPU_BYTES, GT_COLUMN_GPU_TOTAL,
	GT_COLUMN_SHARE, GT_COLUMN_BUSY, GT_COLUMN_HOLDERS, GT_COLUMN_COUNT,
};

const enum gt_screen_column *gt_screen_columns(enum gt_screen_view view)
{
	static const enum gt_screen_column *const views[] = {
		[GT_SCREEN_PROCESSES] = process_columns,
		[GT_SCREEN_SITES] = site_columns,
		[GT_SCREEN_BIGGEST] = biggest_columns,
		[GT_SCREEN_GPUS] = gpu_columns,
	};

	return views[view];
}

void gt_screen_init(struct gt_screen *s, const struct gt_live_names *names)
{
	*s = (struct gt_screen){ .process = GT_BOARD_ALL, .interval_s = 1, .target = "" };
	if (names)
		s->names = *names;
	for (int i = 0; i < GT_SCREEN_VIEWS; i++)
		s->sort[i] = i == GT_SCREEN_GPUS ? GT_COLUMN_GPU : GT_COLUMN_BYTES;
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
	s->count = 0; /* the rows belong to the view we left */
	s->shown = 0;
}

/* Sorts by the next column in the view's order, skipping charts and what is not shown. */
static void sort_by_next(struct gt_screen *s, int step)
{
	const enum gt_screen_column *columns = gt_screen_columns(s->view);
	int count = 0, at = 0;

	for (; columns[count] != GT_COLUMN_COUNT; count++)
		if (columns[count] == s->sort[s->view])
			at = count;
	do
		at = (at + step + count) % count;
	while (columns[at] == GT_COLUMN_HISTORY || (s->shown && !(s->shown >> columns[at] & 1)));
	s->sort[s->view] = columns[at];
	s->reversed[s->view] = false;
}

static void move(struct gt_screen *s, long steps)
{
	long at = (long)s->chosen + steps, last = s->count ? (long)s->count - 1 : 0;

	s->chosen = (size_t)(at < 0 ? 0 : at > last ? last : at);
}

/* While a filter is being typed, every printable key belongs to it. */
static bool type_filter(struct gt_screen *s, uint32_t key)
{
	size_t length = strlen(s->filter);

	if (key == GT_KEY_ENTER) {
		s->typing = false;
	} else if (key == GT_KEY_ESCAPE) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == GT_KEY_BACKSPACE && length) {
		do /* remove a whole character */
			length--;
		while (length && ((uint8_t)s->filter[length] & 0xc0) == 0x80);
		s->filter[length] = '\0';
	} else if (key >= ' ' && key < 0x100 && key != 0x7f && length + 1 < GT_SCREEN_FILTER_MAX) {
		s->filter[length] = (char)key; /* UTF-8 arrives byte by byte */
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

/* Opens the chosen process's sites. */
static void enter(struct gt_screen *s)
{
	if (s->view == GT_SCREEN_PROCESSES && s->chosen < s->count)
		go_to(s, GT_SCREEN_SITES, s->rows[s->chosen].process);
}

/* Steps back: drops the filter, then leaves the one process or the view. */
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
	case '3':
	case '4': go_to(s, (enum gt_screen_view)(key - '1'), GT_BOARD_ALL); return true;
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

enum { BIGGEST_MAX = 200 };

static struct gt_screen_row *add_row(struct gt_screen *s, const struct gt_board *b,
				     uint16_t process)
{
	const struct gt_board_process *p = gt_board_process(b, process);
	struct gt_screen_row *row;

	GT_GROW(s->rows, s->count, s->room);
	row = &s->rows[s->count++];
	*row = (struct gt_screen_row){ .process = process,
				       .pid = p->pid,
				       .uid = GT_UID_UNKNOWN,
				       .processes = 1,
				       .busy = -1,
				       .ended = p->end_ns };
	snprintf(row->program, sizeof row->program, "%s", p->name);
	return row;
}

static void say_who(const struct gt_screen *s, struct gt_screen_row *row)
{
	const struct gt_live_who *who = gt_live_who(&s->names, row->process);

	if (!who)
		return;
	row->uid = who->uid;
	snprintf(row->user, sizeof row->user, "%s", who->user);
	/* without the word that the heading has */
	snprintf(row->container, sizeof row->container, "%s",
		 gt_text_begins(who->container, "container ") ? who->container + 10 :
								who->container);
	snprintf(row->command, sizeof row->command, "%s", who->command);
}

static void say_devices(const struct gt_screen *s, struct gt_screen_row *row, uint64_t places)
{
	gt_live_devices(&s->names, places, row->device, sizeof row->device);
}

static void say_gpus(const struct gt_screen *s, struct gt_screen_row *row)
{
	struct gt_live_gpu_use use;

	if (!s->names.gpu_use || !s->names.gpu_use(s->names.context, row->pid, &use))
		return;
	row->gpu_bytes = use.used;
	row->gpu_total = use.total;
	snprintf(row->gpu, sizeof row->gpu, "%s", use.gpus);
}

/* What rows are sorted and filtered by. */
static void say_where(const struct gt_screen *s, struct gt_screen_row *row)
{
	char *text;

	if (!row->frames || (!s->filter[0] && s->sort[s->view] != GT_COLUMN_WHERE))
		return;
	text = gt_place_text(row->frames, row->number, true);
	snprintf(row->where, sizeof row->where, "%s", text);
	free(text);
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
		say_who(s, row);
		say_devices(s, row, p->places);
		if (!p->end_ns)
			say_gpus(s, row);
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
	size_t count;
	struct gt_live_site *sites = gt_live_sites(
		b, s->process, order_of(s->sort[s->view]),
		s->process == GT_BOARD_ALL ? GT_LIVE_MERGE_ACROSS : GT_LIVE_MERGE_WITHIN, &s->names,
		&count);

	for (size_t i = 0; i < count; i++) {
		const struct gt_board_site *site = &sites[i].sum;
		struct gt_screen_row *row = add_row(s, b, site->process);

		row->stack = site->stack;
		row->api = site->api;
		row->kind = site->kind;
		row->bytes = site->bytes;
		row->objects = site->live;
		row->created_rate = site->created_rate;
		row->growth = site->growth;
		row->history = sites[i].history;
		row->frames = sites[i].frames;
		row->number = sites[i].number;
		row->key = sites[i].key;
		row->processes = sites[i].processes;
		say_devices(s, row, site->places);
		say_where(s, row);
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
		row->tid = entries[i]->tid;
		say_devices(s, row,
			    gt_board_place_bit(entries[i]->place, gt_entry_kind(entries[i])));
		if (s->names.find)
			row->frames =
				s->names.find(s->names.context, process, row->stack, &row->number);
		say_where(s, row);
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

static void add_gpus(struct gt_screen *s)
{
	size_t count = 0;
	const struct gt_live_gpu *gpus =
		s->names.gpus ? s->names.gpus(s->names.context, &count) : NULL;

	for (size_t i = 0; i < count; i++) {
		struct gt_screen_row *row;

		GT_GROW(s->rows, s->count, s->room);
		row = &s->rows[s->count++];
		*row = (struct gt_screen_row){ .stack = (uint32_t)i,
					       .gpu_bytes = gpus[i].used,
					       .gpu_total = gpus[i].total,
					       .busy = gpus[i].busy,
					       .objects = gpus[i].processes };
		snprintf(row->program, sizeof row->program, "%s", gpus[i].name);
		snprintf(row->gpu, sizeof row->gpu, "%s", gpus[i].number);
	}
}

static double share_of(const struct gt_screen_row *row)
{
	return row->gpu_total ? (double)row->gpu_bytes / (double)row->gpu_total : 0;
}

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool matches_filter(const struct gt_screen *s, const struct gt_screen_row *row)
{
	const char *f = s->filter;
	char pid[16];

	if (!*f)
		return true;
	snprintf(pid, sizeof pid, "%u", row->pid);
	if (contains(row->program, f) || contains(pid, f) || contains(row->user, f) ||
	    contains(row->container, f) || contains(row->command, f))
		return true;
	if (s->view == GT_SCREEN_PROCESSES || s->view == GT_SCREEN_GPUS)
		return false;
	return contains(gt_kinds[row->kind].name, f) || contains(gt_api_names[row->api], f) ||
	       contains(row->where, f);
}

/* Below 0: `a` goes first. Amounts descend; names and pids ascend. */
static int compare(const struct gt_screen_row *a, const struct gt_screen_row *b,
		   enum gt_screen_column by)
{
#define DOWN(field) ((a->field < b->field) - (a->field > b->field))
	switch (by) {
	case GT_COLUMN_PID: return (a->pid > b->pid) - (a->pid < b->pid);
	case GT_COLUMN_UID: return (a->uid > b->uid) - (a->uid < b->uid);
	case GT_COLUMN_USER: return strcmp(a->user, b->user);
	case GT_COLUMN_PROGRAM: return strcmp(a->program, b->program);
	case GT_COLUMN_CONTAINER: return strcmp(a->container, b->container);
	case GT_COLUMN_DEVICE: return strcmp(a->device, b->device);
	case GT_COLUMN_THREAD: return (a->tid > b->tid) - (a->tid < b->tid);
	case GT_COLUMN_COMMAND: return strcmp(a->command, b->command);
	case GT_COLUMN_BYTES: return DOWN(bytes);
	case GT_COLUMN_PEAK: return DOWN(peak);
	case GT_COLUMN_GPU: return strverscmp(a->gpu, b->gpu);
	case GT_COLUMN_GPU_NAME: return strcmp(a->program, b->program);
	case GT_COLUMN_GPU_BYTES: return DOWN(gpu_bytes);
	case GT_COLUMN_GPU_TOTAL: return DOWN(gpu_total);
	case GT_COLUMN_SHARE: return (share_of(a) < share_of(b)) - (share_of(a) > share_of(b));
	case GT_COLUMN_BUSY: return DOWN(busy);
	case GT_COLUMN_HOLDERS: return DOWN(objects);
	case GT_COLUMN_RESOURCES: return DOWN(objects);
	case GT_COLUMN_CREATED_RATE: return DOWN(created_rate);
	case GT_COLUMN_ENDED_RATE: return DOWN(ended_rate);
	case GT_COLUMN_GROWTH: return DOWN(growth);
	case GT_COLUMN_BEFORE: return DOWN(before);
	case GT_COLUMN_FAILED: return DOWN(failed);
	case GT_COLUMN_KIND: return strcmp(gt_kinds[a->kind].name, gt_kinds[b->kind].name);
	case GT_COLUMN_AGE: return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
	case GT_COLUMN_HANDLE: return (a->handle > b->handle) - (a->handle < b->handle);
	case GT_COLUMN_WHERE: return strcmp(a->where, b->where);
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
	int before = a->ended - b->ended; /* ended processes go last in any order */

	if (!before)
		before = compare(a, b, order->by) * (order->reversed ? -1 : 1);
	/* rows that compare equal keep their places from one tick to the next */
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
	if (a->kind != b->kind || a->api != b->api || a->handle != b->handle)
		return false;
	/* of a call site that several processes have, another may be the biggest now */
	if (a->key && a->key == b->key && (a->processes > 1 || b->processes > 1))
		return true;
	return a->process == b->process && (a->key ? a->key == b->key : a->stack == b->stack);
}

void gt_screen_fill(struct gt_screen *s, const struct gt_board *board)
{
	struct order order = { s->sort[s->view], s->reversed[s->view] };
	struct gt_screen_row chosen = { 0 };
	bool had = s->chosen < s->count;
	size_t matching = 0, gpus = 0;

	if (had)
		chosen = s->rows[s->chosen];
	s->count = 0;
	s->has_gpus = s->names.gpus && (s->names.gpus(s->names.context, &gpus), gpus);
	if (s->view == GT_SCREEN_PROCESSES)
		add_processes(s, board);
	else if (s->view == GT_SCREEN_SITES)
		add_sites(s, board);
	else if (s->view == GT_SCREEN_GPUS)
		add_gpus(s);
	else
		add_biggest(s, board);
	for (size_t i = 0; i < s->count; i++)
		if (matches_filter(s, &s->rows[i]))
			s->rows[matching++] = s->rows[i];
	s->count = matching;
	if (s->count)
		qsort_r(s->rows, s->count, sizeof *s->rows, compare_rows, &order);
	/* in the first row the user watches the top; below, one particular row: follow it */
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

	s->totals[s->ticks++ % GT_SCREEN_TOTALS] = total.bytes;
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
