/* SPDX-License-Identifier: MIT */
/* regular.h - files of a recording's folder, where others may have put something else. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

/* NULL where there is no regular file of at most `most` bytes: a pipe is not waited for. */
FILE *gt_regular_open(const char *path, off_t most);
