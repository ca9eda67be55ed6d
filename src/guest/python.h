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

#include <stdbool.h>
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

/*
 * python_layout.c: where one version of CPython keeps what we read, as offsets. From 3.13 on the
 * interpreter publishes them (_Py_DebugOffsets, at the start of _PyRuntime); older versions have a
 * table here.
 */
struct gt_python_layout {
	uint16_t frame;          /* in the thread state: the current frame, or a pointer to it */
	int16_t frame_in;        /* in that: the current frame; -1: it is the frame itself */
	uint16_t code, previous; /* in a frame */
	uint16_t instruction;    /* in a frame: a pointer into the code, or a number (to 3.10) */
	uint16_t owner;          /* in a frame: who it belongs to; 0: not told */
	/* in a code object; bytecode 0: no pointer */
	uint16_t file, name, lines, first_line, bytecode;
	uint16_t ascii, text; /* where the characters of a str begin: ASCII, others */
	uint8_t state_shift;  /* of the bits that tell a str's form */
	uint8_t minor;
};

/* False when this version is not known. `runtime` is the address of _PyRuntime, or NULL. */
bool gt_python_layout_of(struct gt_python_layout *layout, unsigned minor, const void *runtime);

/*
 * The line of an instruction. `table` is the code's line table, `at` the instruction's number in
 * units of two bytes, < 0 for before the first. 0: it has none.
 */
uint32_t gt_python_line(const struct gt_python_layout *layout, const uint8_t *table, size_t size,
			uint32_t first_line, int64_t at);
