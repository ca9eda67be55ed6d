/* SPDX-License-Identifier: MIT */
/* stack.h - writes a stack as text, JSON and TSV. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

enum { GT_WHERE_LEAST = 20 }; /* columns in which a place still tells something */

/* Lines of function and file:line from column `indent` on: the whole stack. */
void gt_stack_text(struct gt_printer *p, const struct gt_view *v, uint32_t stack, unsigned indent);
/*
 * The same for the place of a stack (place.h): its frame, and own callers, at most `most` lines
 * unless the list needs more. With all frames asked for, the whole stack.
 */
void gt_stack_brief(struct gt_printer *p, const struct gt_view *v, uint32_t stack, size_t most,
		    unsigned indent);
/* The function, or "demo+0x11a3" where it has no name; the caller frees it. */
char *gt_frame_name(const struct gt_frame *frame);
/*
 * "src/demo.c:41" where the line is known, "demo+0x11a3" where only the function is; the caller
 * frees it. Without a style the path is as the compiler wrote it.
 */
char *gt_stack_location(const struct gt_frame *frame, const struct gt_style *style);

void gt_stack_json(struct gt_json *j, const char *key, struct gt_frames *frames, uint32_t stack);
/* `function (file:line)`, joined by ` < `: the second called the first; `put` writes each text. */
void gt_frames_put(FILE *out, const struct gt_frame *list, size_t count,
		   void (*put)(FILE *out, const char *text));
/* The same as a TSV field. */
void gt_stack_tsv(FILE *out, struct gt_frames *frames, uint32_t stack);
