/* SPDX-License-Identifier: MIT */
/*
 * python.h - the calling thread's Python frames, read without the GIL.
 *
 * Only a thread itself changes its frames, so it can read them while another thread runs Python:
 * no reference is counted, no function of Python is called but the one that gives the thread's
 * state. Nothing is linked; a process without Python costs a look-up a second. CPython 3.8 and
 * later, 64-bit, with a GIL; where anything looks odd there are no frames.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

/* The number under which a trace knows a frame's text; 0: it cannot be had. */
typedef uint64_t gt_python_number_fn(const struct gt_text_frame *frame);

/*
 * Puts the Python frames in the place of the interpreter's own: `frames` holds `count` native ones,
 * innermost first, and has room for `most`. What is native inside of Python stays in front. Gives
 * the new count; the same when there is no Python here.
 */
size_t gt_python_merge(uint64_t *frames, size_t count, size_t most, gt_python_number_fn *number,
		       uint64_t now_ns);

/* Numbers are another trace's from now on: a child after fork. */
void gt_python_restart(void);
