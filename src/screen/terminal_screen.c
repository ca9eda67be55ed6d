/* SPDX-License-Identifier: MIT */
/* terminal_screen.c - a grid on a terminal, and its keys, by ncurses. */
#include "screen/terminal_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ncurses.h>

#include "screen/screen.h"

static SCREEN *terminal;
static attr_t inks[GT_INK_COUNT];

static void choose_inks(bool color)
{
	static const struct {
		int ink, color;
	} pairs[] = {
		{ GT_INK_BAR, COLOR_CYAN },    { GT_INK_HEAD, COLOR_CYAN },
		{ GT_INK_SORTED, COLOR_CYAN }, { GT_INK_KEY, COLOR_CYAN },
		{ GT_INK_SPARK, COLOR_GREEN }, { GT_INK_GOOD, COLOR_GREEN },
		{ GT_INK_BAD, COLOR_RED },
	};
	/* clang-format off */
	static const attr_t plain[GT_INK_COUNT] = {
		[GT_INK_BOLD] = A_BOLD, [GT_INK_DIM] = A_DIM, [GT_INK_BAR] = A_REVERSE | A_BOLD,
		[GT_INK_HEAD] = A_UNDERLINE, [GT_INK_SORTED] = A_UNDERLINE | A_BOLD,
		[GT_INK_CHOSEN] = A_REVERSE, [GT_INK_KEY] = A_BOLD, [GT_INK_BAD] = A_BOLD,
	};
	/* clang-format on */

	memcpy(inks, plain, sizeof inks);
	if (!color || !has_colors())
		return;
	start_color();
	use_default_colors();
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		init_pair((short)(i + 1), (short)pairs[i].color, -1);
		inks[pairs[i].ink] |= (attr_t)COLOR_PAIR((int)i + 1);
	}
}

/* Also called when the tool runs out of memory. */
void gt_terminal_screen_close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

int gt_terminal_screen_open(bool color, struct gt_error *error)
{
	const char *name = getenv("TERM"), *move_to;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return gt_error_set(error, -ENOTTY, "not a terminal");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return gt_error_set(error, -ENOTTY,
				    "unknown terminal type '%s'; set TERM, for example to xterm",
				    name ? name : "");
	/* `dumb` and the like: curses would write everything into one line */
	move_to = tigetstr("cup");
	if (!move_to || move_to == (char *)-1) {
		gt_terminal_screen_close();
		return gt_error_set(error, -ENOTTY,
				    "terminal type '%s' cannot move the cursor; set TERM to the "
				    "real type, for example xterm",
				    name ? name : "");
	}
	atexit(gt_terminal_screen_close);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_escdelay(25);
	choose_inks(color);
	return 0;
}

void gt_terminal_screen_size(unsigned *columns, unsigned *rows)
{
	*columns = COLS > 0 ? (unsigned)COLS : 80;
	*rows = LINES > 0 ? (unsigned)LINES : 24;
}

void gt_terminal_screen_show(const struct gt_grid *grid)
{
	erase();
	for (unsigned row = 0; row < grid->rows; row++)
		for (unsigned i = 0; i < grid->columns; i++) {
			const struct gt_cell *cell = &grid->cells[(size_t)row * grid->columns + i];

			if (!*cell->text)
				continue;
			attrset(inks[cell->ink]);
			mvaddstr((int)row, (int)i, cell->text);
		}
	refresh();
}

uint32_t gt_terminal_screen_key(void)
{
	int key = getch();

	switch (key) {
	case ERR: return 0;
	case KEY_RESIZE: return GT_TERMINAL_RESIZED;
	case KEY_UP: return GT_KEY_UP;
	case KEY_DOWN: return GT_KEY_DOWN;
	case KEY_LEFT: return GT_KEY_LEFT;
	case KEY_RIGHT: return GT_KEY_RIGHT;
	case KEY_PPAGE: return GT_KEY_PAGE_UP;
	case KEY_NPAGE: return GT_KEY_PAGE_DOWN;
	case KEY_HOME: return GT_KEY_HOME;
	case KEY_END: return GT_KEY_END;
	case KEY_ENTER:
	case '\r':
	case '\n': return GT_KEY_ENTER;
	case 27: return GT_KEY_ESCAPE;
	case KEY_BACKSPACE:
	case 127:
	case 8: return GT_KEY_BACKSPACE;
	case '\t': return GT_KEY_TAB;
	case KEY_BTAB: return GT_KEY_BACK_TAB;
	default: return key < 0x100 ? (uint32_t)key : GT_TERMINAL_RESIZED;
	}
}
