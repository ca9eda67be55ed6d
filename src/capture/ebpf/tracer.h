/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - from the BPF programs' records to traces: one writer for each process followed.
 *
 * A process is known by its number, its start and how often it has become another program, so a
 * number that is used again is another process.
 */
#pragma once

#include "capture/ebpf/inferred.h"
#include "capture/ebpf/libraries.h"
#include "capture/ebpf/modules.h"
#include "trace/stacks.h"

struct gt_tracer;

/* A process that is followed. */
struct gt_traced {
	uint32_t pid, parent, exec;
	uint64_t start;    /* ns since boot */
	uint64_t first_ns; /* of what was recorded of it */
	char name[64];     /* of the program, without its folder */
	struct gt_modules modules;
	struct gt_contexts contexts;
	struct gt_writer *writer; /* NULL: it has made no call yet, or nothing is recorded */
	uint64_t lost;            /* calls that were not handed over or not understood */
	bool is_known;            /* its name and its modules have been looked at */
	bool is_seen;             /* it has made a call */
	bool is_over;             /* it has ended, or become another program */
	bool has_exited;          /* it has ended, with `exit_code` as waitpid has it */
	int exit_code;
	uint16_t number; /* the listener's own */

	struct gt_traced_lane *lanes; /* tracer's own, like the rest */
	size_t lane_count, lane_room;
	uint64_t *frames; /* of the stacks that have a number, one after another */
	size_t frame_count, frame_room;
	size_t *stacks; /* by number - 1: where its frames begin */
	size_t stack_count, stack_room;
	struct gt_stacks numbers; /* where there is no writer that gives them */
	uint64_t lost_at_end;     /* calls that the kernel counted as lost */
	const uint64_t *defining; /* frames of the stack that is being given a number */
	size_t defining_count;
	struct gt_images *images;
	uint64_t looked_ns; /* when modules were looked at */
	bool has_moved;     /* … and one was no longer where it was */
	struct gt_traced *next;
};

/* Who wants to know while it happens. Any member may be NULL. */
struct gt_listener {
	void (*began)(void *context, struct gt_traced *process);
	void (*event)(void *context, struct gt_traced *process, const struct gt_event *event);
	void (*ended)(void *context, struct gt_traced *process);
	void *context;
};

struct gt_tracer_options {
	struct gt_probes_options probes;
	struct gt_listener listener;
	uint64_t max_bytes; /* that all traces may take together; 0: any */
};

int gt_tracer_new(struct gt_tracer **out, const struct gt_tracer_options *options,
		  struct gt_error *error);
/* Ends all traces and detaches. */
void gt_tracer_free(struct gt_tracer *t);

struct gt_libraries *gt_tracer_libraries(struct gt_tracer *t);

/* Records into this folder from here on; without it nothing is recorded. Borrowed. */
void gt_tracer_record(struct gt_tracer *t, const char *folder);
/* Why a process could not be recorded; 0: all could. */
int gt_tracer_error(const struct gt_tracer *t);

/* Follows a process, and its children. */
int gt_tracer_follow(struct gt_tracer *t, uint32_t pid, struct gt_error *error);
/* Everything that the kernel has collected so far, into traces and to the listener. */
void gt_tracer_drain(struct gt_tracer *t);
/* Waits until something is worth draining, or until the time is over. */
void gt_tracer_wait(struct gt_tracer *t, unsigned milliseconds);
/* Nothing more is taken; what was taken is drained. */
void gt_tracer_stop(struct gt_tracer *t);

/* Processes asked for or found that have not ended. */
size_t gt_tracer_running(const struct gt_tracer *t);
uint64_t gt_tracer_lost(const struct gt_tracer *t);
/* Calls of whose stack only a part is known: see gt_traced_stack_trim. */
uint64_t gt_tracer_cut_stacks(const struct gt_tracer *t);

/* The frames of a stack of a process that has not ended; borrowed until the next event. */
size_t gt_traced_stack(const struct gt_traced *p, uint32_t stack, const uint64_t **frames);
