/* SPDX-License-Identifier: MIT */
/*
 * import.h - another tool's file becomes a recording: an Nsight Systems export, for `import` and
 * `run --with nsys`; a memory snapshot of PyTorch.
 */
#pragma once

#include "base/mem.h"
#include "trace/info.h"

struct gt_import {
	const char *file;     /* the export, or the snapshot */
	const char *folder;   /* the recording to make */
	const char *source;   /* named as the origin in the recording; NULL: the file */
	struct gt_info *info; /* receives the facts of the file; the caller writes it */
};

/* What the import found, in one or more lines. */
struct gt_import_result {
	char text[1024];
};

/*
 * Fills an existing folder, except for its `info`. 0, or -errno and the error; the caller removes
 * the folder.
 */
int gt_import_run(const struct gt_import *import, struct gt_import_result *result,
		  struct gt_error *error);
/* The same for a memory snapshot of PyTorch. */
int gt_import_snapshot(const struct gt_import *import, struct gt_import_result *result,
		       struct gt_error *error);

/* Writes lines for the user. */
struct gt_import_lines {
	char *at, *end;
};
void gt_import_line(struct gt_import_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
