/* SPDX-License-Identifier: MIT */
/*
 * screen.h - the live screen as data: which view is open, how it is sorted, which row is chosen.
 *
 * The screen knows no terminal. Keys change its state, a board fills its rows, and gt_screen_draw
 * draws it on a grid:
 *
 *	gt_screen_key     a key was pressed
 *	gt_screen_tick    an interval is over: takes the board's rows, unless paused
 *	gt_screen_draw    draws, as large as the grid is
 */
#pragma once

#include "ledger/board.h"
#include "screen/live_sites.h"
#include "symbol/symbol.h"
#include "screen/grid.h"
#include "base/print.h"

enum gt_screen_view {
	GT_SCREEN_PROCESSES,
	GT_SCREEN_SITES,
	GT_SCREEN_BIGGEST,
	GT_SCREEN_GPUS,
	GT_SCREEN_VIEWS
};

/* Columns of all views; each view has some of them. */
enum gt_screen_column {
	GT_COLUMN_PID,
	GT_COLUMN_UID,
	GT_COLUMN_USER,
	GT_COLUMN_PROGRAM,
	GT_COLUMN_CONTAINER,
	GT_COLUMN_DEVICE,
	GT_COLUMN_BYTES,
	GT_COLUMN_PEAK,
	GT_COLUMN_GPU,
	GT_COLUMN_GPU_NAME,
	GT_COLUMN_GPU_BYTES,
	GT_COLUMN_GPU_TOTAL,
	GT_COLUMN_SHARE,
	GT_COLUMN_BUSY,
	GT_COLUMN_HOLDERS,
	GT_COLUMN_RESOURCES,
	GT_COLUMN_CREATED_RATE,
	GT_COLUMN_ENDED_RATE,
	GT_COLUMN_GROWTH,
	GT_COLUMN_BEFORE,
	GT_COLUMN_FAILED,
	GT_COLUMN_HISTORY,
	GT_COLUMN_THREAD,
	GT_COLUMN_KIND,
	GT_COLUMN_AGE,
	GT_COLUMN_HANDLE,
	GT_COLUMN_WHERE,
	GT_COLUMN_COMMAND,
	GT_COLUMN_COUNT
};

/* Keys that are not characters. */
/* clang-format off */
enum gt_key {
	GT_KEY_UP = 0x200000, GT_KEY_DOWN, GT_KEY_LEFT, GT_KEY_RIGHT, GT_KEY_PAGE_UP,
	GT_KEY_PAGE_DOWN, GT_KEY_HOME, GT_KEY_END, GT_KEY_ENTER, GT_KEY_ESCAPE, GT_KEY_BACKSPACE,
	GT_KEY_TAB, GT_KEY_BACK_TAB,
};
/* clang-format on */

/* A row. It holds copies, so that a paused screen does not change. */
struct gt_screen_row {
	uint16_t process;
	uint8_t api, kind;
	bool ended;
	uint32_t stack, pid, uid, tid;
	uint32_t processes; /* that a call site is of; `process` and `pid` are one of them */
	uint64_t handle;
	char program[96], user[24], container[64], device[24], gpu[24], command[160];
	uint64_t bytes, peak, objects, before, failed, time_ns;
	uint64_t gpu_bytes, gpu_total; /* as the machine's driver says; total 0: unknown */
	int busy;                      /* percent; -1: unknown */
	double created_rate, ended_rate, growth;
	struct gt_recent history;
	struct gt_frames *frames; /* NULL: its place is unknown */
	uint32_t number;          /* of the stack there */
	uint64_t key;             /* of its place; 0: unknown */
	char where[96];           /* the place, if rows are sorted or filtered by it */
};

enum { GT_SCREEN_TOTALS = 512, GT_SCREEN_FILTER_MAX = 64 };

struct gt_screen {
	enum gt_screen_view view;
	uint16_t process; /* of sites and biggest; GT_BOARD_ALL */
	enum gt_screen_column sort[GT_SCREEN_VIEWS];
	bool reversed[GT_SCREEN_VIEWS];
	char filter[GT_SCREEN_FILTER_MAX];
	bool typing, paused, help, quit, hide_ended;
	bool has_gpus;      /* the driver lists some */
	double interval_s;  /* changed by + and - */
	const char *target; /* what is followed, for the bar */
	char clock[16];     /* the time of day, for the bar */

	struct gt_live_names names;
	struct gt_screen_row *rows;
	size_t count, room;
	size_t chosen, first; /* of rows: the chosen one, the first shown */
	size_t page;          /* rows that the last drawing had room for */
	uint32_t shown;       /* columns that it had room for: a bit each; 0: not drawn yet */

	struct gt_board_process total;
	size_t running; /* processes */
	uint64_t now_ns;
	uint64_t totals[GT_SCREEN_TOTALS]; /* total bytes at the last ticks */
	uint64_t ticks, shown_ticks;       /* so far, and at the last one shown */
};

/* What names are found in must outlive the screen. */
void gt_screen_init(struct gt_screen *s, const struct gt_live_names *names);
void gt_screen_fini(struct gt_screen *s);

/* True when the rows must be filled from the board again. */
bool gt_screen_key(struct gt_screen *s, uint32_t key);
/* After gt_board_tick: records the total and fills the rows. */
void gt_screen_tick(struct gt_screen *s, const struct gt_board *board, uint64_t now_ns);
/* The rows of the current view, filtered and sorted; the chosen row stays chosen. */
void gt_screen_fill(struct gt_screen *s, const struct gt_board *board);
void gt_screen_draw(struct gt_screen *s, struct gt_grid *grid);

/* The columns of a view, in order; GT_COLUMN_COUNT ends them. */
const enum gt_screen_column *gt_screen_columns(enum gt_screen_view view);

/* Parts of gt_screen_draw. */
/* Draws headings at `top` and rows below them, before `end`; scrolls to the chosen row. */
void gt_screen_table(struct gt_screen *s, struct gt_grid *c, unsigned top, unsigned end);

/* Bytes at the last ticks, the latest at the right end. */
void gt_screen_spark(struct gt_grid *c, unsigned row, unsigned column, unsigned width,
		     enum gt_ink ink, const struct gt_recent *h);
