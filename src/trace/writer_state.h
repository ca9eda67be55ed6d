/* SPDX-License-Identifier: MIT */
/* writer_state.h - what writer.c and records.c share: the open trace and its lanes. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/guest_file.h"
#include "trace/layout.h"
#include "trace/origin.h"
#include "trace/stacks.h"
#include "trace/window.h"
#include "trace/writer.h"

/* Nested unfinished calls that are remembered: a release whose callback releases, and so on. */
enum { GT_CALLS_MAX = 4, GT_CALLERS_MAX = 32 };

/* An unfinished call. What is known of the innermost lies in the block, not here. */
struct gt_lane_call {
	const void *call;
	struct gt_trace_inflight what;
	struct gt_trace_arguments arguments;
};

/* A caller that the lane has met, and the number of the stack that is this address alone. */
struct gt_known_caller {
	uint64_t address;
	uint32_t stack, generation;
};

struct gt_lane {
	struct gt_writer *writer;
	struct gt_block_header *block;   /* NULL until the first record, and when writing stopped */
	struct gt_window *window;        /* where it lies */
	uint32_t block_size;             /* not read from the block: gt_writer_check */
	uint8_t *at, *limit;             /* the arguments of a call in flight lie at the limit */
	uint64_t time_ns, handle, owner; /* of the record before */
	uint32_t tid, number, sequence;
	uint32_t phase;      /* as the block has it for its next event */
	uint32_t call_count; /* unfinished, outermost first */
	struct gt_lane_call calls[GT_CALLS_MAX];
	struct gt_known_caller callers[GT_CALLERS_MAX];
	struct gt_touch_memory touched; /* of this block, */
	struct gt_origins origins;      /* too */
	struct gt_lane *next;           /* all lanes of the writer */
	struct gt_lane *next_free;
};

struct gt_writer {
	struct gt_writer_options options;
	char *path;
	_Atomic int fd;
	struct gt_file_id id;
	struct gt_trace_header *header;
	_Atomic int error;             /* why writing stopped */
	_Atomic bool is_lost;          /* the file is not ours any more: no block may be touched */
	_Atomic bool is_guarded;       /* the process survives a store that fails, */
	_Atomic bool has_failed;       /* which has happened */
	_Atomic uint64_t taken;        /* reserved space, if options.taken is NULL */
	_Atomic uint64_t touches_lost; /* since the last that was written */

	pthread_mutex_t space_lock; /* guards the next seven */
	uint64_t end;               /* of the last block */
	_Atomic uint64_t reserved;  /* end of the space reserved in the file, all of it mapped */
	struct gt_window *windows;  /* the newest first: new blocks lie there, */
	uint64_t window_from;       /* which begins here in the file */
	struct gt_lane *lanes, *free_lanes;
	uint32_t lane_count;

	pthread_mutex_t definitions_lock; /* guards the rest; taken before `space_lock` */
	struct gt_lane definitions;
	struct gt_stacks stacks;
	struct gt_stacks texts; /* text frames, series and phases, by their texts */
	uint32_t stacks_defined, functions_defined, text_frames_defined, series_defined;
	uint32_t phases_defined;
	uint32_t works_defined;
	_Atomic uint32_t functions[GT_FN_COUNT]; /* row -> number in this trace */
	_Atomic uint32_t generation;   /* of the stacks' numbers: gt_writer_forget_stacks */
	uint8_t record[GT_RECORD_MAX]; /* a definition in the making: stacks may be small */
};

static inline bool gt_writer_is_lost(const struct gt_writer *w)
{
	return atomic_load_explicit(&w->is_lost, memory_order_acquire);
}

/* Replaces a lane's full block with a new one. 0, or -EIO when writing has stopped. */
int gt_block_open(struct gt_lane *lane);

/* The number of a function in this trace, defined at its first use; 0 if that fails. */
uint32_t gt_writer_function(struct gt_writer *w, uint16_t function);

/* Says the phase of a call in flight, if the block has room for it. */
void gt_lane_phase(struct gt_lane *lane, uint32_t phase);

/* Takes the innermost unfinished call out of the block, before another is written there. */
void gt_lane_save_call(struct gt_lane *lane);
/* Writes the innermost unfinished call into the block. */
void gt_lane_publish_call(struct gt_lane *lane);

/* Stops all writing; the first error counts. */
void gt_writer_stop(struct gt_writer *w, int error);
