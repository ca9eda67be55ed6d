/* SPDX-License-Identifier: MIT */
/* output.h - where a report goes: stdout, or a file that appears whole or not at all. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"

struct gt_output {
	FILE *file;
	char *path;    /* NULL: stdout */
	char *beside;  /* what is written until all is well; NULL: straight to the file */
	bool nameless; /* … what is written has no name until then */
};

/*
 * The ending (".zst") of a name that promises what is written here plain; NULL: it promises
 * nothing of the sort.
 */
const char *gt_output_promises(const char *path);
/* A file of a recording is not to be written to. 0, or -errno and the error. */
int gt_output_check(const char *path, struct gt_error *error);
/* `path` NULL or "-" is stdout. A pipe or a device is written straight to. */
int gt_output_open(struct gt_output *o, const char *path, struct gt_error *error);
/* Writes out what is left: what can fail for want of room has not failed after it. */
int gt_output_settle(struct gt_output *o, struct gt_error *error);
/* Writes out what is left and puts the file in its place. Frees `o`, also when it fails. */
int gt_output_close(struct gt_output *o, struct gt_error *error);
/* What was printed to stdout, by whomever, has arrived; otherwise -errno and the error. */
int gt_output_flush(struct gt_error *error);
/*
 * What files beside `input` are called after: its path, without slashes behind it; of the current
 * folder and those above it the whole path. The caller frees it.
 */
char *gt_output_stem(const char *input);
/* Leaves what was there before as it was. */
void gt_output_abandon(struct gt_output *o);
