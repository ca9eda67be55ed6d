/* stack.h - writes a stack as text, JSON and TSV. */
#pragma once

#include "base/json.h"
#include "view/view.h"

/* Lines of function and file:line from column `indent` on; at most `most` frames, 0 for all. */
void gt_stack_text(struct gt_page *p, const struct gt_view *v, uint32_t stack, size_t most,
		   unsigned indent);
/* The innermost frame on the rest of the line, in at most `columns`; callers where they fit. */
void gt_stack_where(struct gt_page *p, const struct gt_view *v, uint32_t stack, unsigned columns);

void gt_stack_json(struct gt_json *j, const char *key, struct gt_frames *frames, uint32_t stack);
/* `function (file:line)`, joined by ` < `: the second called the first. */
void gt_stack_tsv(FILE *out, struct gt_frames *frames, uint32_t stack);

/*
 * "/w/build/../src/demo.c" -> "/w/src/demo.c": how compilers run in a build folder name files.
 * For the eye alone: where `build` is a link, the two are not the same. The caller frees it.
 */
char *gt_path_tidy(const char *path);
