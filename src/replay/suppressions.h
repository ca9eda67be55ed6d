/* SPDX-License-Identifier: MIT */
/*
 * suppressions.h - known leaks that are not to be counted, from files in LeakSanitizer's form.
 *
 *   # a comment
 *   leak:pattern                  every leak with a frame that the pattern matches
 *   leak[memory,cl_event]:pattern only of these kinds (words of api/select.h)
 *   leak:pattern < caller         if both match a frame, the second further out; and so on
 *   leak:pattern << caller        the second is the very next frame
 *   leak:libx.so!pattern          a frame of this library, by its function or file
 *
 * A pattern may match anywhere within the function, file or module of a frame, or the name of the
 * API's function. Functions match with and without their template arguments. `*` stands for
 * anything; a leading `^` anchors the pattern at the start of the name, a trailing `$` at its end.
 */
#pragma once

#include "api/select.h"
#include "base/mem.h"
#include "symbol/symbol.h"

/* Separates a pattern from that of a caller. */
#define GT_CALLED_BY " < "
/* The same for the direct caller. */
#define GT_CALLED_DIRECTLY_BY " << "

struct gt_suppression {
	char *file, *text; /* the file, and the line without blanks around it */
	unsigned line;
	const char *pattern; /* within `text` */
	char *comment;       /* the line above, if it is a comment, without its '#'; else NULL */
	struct gt_select what;
	uint64_t count, bytes; /* what it has hidden so far */
	bool hides_growth;     /* of a call site that keeps growing */
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

/* True when the pattern matches `name`. */
bool gt_pattern_matches(const char *pattern, const char *name);
/* True when it matches a stack, as the pattern of a line does; `function` is the API's. */
bool gt_pattern_matches_stack(const char *pattern, const char *function,
			      const struct gt_frame *frames, size_t count);
/* The first library that a suppression names, as a pattern; NULL: none. The caller frees it. */
char *gt_suppression_library(const struct gt_suppression *s);

/* The first that matches a leak; NULL: none does. */
struct gt_suppression *gt_suppressions_find(const struct gt_suppressions *s, enum gt_api api,
					    enum gt_kind kind, const char *function,
					    const struct gt_frame *frames, size_t count);
