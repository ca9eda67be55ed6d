/* SPDX-License-Identifier: MIT */
/* test_screen.c - the live screen without a terminal: rows, keys and drawing. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "screen/screen.h"

#define SECOND UINT64_C(1000000000)

static const struct gt_frame small[] = {
	{ .function = "make_small", .file = "/w/src/small.c", .line = 7, .module = "/w/app" },
	{ .function = "main", .file = "/w/src/main.c", .line = 1, .module = "/w/app" },
}, big[] = {
	{ .function = "make_big", .file = "/w/src/deep/down/big.c", .line = 12, .module = "/w/app" },
}, nameless[] = {
	{ .module = "/usr/lib/libx.so.1", .offset = 0x1234 },
}, pool[] = {
	{ .function = "Pool<float>::take", .file = "/usr/include/pool.h", .line = 3,
	  .module = "/w/app" },
	{ .function = "make_small", .file = "/w/src/small.c", .line = 8, .module = "/w/app" },
}, twin[] = {
	{ .function = "Pool<int>::take", .file = "/usr/include/pool.h", .line = 3,
	  .module = "/w/app" },
	{ .function = "make_small", .file = "/w/src/small.c", .line = 8, .module = "/w/app" },
};

/* The frames of all processes; stacks 1 to 3 are these. */
static struct gt_frames *frames_of_all(void)
{
	static const char *const roots[] = { "/w", NULL };
	struct gt_frames *f =
		gt_frames_new_empty(&(struct gt_frames_options){ .own = { .roots = roots } });

	gt_own_add_program(gt_frames_own(f), "/w/app", "/w");
	assert_int_equal(gt_frames_add(f, small, 2), 1);
	assert_int_equal(gt_frames_add(f, big, 1), 2);
	assert_int_equal(gt_frames_add(f, nameless, 1), 3);
	assert_int_equal(gt_frames_add(f, pool, 2), 4);
	assert_int_equal(gt_frames_add(f, twin, 2), 5);
	return f;
}

static struct gt_frames *find(void *context, uint16_t process, uint32_t stack, uint32_t *number)
{
	(void)process;
	*number = stack;
	return stack ? context : NULL;
}

/* Two running processes and an ended one; the small one grows. */
struct fixture {
	struct gt_board *board;
	struct gt_frames *frames;
	struct gt_screen screen;
	struct gt_grid grid;
	uint64_t now_ns, handle;
	uint16_t grower, holder, gone;
};

static void create(struct fixture *f, uint16_t process, uint64_t size, uint32_t stack)
{
	gt_board_apply(f->board,
		       &(struct gt_event){ .time_ns = f->now_ns,
					   .handle = ++f->handle,
					   .size = size,
					   .stack = stack,
					   .function = GT_FN_clCreateBuffer },
		       process);
}

