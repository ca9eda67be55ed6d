/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* calls.h - the records that BPF programs and the tool exchange: plain integers only. */
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
	GT_PROBE_ASKED = 1000,      /* rows of the function table are below; from here on: questions
				     * whose answers the tool needs, + enum gt_probe_asked */
	GT_PROBE_PLATFORMS = 8,     /* of OpenCL, that are told apart */
	GT_PROBE_ROWS = 1024,       /* rows of the function table at most; beyond: functions that
				     * register callbacks, then … */
	GT_PROBE_CONTEXTS = 1536,   /* … those that change the current context, the low
				     * three bits are enum gt_probe_current; then … */
	GT_PROBE_TAP_OPENED = 1792, /* … the functions of guest/tap.h; then … */
	GT_PROBE_TAP_CALL = 1793,
	GT_PROBE_TAP_BEGIN = 1794,
	GT_PROBE_PYTHON = 2048, /* … those that show that a program starts Python */
	GT_PROBE_WORDS = 8,     /* arguments of a call that are kept */
	GT_PROBE_COPIES = 8,    /* words that arguments point to */
	GT_PROBE_EFFECTS = 4,   /* effects of one call */
	GT_PROBE_ARRAY = 128,   /* handles of an array, plus one; those beyond count as lost */
	GT_PROBE_FRAMES = 127,
	GT_PROBE_OWN = 12,      /* frames of a recorder, at most */
	GT_PROBE_DEPTH = 4,     /* nested calls of one thread */
	GT_PROBE_CURRENT = 8,   /* contexts of one thread, the current one on top */
	GT_PROBE_NONE = 0xff,   /* in place of an index: there is none */
	GT_PROBE_BEHIND = 0x40, /* in `where`: the word is behind the pointer that is there */
	GT_PROBE_STACK_MAX = 65536,
	GT_PROBE_RINGS = 16, /* of calls, at most: a power of two */
	GT_PROBE_SLOTS = 16, /* that processors count in: a power of two */
};

/* How the BPF programs' unwinding of a stack ended. From GT_WALK_STRANGE on, the tool knows more.
 */
enum gt_walk_end {
	GT_WALK_NOT,     /* not unwound by tables */
	GT_WALK_WHOLE,   /* at the outermost frame, or as many frames as wanted */
	GT_WALK_CUT,     /* no way leads on */
	GT_WALK_STRANGE, /* at an address that is not known to be code */
	GT_WALK_ROWS,    /* in code whose rows are not there */
	GT_WALK_RULE,    /* at a rule that only the tool can apply */
	GT_WALK_SPACE,   /* nothing is known about the process */
};

/* What a successful call does to the contexts of its thread (CUDA), of which the last is current.
 */
enum gt_probe_current {
	GT_CURRENT_SAME,
	GT_CURRENT_SET,  /* replaces the last one, or removes it: the argument is 0 */
	GT_CURRENT_PUSH, /* the argument, or the new context, becomes the last one */
	GT_CURRENT_POP,  /* removes the last one */
	GT_CURRENT_END,  /* removes the last one if it is the argument */
};

/* Calls that are recorded for the tool alone. */
enum gt_probe_asked {
	GT_ASKED_PLATFORMS,     /* clGetPlatformIDs; the array has the platforms' drivers */
	GT_ASKED_PLATFORM_NAME, /* clGetPlatformInfo; the copies are the answer */
	GT_ASKED_DEVICES,       /* zeDeviceGet; the array has them */
	GT_ASKED_SUB_DEVICES,   /* zeDeviceGetSubDevices, likewise */
	GT_ASKED_DEVICE_NAME,   /* zeDeviceGetProperties; the copies are type and name */
	GT_ASKED_COUNT
};

/* One word of memory that event/call.c will read. */
struct gt_probe_copy {
	uint8_t word;         /* the argument (index of `words`) that points to it */
	uint8_t offset, size; /* 4 or 8 bytes */
};

/* What is recorded of a call, derived from its row of the function table. */
struct gt_probe_row {
	uint8_t words;                     /* number of arguments kept */
	uint8_t where[GT_PROBE_WORDS];     /* below GT_PROBE_ARGUMENTS: register; above: that word
					    * of the call's on the stack; | GT_PROBE_BEHIND */
	uint8_t effects;                   /* their number; 0: the row is not probed */
	uint8_t handle[GT_PROBE_EFFECTS];  /* word that must not be 0 for the effect to happen */
	uint8_t unless[GT_PROBE_EFFECTS];  /* word that must be 0, */
	uint8_t only_if[GT_PROBE_EFFECTS]; /* or, where this is 1, must not be */
	uint8_t copies;
	struct gt_probe_copy copy[GT_PROBE_COPIES]; /* read when the call has returned */
	uint8_t array,
		array_count;   /* words: an array of handles, and its length or a pointer to it */
	uint8_t array_after;   /* 1: the call fills in both */
	uint8_t array_room;    /* word: the limit, used where the pointer to the length is NULL */
	uint8_t may_call_back; /* 1: it ends an object, and may run a destructor callback */
	uint8_t current;       /* enum gt_probe_current */
	uint8_t driver;        /* word + 1: an object of OpenCL whose driver is wanted;
				* GT_PROBE_NONE: it is the result; 0: none is */
	uint8_t door;          /* a bit: under this API's loader a door of ours may lie; or 0 */
};

