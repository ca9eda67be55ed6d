/* SPDX-License-Identifier: MIT */
/*
 * child.h - looks at loaders and drivers in a child: one that crashes or hangs takes only
 * that child with it.
 */
#pragma once

#include <stdio.h>

#include "cli/doctor/doctor.h"

/* In the child: looks, and tells what it finds with gt_child_tell. */
typedef void gt_explore_fn(FILE *out, const void *context);

/* The child's findings in `text`; its end as waitpid tells it, or -1. */
int gt_child_explore(gt_explore_fn *explore, const void *context, char *text, size_t size);

/* A finding of the child: `key` TAB text, one a line. */
void gt_child_tell(FILE *out, const char *key, const char *text);
/* The text of the next finding with this key at or after *at, cut out of the child's words. */
bool gt_child_next(const char **at, const char *key, char *out, size_t size);

/* How a child that did not end well ended. */
void gt_child_say_end(struct gt_doctor *d, const char *what, int status);