static void tick(struct fixture *f)
{
	f->now_ns += SECOND;
	gt_board_tick(f->board, f->now_ns);
	gt_screen_tick(&f->screen, f->board, f->now_ns);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct gt_live_names names = { .find = find };

	f->frames = names.context = frames_of_all();
	f->board = gt_board_new();
	f->grower = gt_board_add(f->board, 100, "grower", 1);
	f->holder = gt_board_add(f->board, 200, "holder", 1);
	f->gone = gt_board_add(f->board, 50, "gone", 1);
	gt_screen_init(&f->screen, &names);
	f->screen.target = "all processes";
	strcpy(f->screen.clock, "12:00:00");
	create(f, f->holder, 1 << 30, 2);
	create(f, f->gone, 1 << 20, 3);
	gt_board_end(f->board, f->gone, 1);
	tick(f);
	for (int i = 0; i < 5; i++) {
		create(f, f->grower, 1 << 20, 1);
		create(f, f->grower, 100, 3);
		tick(f);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gt_screen_fini(&f->screen);
	gt_grid_fini(&f->grid);
	gt_board_free(f->board);
	gt_frames_free(f->frames);
	free(f);
	return 0;
}

/* Keys as typed; special keys by their name in brackets. */
static void press(struct fixture *f, const char *keys)
{
	/* clang-format off */
	static const struct { const char *name; uint32_t key; } named[] = {
		{ "[up]", GT_KEY_UP }, { "[down]", GT_KEY_DOWN }, { "[enter]", GT_KEY_ENTER },
		{ "[esc]", GT_KEY_ESCAPE }, { "[back]", GT_KEY_BACKSPACE }, { "[tab]", GT_KEY_TAB },
		{ "[end]", GT_KEY_END }, { "[home]", GT_KEY_HOME },
	};
	/* clang-format on */

	while (*keys) {
		uint32_t key = (uint8_t)*keys;
		size_t length = 1;

		for (size_t i = 0; i < sizeof named / sizeof *named; i++)
			if (!strncmp(keys, named[i].name, strlen(named[i].name))) {
				key = named[i].key;
				length = strlen(named[i].name);
			}
		if (gt_screen_key(&f->screen, key))
			gt_screen_fill(&f->screen, f->board);
		keys += length;
	}
}

static char *draw(struct fixture *f, unsigned columns, unsigned rows, bool utf8)
{
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	f->grid.columns = columns;
	f->grid.rows = rows;
	f->grid.utf8 = utf8;
	gt_screen_draw(&f->screen, &f->grid);
	for (unsigned i = 0; i < f->grid.rows; i++) {
		char *line = gt_grid_text(&f->grid, i);

		assert_true(gt_text_columns(line, true) <= columns);
		fprintf(out, "%s\n", line);
		free(line);
	}
	fclose(out);
	return all;
}

static void assert_shows(struct fixture *f, unsigned columns, const char *part)
{
	char *all = draw(f, columns, 30, true);

	if (!strstr(all, part))
		print_error("no \"%s\" in:\n%s", part, all);
	assert_non_null(strstr(all, part));
	free(all);
}

static void assert_order(const struct fixture *f, uint32_t a, uint32_t b, uint32_t c)
{
	assert_int_equal(f->screen.count, 3);
	assert_int_equal(f->screen.rows[0].pid, a);
	assert_int_equal(f->screen.rows[1].pid, b);
	assert_int_equal(f->screen.rows[2].pid, c);
}

static void processes_are_sorted_by_bytes_with_ended_ones_last(void **state)
{
	struct fixture *f = *state;

	assert_order(f, 200, 100, 50);
	assert_int_equal(f->screen.rows[0].bytes, 1 << 30);
	assert_int_equal(f->screen.rows[1].objects, 10);
	assert_true(f->screen.rows[1].created_rate == 2);
	assert_true(f->screen.rows[2].ended);
	assert_int_equal(f->screen.running, 2);
	press(f, "e");
	assert_int_equal(f->screen.count, 2);
	press(f, "e");
	assert_int_equal(f->screen.count, 3);
}

static void every_column_can_sort_and_the_heading_marks_it(void **state)
{
	struct fixture *f = *state;

	assert_shows(f, 80, "LIVE▼");
	press(f, "s"); /* not the peak, which at this width is not shown */
	assert_shows(f, 80, "RESOURCES▼");
	assert_order(f, 100, 200, 50);
	press(f, "r");
	assert_shows(f, 80, "RESOURCES▲");
	assert_order(f, 200, 100, 50);
	for (int i = 0; i < 4; i++) /* all the way round, not by the chart */
		press(f, ">");
	assert_int_equal(f->screen.sort[GT_SCREEN_PROCESSES], GT_COLUMN_PROGRAM);
	assert_order(f, 100, 200, 50);
	press(f, "<");
	assert_int_equal(f->screen.sort[GT_SCREEN_PROCESSES], GT_COLUMN_PID);
	assert_shows(f, 80, "PID▲");
	assert_order(f, 100, 200, 50);
	/* a wider screen has more of them */
	assert_shows(f, 200, "PEAK");
	press(f, ">");
	assert_int_equal(f->screen.sort[GT_SCREEN_PROCESSES], GT_COLUMN_UID);
}

static void the_selected_row_stays_selected_when_the_order_changes(void **state)
{
	struct fixture *f = *state;

	press(f, "[down]");
	assert_int_equal(f->screen.rows[f->screen.chosen].pid, 100);
	create(f, f->grower, UINT64_C(4) << 30, 2);
	tick(f);
	assert_order(f, 100, 200, 50);
	assert_int_equal(f->screen.chosen, 0);
	press(f, "[end]");
	assert_int_equal(f->screen.rows[f->screen.chosen].pid, 50);
	press(f, "e"); /* it is hidden: the last one that is left is chosen */
	assert_int_equal(f->screen.chosen, 1);
	press(f, "[home][up]");
	assert_int_equal(f->screen.chosen, 0);
}

static void resources_without_bytes_grow_by_count(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 12; i++)
		gt_board_apply(f->board,
			       &(struct gt_event){ .time_ns = f->now_ns,
						   .stack = 2,
						   .handle = ++f->handle,
						   .function = GT_FN_clCreateUserEvent },
			       f->grower);
	tick(f);
	press(f, "2");
	assert_shows(f, 80, "0 B          12         +12        12  make_big");
	f->now_ns += SECOND * 39;
	gt_board_apply(f->board,
		       &(struct gt_event){ .handle = f->handle, .function = GT_FN_clReleaseEvent },
		       f->grower);
	tick(f);
	assert_shows(f, 80, "0 B          11           0         0  make_big");
	for (int i = 1; i < 3; i++)
		gt_board_apply(f->board,
			       &(struct gt_event){ .handle = f->handle - (uint64_t)i,
						   .function = GT_FN_clReleaseEvent },
			       f->grower);
	tick(f);
	assert_shows(f, 80, "0 B           9        -2.0         0  make_big");
}