/* A call that has returned, or will not. After it: the array's handles, then the stack. */
struct gt_probe_call {
	uint64_t begun_ns, ended_ns, ret;
	uint64_t start;          /* of the process, in ns since boot */
	uint32_t pid, tid, exec; /* exec: number of exec calls so far */
	uint32_t array_count;    /* handles that the call concerns */
	uint16_t row;
	uint16_t array;       /* how many of them follow */
	uint16_t frames;      /* addresses that follow, or 0 */
	uint16_t unread;      /* a bit for each copy that could not be read */
	uint32_t stack_bytes; /* bytes of the stack that follow instead, after `registers` */
	uint16_t unfinished;  /* its process ended in it: no array, and its caller as the stack */
	uint8_t has_copy;     /* struct gt_probe_stack and bytes of the stack follow */
	uint8_t walk;         /* enum gt_walk_end */
	uint64_t current;     /* the thread's current context (CUDA) after it, or what the driver
			       * of an object is known by (OpenCL); 0: unknown */
	uint64_t from;        /* the stack begins with a recorder's own frames: those before this */
	uint64_t words[GT_PROBE_WORDS], copies[GT_PROBE_COPIES];
};

/*
 * Registers that pass arguments; those where unwinding starts, in the order of DWARF's numbers,
 * with the address in place of what holds the return address; where the interrupted ones are in the
 * kernel's frame of a signal, from the stack pointer on.
 */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
enum { GT_PROBE_ARGUMENTS = 8, GT_PROBE_REGISTERS = 32 };
enum { GT_SIGNAL_FP = 544, GT_SIGNAL_LINK = 552, GT_SIGNAL_SP = 560, GT_SIGNAL_PC = 568 };
#else
enum { GT_PROBE_ARGUMENTS = 6, GT_PROBE_REGISTERS = 17 };
enum { GT_SIGNAL_FP = 120, GT_SIGNAL_LINK = 0, GT_SIGNAL_SP = 160, GT_SIGNAL_PC = 168 };
#endif
enum { GT_PROBE_OTHERS = 32 };

/* Before a copy of a stack. */
struct gt_probe_stack {
	uint64_t registers[GT_PROBE_REGISTERS];
	/* if the frame pointer leads to another stack, which is not copied: return addresses there
	 */
	uint64_t others[GT_PROBE_OTHERS], other_count;
};

/* Calls that did not fit into the ring, and when: the first and the last. */
struct gt_probe_losses {
	uint64_t count, first_ns, last_ns;
};

/*
 * What processors write as they make records. Each has a cache line of its own, as far as there are
 * slots: on one that all write, they would wait for each other.
 */
struct gt_probe_slot {
	uint64_t lost;                /* calls of all processes that did not fit */
	struct gt_probe_losses stray; /* of these, those of processes that are no targets */
	uint64_t woken_ns;    /* when the tool was last woken because much is waiting, … */
	uint64_t copied_ns;   /* … and because of a copy of a stack */
	uint64_t all_full_ns; /* when a search found no ring with room, … */
	uint64_t all_half_ns; /* … and none with room for a copy */
} __attribute__((aligned(64)));

/* Calls of a process that were lost, by slot. */
struct gt_probe_lost {
	struct {
		struct gt_probe_losses losses;
		uint64_t unused[5];
	} slots[GT_PROBE_SLOTS];
};

/* Adds what one slot has counted. */
static inline void gt_probe_losses_add(struct gt_probe_losses *sum,
				       const struct gt_probe_losses *one)
{
	if (!one->count)
		return;
	if (!sum->count || one->first_ns < sum->first_ns)
		sum->first_ns = one->first_ns;
	if (one->last_ns > sum->last_ns)
		sum->last_ns = one->last_ns;
	sum->count += one->count;
}

enum gt_probe_news { GT_NEWS_THREAD, GT_NEWS_FORK, GT_NEWS_EXEC, GT_NEWS_THREAD_END, GT_NEWS_END };

/* News of a process, on a ring of its own, so that calls cannot crowd it out. */
struct gt_probe_event {
	uint64_t time_ns, start;
	uint32_t news;           /* enum gt_probe_news */
	uint32_t pid, tid, exec; /* of the child, for a fork */
	uint32_t parent;
	int exit_code;    /* as from waitpid */
	char name[16];    /* of the thread */
	char program[16]; /* of the process: the name of its first thread */
	uint32_t uid;     /* of a thread that has made its first call */
	char host[64];    /* likewise: the name of its host, as it sees it */
	uint32_t parent_exec;
	uint64_t parent_start;
	/* at its end, and at exec: calls of the program that were lost */
	struct gt_probe_losses lost;
};

struct gt_probe_target {
	uint32_t has_callbacks; /* 1: it has registered destructor callbacks */
	uint32_t is_ignored;    /* 1: the tool does not want its calls */
	uint32_t doors;         /* APIs whose calls end in gt_tap_call */
};
