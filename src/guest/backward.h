/* SPDX-License-Identifier: MIT */
/*
 * backward.h - Python's lines for the threads that PyTorch's backward pass runs on.
 *
 * Autograd computes gradients on threads of its own, which run no Python, while the thread that
 * called backward waits. That thread's Python frames are read when it enters the engine; the stacks
 * of the engine's threads end in them, below a frame that says so. Several threads may call
 * backward at once, and nothing tells for which of them an engine's thread works: stacks get frames
 * only where all of these are the same.
 */
#pragma once

#include "guest/guest.h"

/* The calling thread enters the engine; `caller` is the address that this returns to. May nest. */
GT_EXPORT void gt_backward_begin(const void *caller);
/* It has left it, by a return or an exception. */
GT_EXPORT void gt_backward_end(void);

/*
 * The calling thread is one of the engine's: `caller` is the address that the function returns to
 * whose caller is of no interest. NULL: it is no longer.
 */
GT_EXPORT void gt_backward_worker(const void *caller);

/*
 * Gives the stack of an engine's thread the frames of the call that it works for. `frames` holds
 * `count` frames, innermost first, Python's included, and has room for `most`. Returns the new
 * count.
 */
size_t gt_backward_merge(uint64_t *frames, size_t count, size_t most);

/* Call in a child after fork. */
void gt_backward_restart(void);