static void a_process_view_is_entered_and_left(void **state)
{
	struct fixture *f = *state;

	press(f, "[down][enter]");
	assert_int_equal(f->screen.view, GT_SCREEN_SITES);
	assert_int_equal(f->screen.count, 2);
	assert_int_equal(f->screen.rows[0].bytes, 5 << 20);
	assert_int_equal(f->screen.rows[0].number, 1);
	assert_true(f->screen.rows[0].growth == 1 << 20);
	assert_shows(f, 80, "of 100 grower");
	assert_shows(
		f, 80,
		"5.00 MiB           5   +1.00 MiB       1.0  make_small src/small.c:7 < main:1");
	assert_shows(f, 120, "make_small src/small.c:7 < main:1");
	assert_shows(f, 80, "libx.so.1+0x1234");
	/* the stack of the chosen one, below */
	assert_shows(f, 80, "OpenCL buffers of 100 grower");
	assert_shows(f, 80, "src/main.c:1");
	press(f, "[esc]");
	assert_int_equal(f->screen.view, GT_SCREEN_PROCESSES);
	press(f, "2");
	assert_int_equal(f->screen.count, 3); /* of all that run */
	press(f, "3");
	assert_int_equal(f->screen.view, GT_SCREEN_BIGGEST);
	assert_int_equal(f->screen.count, 11);
	assert_int_equal(f->screen.rows[0].bytes, 1 << 30);
	assert_shows(f, 80, "1.00 GiB      6.000 s  0x1");
	press(f, "[tab]");
	assert_int_equal(f->screen.view, GT_SCREEN_PROCESSES);
}

