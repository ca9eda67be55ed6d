/* SPDX-License-Identifier: MIT */
/* process_text.h - what processes, their threads and devices are called. */
#pragma once

#include "base/json.h"
#include "trace/recording.h"

/* For those whose name is not known. */
#define GT_PROGRAM_UNKNOWN "(unknown program)"

/*
 * "demo"; "python3 train.py" where the program is an interpreter; "python3 (multiprocessing)" for
 * a worker that multiprocessing has spawned. "" where it is not known. The caller frees it.
 */
char *gt_process_name(const struct gt_process *process);
/* Its user, container and pod, each if it is known. */
void gt_process_user_json(struct gt_json *j, const struct gt_process *process);

/*
 * What stacks are a part of: "demo, pid 12", "thread 13 of demo, pid 12", the device's name.
 * `any_pid`: "demo", for all its processes. The caller frees it.
 */
char *gt_part_text(const struct gt_recording *r, enum gt_part_by by,
		   const struct gt_stack_part *part, bool any_pid);

/* By the letters of a file's name alone: python3.11 is an interpreter, libpython3.11.so is one. */
bool gt_is_interpreter(const char *path);
