/* SPDX-License-Identifier: MIT */
/*
 * writer.h - writes a trace so that kill -9 at any moment loses nothing that was written.
 *
 * Records go straight into a shared mapping of the file, whose room is reserved beforehand: a full
 * disk is an error code here, never a signal. Each thread writes to a lane of its own without a
 * lock; only new blocks and new definitions take one. Runs in the traced process: nothing here
 * exits, prints, or fails loudly; what cannot be written is counted in the file.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "trace/layout.h"

struct gt_writer;
struct gt_lane;

struct gt_writer_options {
	uint32_t pid, ppid;
	uint64_t start_ns, start_real_ns; /* of what was recorded elsewhere; 0: now */
	uint64_t until_ns;                /* later events are not written (-ETIME); 0: all are */
	uint64_t max_bytes;               /* no more room is taken than this (-EFBIG); 0: any */
	/* Room that all writers under the limit have taken, in shared memory; NULL: this alone. */
	_Atomic uint64_t *taken;
	/* Called before a new stack is defined, so that its modules can be. May be NULL. */
	void (*modules)(struct gt_writer *w, void *context);
	/* Called once, when writing has to stop; gets the error code. May be NULL. */
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

/* Creates the file `path` (which must not exist). */
int gt_writer_open(struct gt_writer **out, const char *path,
		   const struct gt_writer_options *options);
/*
 * Creates the trace of `options->pid` in the folder of a recording: <pid>.trace, or <pid>-2.trace
 * and so on where there is one already: exec keeps the pid, and numbers come round again.
 */
int gt_writer_open_in(struct gt_writer **out, const char *folder,
		      const struct gt_writer_options *options);
/* Marks the trace as ended and trims it. Lanes may go on writing until the process is gone. */
void gt_writer_end(struct gt_writer *w);
/* The same for what was recorded elsewhere, and ended at that time. */
void gt_writer_end_at(struct gt_writer *w, uint64_t end_ns);
/* Unmaps and frees; no other thread may use it any more. Changes nothing in the file. */
void gt_writer_free(struct gt_writer *w);
/* In a child after fork: lets go of the parent's file without touching it. */
void gt_writer_abandon(struct gt_writer *w);

void gt_writer_info(struct gt_writer *w, const char *key, const void *value, size_t size);
/* For the modules callback alone: numbers count from 0 in the order of the calls. */
void gt_writer_module(struct gt_writer *w, uint32_t number, const struct gt_module *module);
void gt_writer_unload(struct gt_writer *w, uint32_t number);
void gt_writer_place(struct gt_writer *w, uint16_t number, enum gt_api api, const char *name);
/* What the program calls the resource that is created under this handle at that very time. */
void gt_writer_name(struct gt_writer *w, uint64_t time_ns, uint64_t handle, const char *name);
/* The stack's number, the same for the same frames; 0 when it cannot be had. */
uint32_t gt_writer_stack(struct gt_writer *w, const uint64_t *frames, size_t count);
/*
 * Stands for the frame in gt_writer_stack's array: the same for the same text, whatever may have
 * been forgotten meanwhile; 0 when it cannot be had. Long texts are cut.
 */
uint64_t gt_writer_text_frame(struct gt_writer *w, const struct gt_text_frame *frame);
/* The series' number, the same for the same text, from 1; 0 when it cannot be had. */
uint16_t gt_writer_series(struct gt_writer *w, const struct gt_series *series);
/* Forgets all stacks' numbers given so far: the same addresses may now mean other code. */
void gt_writer_forget_stacks(struct gt_writer *w);

/* A lane for the calling thread; NULL when there is none to be had. */
struct gt_lane *gt_lane_acquire(struct gt_writer *w, uint32_t tid, const char *thread_name);
void gt_lane_release(struct gt_lane *lane);
/* Writes an event, or counts it as lost. */
void gt_lane_event(struct gt_lane *lane, const struct gt_event *event);
/* Writes a sample, or counts it as lost. */
void gt_lane_sample(struct gt_lane *lane, uint16_t series, uint64_t time_ns, int64_t value);
/*
 * Notes a call that is about to be made, and that it has returned. `call` tells calls apart: an
 * address on the caller's stack.
 */
void gt_lane_enter(struct gt_lane *lane, const struct gt_event *event, const void *call);
void gt_lane_leave(struct gt_lane *lane, const void *call);

void gt_writer_lose(struct gt_writer *w, uint64_t events);
