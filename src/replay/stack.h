/* SPDX-License-Identifier: MIT */
/* stack.h - writes a stack as text, JSON and TSV. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

enum {
	GT_WHERE_LEAST = 20, /* columns in which a place still tells something */
	GT_WHERE_FRAMES = 3, /* that gt_frames_where tells at most */
};

/* Lines of function and file:line from column `indent` on: the whole stack. */
void gt_stack_text(struct gt_printer *p, const struct gt_view *v, uint32_t stack, unsigned indent);
/*
 * The same for the place of a stack (place.h): its frame, and own callers, at most `most` lines
 * unless the list needs more. With all frames asked for, the whole stack.
 */
void gt_stack_brief(struct gt_printer *p, const struct gt_view *v, uint32_t stack, size_t most,
		    unsigned indent);
/*
 * Frames of no recording on the rest of the line, in at most `columns`, `count` > 0; callers where
 * they fit: "pack < fill:30 < main:81  src/pack.c:12".
 */
void gt_frames_where(struct gt_printer *p, const struct gt_frame **frames, size_t count,
		     unsigned columns);
/*
 * "main:81", the function and the line that it called from, in at most `columns`; NULL where that
 * is not to be had. The caller frees it.
 */
char *gt_frame_caller(const struct gt_frame *frame, unsigned columns, bool utf8);

/* The function, or "demo+0x11a3" where it has no name; the caller frees it. */
char *gt_frame_name(const struct gt_frame *frame);
/*
 * "src/demo.c:41" where the line is known, "demo+0x11a3" where only the function is; the caller
 * frees it. Without a style the path is as the compiler wrote it.
 */
char *gt_stack_location(const struct gt_frame *frame, const struct gt_style *style);

void gt_stack_json(struct gt_json *j, const char *key, struct gt_frames *frames, uint32_t stack);
/* `function (file:line)`, joined by ` < `: the second called the first. */
void gt_stack_tsv(FILE *out, struct gt_frames *frames, uint32_t stack);
