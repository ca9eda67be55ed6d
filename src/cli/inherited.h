/* SPDX-License-Identifier: MIT */
/* inherited.h - what a program that we start must find as we found it. */
#pragma once

/* At our own start: remembers it, and makes it what we need ourselves. */
void gt_inherited_take(void);
/* Takes a signal, unless it was ignored when we began: then nobody is to mind it, we neither. */
void gt_inherited_heed(int number, void (*handler)(int));
/* In a child of ours, before it becomes the program. */
void gt_inherited_give(void);
