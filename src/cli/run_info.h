/* SPDX-License-Identifier: MIT */
/* run_info.h - what a recording's `info` says of who was recorded, where, when and how it ended. */
#pragma once

#include <stdint.h>

#include "cli/folder.h"
#include "trace/info.h"

/* At the start: the command as one would type it, folder, host, kernel, time. */
struct gt_info *gt_run_info_begin(char *const *argv);
/* At the end: the time, and how long it took. */
void gt_run_info_end(struct gt_info *info, uint64_t duration_ns);
/* How the program ended, as waitpid tells it. */
void gt_run_info_status(struct gt_info *info, int status);

/* `info` of a recording's folder; of one that has none: an empty one. */
struct gt_info *gt_run_info_read(const char *folder);
int gt_run_info_write(const struct gt_info *info, const char *folder, struct gt_error *error);
/* Makes the folder, with `info` in it; when that fails, everything is as it was before. */
int gt_run_info_make(const struct gt_info *info, struct gt_folder *made, const char *folder,
		     struct gt_error *error);