static void a_filter_narrows_the_rows(void **state)
{
	struct fixture *f = *state;

	press(f, "/HOL");
	assert_true(f->screen.typing);
	assert_int_equal(f->screen.count, 1);
	assert_shows(f, 80, "filter: HOL");
	press(f, "q"); /* a letter like any other */
	assert_false(f->screen.quit);
	assert_int_equal(f->screen.count, 0);
	assert_shows(f, 80, "nothing matches the filter");
	press(f, "[back][enter]");
	assert_false(f->screen.typing);
	assert_int_equal(f->screen.count, 1);
	press(f, "[esc]");
	assert_int_equal(f->screen.count, 3);
	press(f, "2/big.c[enter]");
	assert_int_equal(f->screen.count, 1);
	assert_int_equal(f->screen.rows[0].process, f->holder);
	press(f, "/[esc]/\303\274[back][enter]"); /* a character of two bytes goes as one */
	assert_string_equal(f->screen.filter, "");
	for (int i = 0; i < 300; i++)
		press(f, "/x");
	assert_true(strlen(f->screen.filter) < GT_SCREEN_FILTER_MAX);
}

static void pausing_freezes_the_rows_but_not_the_counting(void **state)
{
	struct fixture *f = *state;

	press(f, "p");
	assert_shows(f, 80, "PAUSED");
	create(f, f->holder, UINT64_C(1) << 40, 2);
	tick(f);
	assert_int_equal(f->screen.rows[0].bytes, 1 << 30);
	assert_int_equal(f->screen.shown_ticks, 6);
	press(f, "p");
	tick(f);
	assert_int_equal(f->screen.rows[0].bytes, (UINT64_C(1) << 40) + (1 << 30));
	assert_int_equal(f->screen.shown_ticks, 8);
}

static void keys_quit_show_help_and_set_the_interval(void **state)
{
	struct fixture *f = *state;

	press(f, "?");
	assert_shows(f, 80, "sort by the next or previous column");
	press(f, "x");
	assert_false(f->screen.help);
	press(f, "+");
	assert_true(f->screen.interval_s == 2);
	press(f, "----------");
	assert_true(f->screen.interval_s == 0.1);
	press(f, "q");
	assert_true(f->screen.quit);
}

static void totals_and_lost_events_are_at_the_top(void **state)
{
	struct fixture *f = *state;

	assert_shows(f, 80, "gputrack top  all processes");
	assert_shows(f, 80, "every 1 s  12:00:00");
	assert_shows(f, 80, " 1.00 GiB live   11 resources   2 processes   2 allocs/s   0 frees/s");
	gt_board_lose(f->board, f->holder, 12345);
	tick(f);
	assert_shows(f, 80, "12,345 events lost");
	assert_shows(f, 40, "12,345 events lost");
}

static void a_peak_between_ticks_is_shown(void **state)
{
	struct fixture *f = *state;

	create(f, f->grower, UINT64_C(3) << 30, 1);
	gt_board_apply(
		f->board,
		&(struct gt_event){ .handle = f->handle, .function = GT_FN_clReleaseMemObject },
		f->grower);
	tick(f);
	assert_shows(f, 120, "1.00 GiB live");
	assert_shows(f, 120, "4.00 GiB peak");
}

static void places_are_shown_on_narrow_screens_too(void **state)
{
	struct fixture *f = *state;

	for (const char *view = "23"; *view; view++) {
		press(f, (char[]){ *view, '\0' });
		for (unsigned columns = 30; columns < 100; columns++) {
			assert_shows(f, columns, "LIVE");
			assert_shows(f, columns, "WHERE");
		}
	}
	press(f, "2");
	assert_shows(f, 60, "ALLOC/S");
}

