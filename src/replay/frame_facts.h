/* SPDX-License-Identifier: MIT */
/*
 * frame_facts.h - what the rules of places and of plumbing ask of a frame, as flags and hashes.
 *
 * Programs have few frames and many stacks: struct gt_frames finds the facts of a recorded address
 * once, and the place of a stack is chosen by them, without a name.
 */
#pragma once

#include "replay/own.h"
#include "symbol/symbol.h"
#include "trace/recording.h"

enum {
	GT_FRAME_NAMED = 1 << 0, /* it has a function */
	GT_FRAME_OWN = 1 << 1,
	GT_FRAME_CXX = 1 << 2,         /* a function of the C++ library */
	GT_FRAME_INTERPRETER = 1 << 3, /* its module is one */
	GT_FRAME_LIBRARY = 1 << 4, /* its module is one worth naming, if no function has a name */
	GT_FRAME_JIT = 1 << 5,
	GT_FRAME_PROGRAM = 1 << 6, /* its module is a program that was recorded, or unknown */
	/* plumbing */
	GT_FRAME_INNER = 1 << 7, /* between the program's call and us */
	GT_FRAME_OUTER = 1 << 8, /* starts a program or a thread */
	GT_FRAME_LIBC = 1 << 9,
	GT_FRAME_CALL = 1 << 10, /* a function of CUDA's API */
	GT_FRAME_MAIN = 1 << 11,
	GT_FRAME_RUST = 1 << 12,      /* what Rust's main calls, which its compiler makes */
	GT_FRAME_MADE_MAIN = 1 << 13, /* main without lines, as that one is */
	GT_FRAME_BORDER = 1 << 14,    /* frames of another thread follow (GT_BACKWARD_BORDER) */
};

/* Hashes of words: equal in every recording. */
struct gt_frame_facts {
	uint64_t words; /* as a place says the frame: function, file, line */
	uint64_t name;  /* the function alone */
	uint64_t site;  /* for judge/site_key.h: function, the file's name; else the module's */
	uint32_t via; /* on the way to the API: the function's last parts, else the module's name */
	uint32_t module; /* 0: unknown */
	uint32_t flags;
};

/* All facts of a frame. */
struct gt_frame_facts gt_frame_facts_of(struct gt_own *own, const struct gt_frame *frame);
/* The flags of plumbing alone. */
uint32_t gt_frame_plumbing(const struct gt_frame *frame);

/* Mixes a number, or a word (NULL: none), into a hash. */
uint64_t gt_facts_add(uint64_t hash, uint64_t number);
uint64_t gt_facts_add_word(uint64_t hash, const char *word);

/*
 * The frames of a stack without plumbing: from `first` up to `end`, but `call` in place of `first`.
 * A stack of nothing but plumbing stays whole. `keep_call`: the API's own frame stays, as nothing
 * else names the call.
 */
struct gt_fold {
	size_t first, end, call;
};
struct gt_fold gt_frame_fold(const struct gt_frame_facts *frames, size_t count, bool keep_call);

/*
 * The outermost frames of a stack, if they may be those of the C library that start a program or a
 * thread, which gt_frame_fold takes away: their names need not be looked for. The C library's debug
 * information, where it is installed, takes longer to read than all else of a small report.
 */
struct gt_stack_start {
	size_t first; /* they start main if main is before it; the number of frames: there are none
		       */
	bool is_thread; /* they start a thread, whatever is before them: start_thread, clone3 */
};
struct gt_stack_start gt_stack_start(const struct gt_recording *r, uint32_t stack,
				     const uint32_t *numbers, size_t count);

/* Frames of another thread follow: GT_BACKWARD_BORDER. */
bool gt_frame_is_border(const struct gt_frame *frame);
bool gt_frame_is_python(const struct gt_frame *frame);
/* What a place says of a frame on the way to the API; the caller frees it. */
char *gt_frame_via(const struct gt_frame *frame);
