/* SPDX-License-Identifier: MIT */
/*
 * terminal_screen.h - a grid on a terminal, and its keys.
 *
 * However the program ends, except by a crash or kill -9, the terminal is restored.
 */
#pragma once

#include "base/mem.h"
#include "screen/grid.h"

/* Takes the terminal over. 0, or -errno and the sentence. */
int gt_terminal_screen_open(bool color, struct gt_error *error);
void gt_terminal_screen_close(void);

/* The terminal's size now. */
void gt_terminal_screen_size(unsigned *columns, unsigned *rows);
void gt_terminal_screen_show(const struct gt_grid *grid);
/* A key, numbered as in screen/screen.h; 0: none is waiting; GT_TERMINAL_RESIZED: draw again. */
uint32_t gt_terminal_screen_key(void);

enum { GT_TERMINAL_RESIZED = 0x300000 };