static void call_sites_of_one_place_are_one_row(void **state)
{
	struct fixture *f = *state;
	size_t before;

	gt_board_chart_sites(f->board);
	press(f, "2");
	before = f->screen.count;
	create(f, f->holder, 3 << 20, 4);
	create(f, f->holder, 4 << 20, 5);
	create(f, f->grower, 1 << 20, 5);
	tick(f);
	/* in two processes, too */
	assert_int_equal(f->screen.count, before + 1);
	assert_int_equal(f->screen.rows[1].bytes, 8 << 20);
	assert_int_equal(f->screen.rows[1].objects, 3);
	assert_int_equal(f->screen.rows[1].processes, 2);
	assert_int_equal(f->screen.rows[1].number, 5);
	assert_int_equal(f->screen.rows[1].history.count, 1);
	assert_int_equal(f->screen.rows[1].history.values[0], 8 << 20);
	assert_shows(f, 200, " of 2 ");
	assert_shows(f, 200, "  make_small src/small.c:8 via Pool::take\n");
	press(f, "[down]");
	assert_shows(f, 200, "Pool<int>::take");
	/* the row stays chosen, whichever stack is its biggest */
	create(f, f->holder, 2 << 20, 4);
	tick(f);
	assert_int_equal(f->screen.chosen, 1);
	press(f, "[down][up]");
	assert_shows(f, 200, "OpenCL buffers of 2 processes");
	press(f, "/pool::");
	assert_int_equal(f->screen.count, 1);
}

static const struct gt_live_who *who(void *context, uint16_t process)
{
	static const struct gt_live_who alice = { 1000, "alice", "pod trainer-0",
						  "python3 train.py --local-rank 3" };
	static const struct gt_live_who unknown = { GT_UID_UNKNOWN, "", "", "" };

	(void)context;
	return process ? &unknown : &alice;
}

static const char *place(void *context, uint16_t number)
{
	static const char *const gpus[] = { "", "GPU 0: NVIDIA H200", "GPU 1: NVIDIA H200",
					    "GPU 2: H" };

	(void)context;
	return number < 4 ? gpus[number] : "PoCL";
}

static void processes_show_whose_they_are_and_on_which_device(void **state)
{
	struct fixture *f = *state;

	f->screen.names.who = who;
	f->screen.names.place = place;
	gt_board_rename(f->board, f->grower, "python3.11 train.py");
	for (uint16_t i = 1; i < 4; i++)
		gt_board_apply(f->board,
			       &(struct gt_event){ .time_ns = f->now_ns,
						   .stack = 2,
						   .tid = 4321,
						   .size = UINT64_C(2) << 30,
						   .place = i,
						   .handle = ++f->handle,
						   .function = GT_FN_cuMemAlloc_v2 },
			       f->grower);
	gt_board_apply(f->board,
		       &(struct gt_event){ .time_ns = f->now_ns,
					   .handle = ++f->handle,
					   .place = 9,
					   .function = GT_FN_clCreateBuffer },
		       f->holder);
	tick(f);
	/* the script rather than its interpreter; what was made before has no known device */
	assert_shows(f, 80, "  train.py    0…,?  ");
	assert_shows(f, 110, "  alice     ");
	assert_shows(f, 110, "  0-2,?   ");
	assert_shows(f, 200, "    100    1000  alice     python3.11 train.py");
	assert_shows(f, 200, "  pod trainer-0  ");
	assert_shows(f, 240, "  python3 train.py --local-rank 3\n");
	assert_shows(f, 200, "  PoCL,?  ");
	press(f, "/trainer-0");
	assert_int_equal(f->screen.count, 1);
	press(f, "[esc]3");
	assert_shows(f, 120, "  0         100     4321  device memory");
	press(f, "s");
}

static void histories_are_drawn_with_the_latest_value_at_the_right(void **state)
{
	struct fixture *f = *state;

	/* 1 to 5 MiB of 5, after a moment with nothing */
	assert_shows(f, 80, " ▂▃▅▆█\n");
}

static void an_empty_chart_has_no_maximum(void **state)
{
	struct fixture *f = *state;
	char *all;

	gt_screen_fini(&f->screen);
	gt_board_free(f->board);
	f->board = gt_board_new();
	gt_screen_init(&f->screen, &(struct gt_live_names){ .find = find, .context = f->frames });
	f->screen.target = "all processes";
	tick(f);
	all = draw(f, 80, 24, true);
	assert_null(strstr(all, " 1 B"));
	assert_non_null(strstr(all, " 0 B\n"));
	free(all);
}

