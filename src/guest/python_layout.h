/* SPDX-License-Identifier: MIT */
/*
 * python_layout.h - where CPython keeps what we read: offsets of one version.
 *
 * From 3.13 on the interpreter publishes them (_Py_DebugOffsets, at the start of _PyRuntime); for
 * older ones there is a table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
