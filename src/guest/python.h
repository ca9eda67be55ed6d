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

/* Call in a child after fork: numbers belong to another trace from now on. */
void gt_python_restart(void);

/*
 * python_layout.c: where one version of CPython keeps what we read, as offsets. From 3.13 on the
 * interpreter publishes them (_Py_DebugOffsets, at the start of _PyRuntime); older versions have a
 * table here.
 */
struct gt_python_layout {
	uint16_t frame;          /* in the thread state: the current frame, or what points to it */
	int16_t frame_in;        /* in the latter: the current frame; -1: it is the frame itself */
	uint16_t code, previous; /* in a frame */
	uint16_t instruction;    /* in a frame: a pointer into the code, or an index (up to 3.10) */
	uint16_t owner;          /* in a frame: who owns it; 0: this version does not say */
	/* in a code object; bytecode 0: `instruction` is an index */
	uint16_t file, name, lines, first_line, bytecode;
	uint16_t ascii, text; /* where the characters of a str begin: ASCII, other */
	uint8_t state_shift;  /* of the bits that encode a str's form */
	uint8_t minor;
};

/* False for an unknown version. `runtime` is the address of _PyRuntime, or NULL. */
bool gt_python_layout_of(struct gt_python_layout *layout, unsigned minor, const void *runtime);

/*
 * The line of an instruction; 0: none. `table` is the code's line table, `at` the instruction's
 * index in units of two bytes, negative before the first.
 */
uint32_t gt_python_line(const struct gt_python_layout *layout, const uint8_t *table, size_t size,
			uint32_t first_line, int64_t at);