/* Any size, any view: nothing is written outside, and every line fits. */
static void every_screen_size_can_be_drawn(void **state)
{
	static const char *const keys[] = { "", "2", "3", "?", "x/abc" };
	struct fixture *f = *state;

	for (int i = 0; i < 60; i++)
		create(f, f->grower, 5000, 1);
	tick(f);
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
		press(f, keys[k]);
		for (unsigned columns = 0; columns < 260; columns += 7)
			for (unsigned rows = 0; rows < 60; rows += 3)
				free(draw(f, columns, rows, columns % 2));
	}
	free(draw(f, 100000, 100000, true));
	assert_int_equal(f->grid.columns, GT_GRID_COLUMNS_MAX);
}

static void without_utf8_the_screen_is_plain_ascii(void **state)
{
	struct fixture *f = *state;
	char *all = draw(f, 120, 40, false);

	for (const char *at = all; *at; at++)
		assert_true(*at == '\n' || (*at >= ' ' && *at < 0x7f));
	free(all);
}

static void names_cannot_draw_on_the_screen(void **state)
{
	struct fixture *f = *state;
	char *all;

	gt_board_rename(f->board, f->holder, "\033[2Jx\n\xff");
	tick(f);
	all = draw(f, 200, 30, true);
	assert_null(strchr(all, '\033'));
	assert_non_null(strstr(all, "\\x1b[2Jx\\x0a\\xff"));
	free(all);
}

static void long_lists_scroll_to_the_selected_row(void **state)
{
	struct fixture *f = *state;
	char *all;

	for (uint32_t i = 0; i < 100; i++)
		gt_board_add(f->board, 1000 + i, "many", 1);
	free(draw(f, 80, 30, true));
	press(f, "<<<"); /* by pid */
	tick(f);
	assert_int_equal(f->screen.sort[GT_SCREEN_PROCESSES], GT_COLUMN_PID);
	all = draw(f, 80, 30, true);
	assert_non_null(strstr(all, " 1000 "));
	assert_null(strstr(all, " 1099 "));
	free(all);
	press(f, "[end][up]");
	all = draw(f, 80, 30, true);
	assert_non_null(strstr(all, " 1099 "));
	assert_null(strstr(all, " 1000 "));
	assert_true(f->screen.chosen >= f->screen.first &&
		    f->screen.chosen < f->screen.first + f->screen.page);
	free(all);
	press(f, "[home]");
	all = draw(f, 80, 30, true);
	assert_non_null(strstr(all, " 1000 "));
	free(all);
}

int main(void)
{
#define WITH_A_BOARD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_A_BOARD(processes_are_sorted_by_bytes_with_ended_ones_last),
		WITH_A_BOARD(every_column_can_sort_and_the_heading_marks_it),
		WITH_A_BOARD(the_selected_row_stays_selected_when_the_order_changes),
		WITH_A_BOARD(resources_without_bytes_grow_by_count),
		WITH_A_BOARD(a_process_view_is_entered_and_left),
		WITH_A_BOARD(a_filter_narrows_the_rows),
		WITH_A_BOARD(pausing_freezes_the_rows_but_not_the_counting),
		WITH_A_BOARD(keys_quit_show_help_and_set_the_interval),
		WITH_A_BOARD(totals_and_lost_events_are_at_the_top),
		WITH_A_BOARD(a_peak_between_ticks_is_shown),
		WITH_A_BOARD(places_are_shown_on_narrow_screens_too),
		WITH_A_BOARD(call_sites_of_one_place_are_one_row),
		WITH_A_BOARD(processes_show_whose_they_are_and_on_which_device),
		WITH_A_BOARD(histories_are_drawn_with_the_latest_value_at_the_right),
		WITH_A_BOARD(an_empty_chart_has_no_maximum),
		WITH_A_BOARD(every_screen_size_can_be_drawn),
		WITH_A_BOARD(without_utf8_the_screen_is_plain_ascii),
		WITH_A_BOARD(names_cannot_draw_on_the_screen),
		WITH_A_BOARD(long_lists_scroll_to_the_selected_row),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
