/* SPDX-License-Identifier: MIT */
/*
 * writer.h - writes a trace so that kill -9 at any moment loses nothing that was written.
 *
 * Records go straight into a shared mapping of the file, whose space is reserved beforehand: a full
 * disk is an error code here, never a signal. Each thread writes to its own lane without a lock;
 * only new blocks and new definitions take one. This runs in the traced process: nothing here
 * exits, prints or raises, and events that cannot be written are counted in the file.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "trace/layout.h"
#include "trace/paging.h"

struct gt_writer;
struct gt_lane;
struct gt_room;

struct gt_writer_options {
	uint32_t pid, ppid;
	bool read_only; /* nobody else may write to the file, not even its owner */
	uint64_t start_ns, start_real_ns; /* of an import; 0: now */
	uint64_t until_ns;    /* writing stops at the first later event (-ETIME); 0: never */
	uint64_t max_bytes;   /* limit of the reserved space (-EFBIG); 0: none */
	uint64_t first_bytes; /* reserved at first, if there is space; 0: as little as ever */
	/* Space reserved by all writers under the limit: of this process, or of the recording; both
	 * NULL: only this. */
	_Atomic uint64_t *taken;
	struct gt_room *room;
	/* Somebody else cuts the reserved space off when the process has ended: gt_trace_trim. */
	bool leaves_tail;
	/*
	 * Asked whenever more of the file is mapped: does the process survive a store that fails?
	 * NULL: no.
	 */
	bool (*is_guarded)(void);
	/* Called before a new stack is defined, to define its modules first. May be NULL. */
	void (*modules)(struct gt_writer *w, void *context);
	/* Called once, with the error code, when writing has to stop. May be NULL. */
	void (*stopped)(struct gt_writer *w, void *context, int error);
	void *context;
};

struct gt_module {
	uint64_t start, size, bias; /* where it is mapped; bias: address - ELF virtual address */
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
	uint64_t file_size;
	int64_t mtime_ns;
};

/* The name of its file, without the folder. */
const char *gt_writer_name_of(const struct gt_writer *w);
/* Creates the file `path` (which must not exist). */
int gt_writer_open(struct gt_writer **out, const char *path,
		   const struct gt_writer_options *options);
/*
 * Creates the trace of `options->pid` in the folder of a recording: <pid>.trace, or <pid>-2.trace
 * and so on if that exists, because exec keeps the pid and the kernel reuses pids.
 */
int gt_writer_open_in(struct gt_writer **out, const char *folder,
		      const struct gt_writer_options *options);
/*
 * Looks whether a store has failed (-ESTALE if the file has become shorter, else -EIO), or a copy
 * of an earlier state lies over the file (-ESTALE). If so, writing stops and nothing of it is
 * touched again. `lane` is the calling thread's, or NULL. False if it must not be written to. Makes
 * no system call, unless it stops or options.is_guarded says no: then it is gt_writer_check_file.
 */
bool gt_writer_check(struct gt_writer *w, const struct gt_lane *lane);
/* The same; and looks at the file, so that a thread that would not survive a store need not try. */
bool gt_writer_check_file(struct gt_writer *w, const struct gt_lane *lane);
/* Corrects the start that an import gave in the options: it knows better now. */
void gt_writer_start_at(struct gt_writer *w, uint64_t start_ns, uint64_t start_real_ns);
/* Marks the trace as ended and trims it. Lanes may still write until the process is gone. */
void gt_writer_end(struct gt_writer *w);
/* The same for an import that ended at `end_ns`. */
void gt_writer_end_at(struct gt_writer *w, uint64_t end_ns);
/* Unmaps and frees; no other thread may use the writer. Does not change the file. */
void gt_writer_free(struct gt_writer *w);
/* In a child after fork: unmaps and closes the parent's file without changing it. */
void gt_writer_abandon(struct gt_writer *w);

