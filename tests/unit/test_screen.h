/* SPDX-License-Identifier: MIT */
/* test_screen.h - for tests of the live screen: three processes, keys, and the screen as text. */
#pragma once

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
static inline struct gt_frames *frames_of_all(void)
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

static inline struct gt_frames *find(void *context, uint16_t process, uint32_t stack,
				     uint32_t *number)
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

static inline void create(struct fixture *f, uint16_t process, uint64_t size, uint32_t stack)
{
	gt_board_apply(f->board,
		       &(struct gt_event){ .time_ns = f->now_ns,
					   .handle = ++f->handle,
					   .size = size,
					   .stack = stack,
					   .function = GT_FN_clCreateBuffer },
		       process);
}

static inline void tick(struct fixture *f)
{
	f->now_ns += SECOND;
	gt_board_tick(f->board, f->now_ns);
	gt_screen_tick(&f->screen, f->board, f->now_ns);
}

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
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
static inline void press(struct fixture *f, const char *keys)
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

/* Inlined, gcc 12 takes the stream for one that has been closed. */
static __attribute__((noinline, unused)) char *draw(struct fixture *f, unsigned columns,
						    unsigned rows, bool utf8)
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

static inline void assert_shows(struct fixture *f, unsigned columns, const char *part)
{
	char *all = draw(f, columns, 30, true);

	if (!strstr(all, part))
		print_error("no \"%s\" in:\n%s", part, all);
	assert_non_null(strstr(all, part));
	free(all);
}

#define WITH_A_BOARD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
