/* SPDX-License-Identifier: MIT */
/*
 * stack_texts.h - stacks as an export writes them: each is rendered once, then copied.
 *
 * Events come from the same stacks again and again. As many texts are kept as fit into a few
 * megabytes, however many stacks there are. Whose code a frame is depends on the programs that were
 * recorded: a process that is met for the first time may be one more, and places change with it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "replay/frames.h"

enum { GT_STACK_TEXTS_KEPT = 4096, GT_STACK_TEXTS_BYTES = 16 << 20 };

/* Writes what the export says of a stack, which may be 0: none. */
typedef void gt_stack_render_fn(FILE *out, struct gt_frames *frames, uint32_t stack);

struct gt_rendered {
	char *bytes;
	size_t size;
};

/* Zeroed, with `frames` and `render`, is initialised. */
struct gt_stack_texts {
	struct gt_frames *frames;
	gt_stack_render_fn *render;
	bool *is_known; /* by process */
	size_t process_count;
	struct {
		uint32_t stack; /* + 1; 0: free */
		struct gt_rendered text;
	} kept[GT_STACK_TEXTS_KEPT]; /* by stack, modulo their number */
	size_t bytes;                /* of all texts */
};

/* The text of a stack of this process; good until the next is asked for. */
const struct gt_rendered *gt_stack_texts_get(struct gt_stack_texts *t, uint32_t process,
					     uint32_t stack);
void gt_stack_texts_fini(struct gt_stack_texts *t);