void gt_writer_info(struct gt_writer *w, const char *key, const void *value, size_t size);
/* Only for the modules callback: numbers count from 0 in the order of the calls. */
void gt_writer_module(struct gt_writer *w, uint32_t number, const struct gt_module *module);
void gt_writer_unload(struct gt_writer *w, uint32_t number);
void gt_writer_place(struct gt_writer *w, uint16_t number, enum gt_api api, const char *name);
/* The program's name for the resource created under `handle` at exactly `time_ns`. */
void gt_writer_name(struct gt_writer *w, uint64_t time_ns, uint64_t handle, const char *name);
/* The number of a stack, the same for equal frames; 0 if it cannot be written. */
uint32_t gt_writer_stack(struct gt_writer *w, const uint64_t *frames, size_t count);
/* The same for a stack that the caller knows to be new, and whose number it keeps. */
uint32_t gt_writer_new_stack(struct gt_writer *w, const uint64_t *frames, size_t count);
/* An event is written without its stack. */
void gt_writer_lose_stack(struct gt_writer *w);
/*
 * A number that stands for the frame in gt_writer_stack's array; 0 if it cannot be written. Equal
 * texts have the same number, also after gt_writer_forget_stacks. Long texts are cut.
 */
uint64_t gt_writer_text_frame(struct gt_writer *w, const struct gt_text_frame *frame);
/* The number of a series, from 1, the same for equal texts; 0 if it cannot be written. */
uint16_t gt_writer_series(struct gt_writer *w, const struct gt_series *series);
/*
 * The number of a phase: a range within the phase `parent`, 0 for none. The same for equal texts,
 * also after gt_writer_forget_stacks; 0 if it cannot be written.
 */
uint32_t gt_writer_phase(struct gt_writer *w, uint32_t parent, const struct gt_range *range);
/* Forgets the numbers of all stacks: the same addresses may now mean other code. */
void gt_writer_forget_stacks(struct gt_writer *w);

/* A lane for the calling thread; NULL if writing has stopped or memory is out. */
struct gt_lane *gt_lane_acquire(struct gt_writer *w, uint32_t tid, const char *thread_name);
/* Its thread has ended; another one may get the lane. */
void gt_lane_release(struct gt_lane *lane);
/* Writes an event, or counts it as lost. */
void gt_lane_event(struct gt_lane *lane, const struct gt_event *event);
/* Writes a sample, or counts it as lost. */
void gt_lane_sample(struct gt_lane *lane, uint16_t series, uint64_t time_ns, int64_t value);
/* Likewise what became of pages of unified memory. */
void gt_lane_paging(struct gt_lane *lane, const struct gt_paging *paging);
/* The number of some GPU work, from 1, the same for equal texts; 0 if it cannot be written. */
uint32_t gt_writer_work(struct gt_writer *w, const struct gt_work *work);
/*
 * Writes what the work with this number and kind names.
 * Work that cannot be written is not counted as a lost event: the next that can says how many.
 */
void gt_lane_touch(struct gt_lane *lane, uint32_t work, enum gt_work_kind kind, uint64_t time_ns,
		   const struct gt_naming *named);
void gt_writer_lose_touch(struct gt_writer *w);
/* At the end: says how many were lost since. */
void gt_lane_end_touches(struct gt_lane *lane);
/*
 * Marks a call as unfinished before it is made, and unmarks it when it has returned. `call`, an
 * address on the caller's stack, identifies the call. `argv` holds its first `count` arguments.
 */
void gt_lane_enter(struct gt_lane *lane, const struct gt_event *event, const uint64_t *argv,
		   uint32_t count, const void *call);
void gt_lane_leave(struct gt_lane *lane, const void *call);
/*
 * gt_lane_enter without a clock, a lock or a system call, for a call that will have no event: its
 * time is that of the thread's last event, its stack is its caller alone (NULL: none), its handle
 * is found in its arguments. False until gt_lane_learn has been called with this function and
 * caller.
 */
bool gt_lane_announce(struct gt_lane *lane, uint16_t function, const uint64_t *argv,
		      const void *caller, const void *call);
void gt_lane_learn(struct gt_lane *lane, uint16_t function, const void *caller);

/* Counts events as lost: now, or from the first moment to the last. */
void gt_writer_lose(struct gt_writer *w, uint64_t events);
void gt_writer_lose_between(struct gt_writer *w, uint64_t events, uint64_t first_ns,
			    uint64_t last_ns);
