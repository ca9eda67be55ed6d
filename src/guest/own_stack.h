/* SPDX-License-Identifier: MIT */
/* own_stack.h - the calling thread's stack as return addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Return addresses from `caller` outwards, without our own frames; at most `most`, which is at most
 * GT_STACK_FRAMES_MAX. They lie in memory of the thread, with space for `most`, until its next
 * call. 0: there is no memory. Safe in signal handlers, but for those that interrupt it; takes no
 * lock of ours.
 */
size_t gt_unwind(uint64_t **frames, size_t most, const void *caller);

/* More memory of the thread, for whoever works on these frames; NULL: there is none. */
uint64_t *gt_unwind_spare(size_t *room);

/*
 * True in a signal handler, and wherever it cannot be told because a frame's caller is not found
 * for certain (code without unwind tables) or there are too many.
 */
bool gt_stack_is_interrupted(void);

/* Before the first of these calls: what would take more of the stack there. */
void gt_unwind_start(void);

/* Allocates what the calling thread's stacks will need. */
void gt_unwind_warm(void);

/* Call when code was unloaded: forgets what is cached by address. */
void gt_unwind_flush(void);
