/* SPDX-License-Identifier: MIT */
/*
 * python.h - the calling thread's Python frames, read without the GIL.
 *
 * Only a thread itself changes its frames, so it can read them while another thread runs Python: we
 * count no references, and call no function of Python but the one that returns the thread state.
 * Nothing is linked; a process without Python costs one look-up a second. Supports CPython 3.8 and
 * later, 64-bit, with a GIL; anything unexpected gives no frames.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/layout.h"

/* Defines a frame in the trace and returns its number; 0 if that fails. */
typedef uint64_t gt_python_number_fn(const struct gt_text_frame *frame);

/*
 * Replaces the interpreter's native frames with Python's. `frames` holds `count` native frames,
 * innermost first, and has room for `most`; native frames that Python called stay in front. Returns
 * the new count, or `count` where there is no Python.
 */
size_t gt_python_merge(uint64_t *frames, size_t count, size_t most, gt_python_number_fn *number,
		       uint64_t now_ns);

/* Reads the calling thread's Python frames, at most `most`, and returns how many there are. */
size_t gt_python_read(uint64_t *frames, size_t most, gt_python_number_fn *number, uint64_t now_ns);

/* Call in a child after fork: numbers belong to another trace from now on. */
void gt_python_restart(void);
