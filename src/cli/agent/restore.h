/* SPDX-License-Identifier: MIT */
/*
 * restore.h - what processes held when an earlier agent ended, from its last recording.
 *
 * An agent that is started again would know only what is allocated from then on. The last recording
 * of the ring has what was alive before, with its stacks; calls that were made while no agent ran
 * are missing.
 */
#pragma once

#include "replay/frames.h"

struct gt_agent;
struct gt_traced;

/* In stacks of events: the rest is a stack's number in the earlier recording. */
#define GT_RESTORED ((uint32_t)1 << 31)

static inline bool gt_stack_is_restored(uint32_t stack)
{
	return stack != UINT32_MAX && stack & GT_RESTORED;
}

/* A process has made its first call: the board gets what it held before. */
void gt_agent_restore(struct gt_agent *a, struct gt_traced *process);
/*
 * For the process that finds names: the frames of restored stacks of a process, and what they hang
 * on; NULL if they cannot be read. Not freed: the process ends.
 */
struct gt_frames *gt_agent_restored_frames(const struct gt_agent *a, uint32_t pid);
