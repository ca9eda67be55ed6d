/* process.h - what to call a process. */
#pragma once

#include "trace/recording.h"

/*
 * "demo"; "python3 train.py" where the program is an interpreter; "python3 (multiprocessing)" for
 * a worker that multiprocessing has spawned. The caller frees it.
 */
char *gt_process_name(const struct gt_process *process);
