/* SPDX-License-Identifier: MIT */
/* import.h - an Nsight Systems export becomes a recording; for `import` and `run --with nsys`. */
#pragma once

#include "base/mem.h"
#include "trace/info.h"

struct gt_import {
	const char *file;     /* the export */
	const char *folder;   /* the recording to make */
	const char *source;   /* named as the origin in the recording; NULL: the file */
	struct gt_info *info; /* receives the facts of the export; the caller writes it */
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
