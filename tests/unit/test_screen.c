/* SPDX-License-Identifier: MIT */
/* test_screen.c - the live screen without a terminal: rows and keys. */
#include "test_screen.h"

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
	assert_int_equal(f->screen.view, GT_SCREEN_GPUS);
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
					    "GPU 2.1: Intel Max" };

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

static const struct gt_live_gpu *gpus(void *context, size_t *count)
{
	static const struct gt_live_gpu list[] = {
		{ "0:7", "NVIDIA H200 MIG 1g.18gb", 4ull << 30, 16ull << 30, -1, 1 },
		{ "1", "NVIDIA H200", 35ull << 30, 140ull << 30, 62, 3 },
		{ "2", "", 0, 0, -1, 0 },
	};

	(void)context;
	*count = 3;
	return list;
}

static bool gpu_use(void *context, uint32_t pid, struct gt_live_gpu_use *use)
{
	(void)context;
	*use = (struct gt_live_gpu_use){ "0:7", 3ull << 30, 16ull << 30 };
	return pid == 100;
}

static void gpus_and_their_instances_are_listed(void **state)
{
	struct fixture *f = *state;

	press(f, "4");
	assert_shows(f, 80, "lists no GPU");
	f->screen.names.gpus = gpus;
	f->screen.names.gpu_use = gpu_use;
	tick(f);
	assert_shows(f, 80, " 0:7     NVIDIA H200 MIG 1g.18gb");
	assert_shows(f, 80, "  4.00 GiB   16.0 GiB    25 %               1\n");
	assert_shows(f, 80, "  35.0 GiB    140 GiB    25 %    62 %       3\n");
	press(f, "ss");
	assert_shows(f, 80, "GPU MEM▼");
	assert_string_equal(f->screen.rows[0].gpu, "1");
	press(f, "/mig");
	assert_int_equal(f->screen.count, 1);
	press(f, "[esc][esc]");
	assert_int_equal(f->screen.view, GT_SCREEN_PROCESSES);
	/* what the driver says of a process, beside what is known to be alive */
	assert_shows(f, 120, "  0:7      3.00 GiB    19 %  ");
}

int main(void)
{
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
		WITH_A_BOARD(gpus_and_their_instances_are_listed),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
