/* SPDX-License-Identifier: MIT */
/*
 * place_texts.h - the places of stacks as text, for exports that are written while they read.
 *
 * Whose code a frame is depends on the programs that were recorded: a process that is met for the
 * first time may be one more.
 */
#pragma once

#include "replay/place.h"

enum { GT_PLACE_TEXTS_KEPT = 1024 };

/* Zeroed, with `frames`, is initialised. */
struct gt_place_texts {
	struct gt_frames *frames;
	bool *is_known; /* by process */
	size_t process_count;
	struct {
		uint32_t stack; /* + 1; 0: free */
		char *text;
	} kept[GT_PLACE_TEXTS_KEPT]; /* the same come again and again */
};

/* As gt_place_text of a stack of this process; "" without a stack. Good until the next. */
const char *gt_place_texts_get(struct gt_place_texts *t, uint32_t process, uint32_t stack);
void gt_place_texts_fini(struct gt_place_texts *t);
