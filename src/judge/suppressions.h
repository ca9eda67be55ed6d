/* SPDX-License-Identifier: MIT */
/*
 * suppressions.h - leaks that are known and not to be counted, from files in LeakSanitizer's form.
 *
 *   # a comment
 *   leak:pattern                  every leak with a frame that the pattern fits
 *   leak[memory,cl_event]:pattern of these kinds alone (words of api/select.h)
 *   leak:pattern < caller         with frames that both fit, the second further out; and so on
 *
 * A pattern is looked for within the function, file and module of each frame, and in the name of
 * the API's function. `*` stands for anything, a `^` at its start for the start of the name and a
 * `$` at its end for the end of it.
 */
#pragma once

#include "api/select.h"
#include "base/mem.h"
#include "symbol/symbol.h"

/* Between a pattern and that of a caller. */
#define GT_CALLED_BY " < "

struct gt_suppression {
	char *file, *text; /* where it is from, and the line without blanks around it */
	unsigned line;
	const char *pattern; /* within `text` */
	struct gt_select what;
	uint64_t count, bytes; /* what it has hidden so far */
};

struct gt_suppressions {
	struct gt_suppression *list;
	size_t count, room;
};

/* Adds the lines of `text`, which need not end in NUL; `file` is for messages. */
int gt_suppressions_parse(struct gt_suppressions *s, const char *file, const char *text,
			  size_t size, struct gt_error *error);
int gt_suppressions_read(struct gt_suppressions *s, const char *path, struct gt_error *error);
void gt_suppressions_fini(struct gt_suppressions *s);

/* True when the pattern is found in `name`. */
bool gt_pattern_fits(const char *pattern, const char *name);

/* The first that fits a leak; NULL for none. */
struct gt_suppression *gt_suppressions_find(const struct gt_suppressions *s, enum gt_api api,
					    enum gt_kind kind, const char *function,
					    const struct gt_frame *frames, size_t count);
