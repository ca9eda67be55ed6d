/* SPDX-License-Identifier: MIT */
/* import.h - an Nsight Systems export becomes a recording; for `import` and `run --with nsys`. */
#pragma once

#include "base/mem.h"
#include "trace/info.h"

struct gt_import {
	const char *file;     /* the export */
	const char *folder;   /* the recording to make */
	const char *source;   /* what the recording says it comes from; NULL: the file */
	struct gt_info *info; /* gets what the export says of itself; not written here */
};

/* What the import found, as one or more lines for people. */
struct gt_import_result {
	char text[1024];
};

/*
 * Fills a folder that is there, without its `info`. Gives 0, or -errno and what to do about it; the
 * folder is the caller's to remove.
 */
int gt_import_run(const struct gt_import *import, struct gt_import_result *result,
		  struct gt_error *error);
