/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* python_records.h - what the BPF programs and the tool exchange about Python: integers, and bytes.
 */
#pragma once

#include "calls.h"
#ifdef __BPF__
typedef __s16 int16_t;
#endif
#include "base/python_layout.h"

enum {
	GT_PROBE_PYTHONS = 16384,      /* processes whose Python is known, at most */
	GT_PROBE_PYTHON_ENTRIES = 128, /* functions of Pythons that are known before they run */
	GT_PROBE_CODES = 16384,        /* code objects that are known to have been sent */
	GT_PROBE_LINES = 1024,         /* bytes of a line table in a record, … */
	GT_PROBE_LONG_LINES = 32768,   /* … and in a long one */
};

/* The interpreter of a process: addresses in it, and the layout of its version. */
struct gt_probe_python {
	uint64_t runtime, code_type;
	/* in a thread's control block: pointers to blocks of its specific data (glibc) */
	int32_t specific;                 /* from the thread pointer on */
	uint32_t frame_bytes, code_bytes; /* how much is read of a frame, of a code object */
	struct gt_python_layout layout;
};

/* A function that Python runs when it starts: its address in the file, as those of `python` are. */
struct gt_probe_python_entry {
	uint64_t function;
	struct gt_probe_python python;
};

enum gt_probe_python_kind { GT_PYTHON_STACK, GT_PYTHON_CODE };

/* Records of Python, on the ring of calls: where a call has the time it began, these have 0. */
struct gt_probe_python_head {
	uint64_t zero, start;
	uint64_t time_ns; /* when it was made, for the order between rings; 0: there is only one */
	uint32_t pid, tid, exec;
	uint32_t kind; /* enum gt_probe_python_kind */
};

/* A place in Python code. The identity tells two objects apart that had the same address. */
struct gt_probe_python_frame {
	uint64_t code, instruction, identity;
};

/*
 * The Python stack of the call that began at `begun_ns`; the call is the thread's next record.
 * Its frames follow, the innermost first.
 */
struct gt_probe_python_stack {
	struct gt_probe_python_head head;
	uint64_t begun_ns;
	uint64_t count;
};

/* A str: what it says of itself, and its last bytes. */
struct gt_probe_python_str {
	uint64_t length;
	uint32_t state;
	uint32_t kept; /* bytes */
	uint8_t raw[GT_PYTHON_TEXT];
};

/*
 * The texts of a code object, sent before the first stack that leads through it. Its line table
 * follows.
 */
struct gt_probe_python_code {
	struct gt_probe_python_head head;
	uint64_t code, identity;
	uint32_t first_line;
	uint32_t unread; /* 1: a part could not be read: it was never touched, or is too long */
	struct gt_probe_python_str file, name;
	uint64_t line_bytes;
};

/*
 * What tells a code object from others that had its address: its words, up to where its line table
 * is, in which 3.12 has a number of its own. Before that, texts that a program makes as it runs may
 * have the same addresses again and again: then what they contain counts as well.
 */
enum {
	GT_PYTHON_FRAME_WORDS = 16,
	GT_PYTHON_CODE_WORDS = 18,
	GT_PYTHON_NUMBERED = 12, /* the first version whose code objects have numbers */
};

static inline uint64_t gt_probe_python_words(const uint64_t *words, uint8_t minor)
{
	uint64_t sum = 0;

	/* the first are a reference count and a type */
	for (unsigned i = 2; i < GT_PYTHON_CODE_WORDS; i++)
		/* 3.11 counts in word 6 how often it runs */
		sum += (i == 6 && minor == 11 ? 0 : words[i]) * (0x9e3779b97f4a7c15ull + 2 * i * i);
	return sum ^ sum >> 32;
}
