/* SPDX-License-Identifier: MIT */
/*
 * own.h - which frames are the user's own code, and which are a library's.
 *
 * A frame is own if its file lies below a root, or, where that does not decide, if its module is a
 * program that was recorded or a library beside it. Headers and sources of systems, packages and
 * toolchains are a library's wherever they lie: /usr/include, site-packages, ~/.cargo/registry, any
 * hidden folder below a root. A frame of Python is own unless its file belongs to the interpreter's
 * library or to an installed package. An interpreter is nobody's own program.
 *
 * Without roots given, they are the folder the recording was made in, those its processes were
 * started in, those of the programs, the repositories around all these, and the sources around a
 * folder called build.
 */
#pragma once

#include <stdbool.h>

#include "symbol/symbol.h"
#include "trace/recording.h"

/* Lists end in NULL; a list may be NULL. What they point at must stay. */
struct gt_own_rules {
	const char *const *roots;
	/* Patterns of replay/suppressions.h for functions, files and modules; `own` wins. */
	const char *const *own, *const *library;
};

struct gt_own;

struct gt_own *gt_own_new(const struct gt_own_rules *rules);
/* The same with the programs and folders of a recording. */
struct gt_own *gt_own_of_recording(const struct gt_own_rules *rules, const struct gt_recording *r);
void gt_own_free(struct gt_own *o);
/*
 * A program that runs or ran, and the folder it was started in; both are copied. "": unknown. False
 * if both were known together: then nothing has changed.
 */
bool gt_own_add_program(struct gt_own *o, const char *path, const char *folder);

/* True if the user has named roots. */
bool gt_own_has_roots(const struct gt_own *o);
bool gt_own_is(struct gt_own *o, const struct gt_frame *frame);
/* True for a program that was recorded, a library beside it and one below a root. */
bool gt_own_has_module(struct gt_own *o, const char *path);
/* True for a program that was recorded, interpreter or not. */
bool gt_own_is_program(const struct gt_own *o, const char *path);
/*
 * The frame's file relative to the innermost root around it; of own code also to the folder that a
 * build moved it to (-ffile-prefix-map=…=/usr/src/app-1.0). Unchanged where there is none, NULL
 * where the file is not known.
 */
const char *gt_own_file(struct gt_own *o, const struct gt_frame *frame);
