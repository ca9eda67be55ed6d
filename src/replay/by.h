/* SPDX-License-Identifier: MIT */
/*
 * by.h - the ways to group: the words of --by.
 *
 * Views group stacks by the key of their place (replay/place.h), which heeds the way. To group by
 * process, thread, device or phase, the recording parts its stacks (gt_recording_part_stacks); a
 * part is a stack with the same frames, and its place is the process, thread, device or phase.
 */
#pragma once

#include "trace/recording.h"

/* A word, what one group and several are called, and what stacks are parted by. */
/* clang-format off */
#define GT_WAYS(WAY)                                                                               \
	WAY(LINE, "line", "call site", "call sites", NONE) /* the same functions and lines */      \
	WAY(FUNCTION, "function", "function", "functions", NONE)                                   \
	WAY(FILE, "file", "file", "files", NONE)                                                   \
	WAY(MODULE, "module", "module", "modules", NONE)                                           \
	WAY(STACK, "stack", "stack", "stacks", NONE) /* the same addresses */                      \
	WAY(PROCESS, "process", "process", "processes", PROCESS)                                   \
	WAY(THREAD, "thread", "thread", "threads", THREAD)                                         \
	WAY(DEVICE, "device", "device", "devices", DEVICE)                                         \
	WAY(PHASE, "phase", "phase", "phases", PHASE) /* the ranges around the call */
/* clang-format on */

#define WAY(name, word, one, many, part) GT_BY_##name,
enum gt_by { GT_WAYS(WAY) GT_BY_COUNT };
#undef WAY

/* The words, in the order of enum gt_by; ended by NULL. */
extern const char *const gt_by_names[];
/* "call sites", "process": what so many groups are called. */
const char *gt_by_noun(enum gt_by by, uint64_t count);
/* What stacks are to be parted by. */
enum gt_part_by gt_by_part(enum gt_by by);
/* True for groups of code: stacks stay whole. */
bool gt_by_code(enum gt_by by);
/* True when the place of a whole stack has a line and callers. */
bool gt_by_line(enum gt_by by);
