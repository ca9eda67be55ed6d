/* SPDX-License-Identifier: MIT */
/* own_stack.h - the calling thread's stack as return addresses. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Frames from the one that `caller` returns into, outwards: our own are left out. At most `most`
 * (which is at most GT_STACK_FRAMES_MAX). Safe in signal handlers; takes no lock of ours.
 */
size_t gt_unwind(uint64_t *frames, size_t most, const void *caller, uint64_t now_ns);

/* Takes the memory that the calling thread's stacks will need. */
void gt_unwind_warm(void);

/* Code was unloaded: what is known of old addresses is no longer true. */
void gt_unwind_flush(void);
