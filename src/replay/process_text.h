/* SPDX-License-Identifier: MIT */
/* process_text.h - what a process is called. */
#pragma once

#include "trace/recording.h"

/* For those whose name is not known. */
#define GT_PROGRAM_UNKNOWN "(unknown program)"

/*
 * "demo"; "python3 train.py" where the program is an interpreter; "python3 (multiprocessing)" for
 * a worker that multiprocessing has spawned. "" where it is not known. The caller frees it.
 */
char *gt_process_name(const struct gt_process *process);

/* By the letters of a file's name alone: python3.11 is an interpreter, libpython3.11.so is one. */
bool gt_is_interpreter(const char *path);
