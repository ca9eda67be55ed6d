/* SPDX-License-Identifier: MIT */
/* tool.h - programs by what is typed: this one in the hints that users copy, others on PATH. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* At the start: the first word of the command line, borrowed for good. */
void gt_tool_called(const char *word);
/*
 * "gputrack" where that is this program when it is typed; else the word it was called by
 * ("build/gputrack"), as long as a shell takes it without quotes.
 */
const char *gt_tool_name(void);

/*
 * Where a shell would find a program that is typed by its bare name: the first on PATH that can be
 * run. False when there is none.
 */
bool gt_tool_search(const char *name, char *path, size_t size);
