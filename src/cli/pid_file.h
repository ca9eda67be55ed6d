/* SPDX-License-Identifier: MIT */
/* pid_file.h - the files that a tracker wrote, by the name that it was given. */
#pragma once

#include <stddef.h>

/*
 * A tracker that is told to write tracker.csv writes tracker_pid123.csv. The newest of those for
 * `path`, and how many there are; NULL for none. The caller frees it.
 */
char *gt_pid_file_find(const char *path, size_t *count);
/*
 * The end of a message about `path`, which is not there: "; … wrote tracker_pid123.csv", or "". The
 * caller frees it.
 */
char *gt_pid_file_hint(const char *path);
