/* SPDX-License-Identifier: MIT */
/*
 * python_layout.h - where each version of CPython keeps its frames and their texts.
 *
 * Two readers share this: the recorder, in its own process, and attach, from outside. From 3.13 on
 * the interpreter publishes its offsets (_Py_DebugOffsets, at the start of _PyRuntime); older
 * versions have a row in a table here. 64-bit builds with a GIL only.
 */
#pragma once

#include <stdbool.h>
#ifndef __BPF__ /* which has these types from elsewhere */
#include <stddef.h>
#include <stdint.h>
#endif

enum {
	GT_PYTHON_FIRST = 8, /* minor versions of Python 3 that are known */
	GT_PYTHON_LAST = 14,
	GT_PYTHON_NO_CODE = 3,     /* from this owner on, a frame is the interpreter's own (3.12) */
	GT_PYTHON_TEXT = 512,      /* bytes of a text, with its end */
	GT_PYTHON_LINES = 1 << 20, /* a line table of more bytes is not believed */
	GT_PYTHON_PUBLISHED = 64,  /* words at the start of _PyRuntime that hold offsets */
};

/* Offsets in bytes. */
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
	/* in _PyRuntime: the key of the thread states; 0: unknown */
	uint16_t key;
	/*
	 * The list of thread states, which 3.13 publishes: in _PyRuntime, in an interpreter, in a
	 * thread state; 0: unknown.
	 */
	uint16_t interpreters, thread_status, thread_previous, thread_next, thread_id;
	uint32_t next_interpreter, threads;
};

/*
 * What tells the texts of a code object from others that had their addresses: code that a program
 * makes as it runs is freed, and the next may get the same addresses for all its parts.
 */
struct gt_python_marks {
	uint64_t file_hash, name_hash; /* which a str keeps */
	uint64_t lines[5];             /* of the line table: size, hash, first bytes */
};

enum {
	GT_PYTHON_STR_HASH = 24,   /* where a str keeps it, */
	GT_PYTHON_BYTES_SIZE = 16, /* and bytes their size, before their hash, */
	GT_PYTHON_BYTES = 32,      /* and what they contain */
};

/* A number for the marks; what lies beyond the line table is ignored. */
static inline uint64_t gt_python_content(const struct gt_python_marks *marks)
{
	uint64_t sum = marks->file_hash * 0xbf58476d1ce4e5b9u + marks->name_hash;
	uint64_t size = marks->lines[0];

	sum += size * 0x94d049bb133111ebu;
	/* its hash, lines[1], is unknown until somebody asks for it */
	for (unsigned i = 0; i < 3; i++) {
		uint64_t left = size < 8 * i ? 0 : size - 8 * i, word = marks->lines[2 + i];

		if (left < 8)
			word &= ((uint64_t)1 << 8 * left) - 1;
		sum += word * (0x9e3779b97f4a7c15u + 2 * i * i);
	}
	return sum ^ sum >> 29;
}

#ifndef __BPF__
/* False for an unknown version. `runtime` is the start of _PyRuntime, or NULL. */
bool gt_python_layout_of(struct gt_python_layout *layout, unsigned minor, const void *runtime);

/* The index of an instruction in its code, in units of two bytes (3.8, 3.9: of one). */
int64_t gt_python_index(const struct gt_python_layout *layout, uint64_t code, uint64_t instruction);

/*
 * The line of an instruction; 0: none. `table` is the code's line table, `at` the instruction's
 * index, negative before the first.
 */
uint32_t gt_python_line(const struct gt_python_layout *layout, const uint8_t *table, size_t size,
			uint32_t first_line, int64_t at);

/* What a str says of itself, after the 16 bytes that all objects begin with. */
struct gt_python_str {
	uint64_t length, hash;
	uint32_t state;
};

/* The characters of a str that are kept: its last ones, as a path ends in the name of its file. */
struct gt_python_text {
	uint64_t at;
	uint32_t count, width;
};

/* False if it is no str that we can read. */
bool gt_python_text_of(const struct gt_python_layout *layout, struct gt_python_text *text,
		       uint64_t object, const struct gt_python_str *str);
/* `raw` is what lies there: `count` characters of `width` bytes. */
void gt_python_utf8(char out[GT_PYTHON_TEXT], const struct gt_python_text *text,
		    const uint8_t *raw);

/*
 * Replaces the interpreter's native frames with Python's. `frames` holds `count` native frames,
 * innermost first, and has room for `most`; those that Python called, up to the first in the
 * interpreter's code from `begin` to `end`, stay in front. Returns the new count.
 */
size_t gt_python_splice(uint64_t *frames, size_t count, size_t most, const uint64_t *python,
			size_t python_count, uint64_t begin, uint64_t end);
#endif
