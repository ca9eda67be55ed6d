/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* calls.h - what the BPF programs and the tool say to each other. Plain words only. */
#pragma once

#ifdef __BPF__
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
#else
#include <stdint.h>
#endif

enum {
	GT_PROBE_ROWS = 1024, /* rows of the function table at most */
	GT_PROBE_WORDS = 8,   /* arguments of a call that are kept */
	GT_PROBE_COPIES = 8,  /* words that arguments point to */
	GT_PROBE_EFFECTS = 4, /* effects of one call */
	GT_PROBE_ARRAY = 128, /* handles of an array, less one; what is beyond counts as lost */
	GT_PROBE_FRAMES = 127,
	GT_PROBE_DEPTH = 4,   /* calls of one thread within each other */
	GT_PROBE_NONE = 0xff, /* in place of an index: there is none */
	GT_PROBE_STACK_MAX = 65536,
};

/* One word of memory that the interpreter will look at. */
struct gt_probe_copy {
	uint8_t word;         /* the argument (index of `words`) that points to it */
	uint8_t offset, size; /* 4 or 8 bytes */
};

/* What is to be kept of a call: made from its row of the function table. */
struct gt_probe_row {
	uint8_t words;                    /* how many arguments are kept */
	uint8_t where[GT_PROBE_WORDS];    /* 0 … 5: a register; from 6 on: words above the return
					   * address */
	uint8_t effects;                  /* how many; 0: not a row to be probed */
	uint8_t handle[GT_PROBE_EFFECTS]; /* word without which the effect does not happen */
	uint8_t unless[GT_PROBE_EFFECTS]; /* word with which it does not */
	uint8_t copies;
	struct gt_probe_copy copy[GT_PROBE_COPIES]; /* read when the call has returned */
	uint8_t array, array_count; /* words: an array of handles, and how many, or where */
	uint8_t array_after;        /* 1: filled in by the call, its number too */
	uint8_t array_room;         /* word: how many at most, where that pointer is NULL */
};

/* A call that has returned. After it: the array's handles, then the stack. */
struct gt_probe_call {
	uint64_t begun_ns, ended_ns, ret;
	uint64_t start;          /* of the process, in ns since boot */
	uint32_t pid, tid, exec; /* exec: how often the process has become another program */
	uint32_t array_count;    /* handles that the call was about */
	uint16_t row;
	uint16_t array;       /* … of which so many follow */
	uint16_t frames;      /* addresses that follow, or 0 */
	uint16_t unread;      /* a bit for each copy that could not be read */
	uint32_t stack_bytes; /* bytes of the stack that follow instead, after `registers` */
	uint32_t unused;
	uint64_t words[GT_PROBE_WORDS], copies[GT_PROBE_COPIES];
};

/* What an unwinder starts from, in the order of x86-64's DWARF numbers, then the address. */
enum { GT_PROBE_REGISTERS = 17 };

struct gt_probe_stack {
	uint64_t registers[GT_PROBE_REGISTERS];
};

enum gt_probe_news { GT_NEWS_THREAD, GT_NEWS_FORK, GT_NEWS_EXEC, GT_NEWS_THREAD_END, GT_NEWS_END };

/* What happened to a process: on a ring of its own, so that calls cannot crowd it out. */
struct gt_probe_event {
	uint64_t time_ns, start;
	uint32_t news;           /* enum gt_probe_news */
	uint32_t pid, tid, exec; /* of the child, for a fork */
	uint32_t parent;
	int exit_code; /* as waitpid has it */
	uint64_t lost; /* calls of the process that were not handed over, at its end */
	char name[16]; /* of the thread */
};

struct gt_probe_target {
	uint64_t lost; /* calls that were not handed over */
};
