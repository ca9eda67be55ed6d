/* SPDX-License-Identifier: MIT */
/* test_screen_drawing.c - the live screen without a terminal: what is drawn, at any size. */
#include "test_screen.h"

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
	static const char *const keys[] = { "", "2", "3", "4", "?", "x/abc" };
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
	const struct CMUnitTest tests[] = {
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
