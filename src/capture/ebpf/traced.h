/* SPDX-License-Identifier: MIT */
/* traced.h - traced processes: the trace of each, its threads' lanes, its stacks; and their set. */
#pragma once

#include "capture/ebpf/tracer.h"

struct gt_replica;

void gt_traced_free(struct gt_traced *p);

/* Sets the program's name from /proc, or to `thread` if the process has ended. */
void gt_traced_name(struct gt_traced *p, const char *thread);
/* Where traces are written, and how large they may get together. */
struct gt_traced_place {
	const char *folder;
	uint64_t max_bytes;   /* 0: no limit */
	uint32_t stack_depth; /* frames kept of a stack, noted in the trace */
	_Atomic uint64_t taken;
};
/* Opens the trace in the folder and describes the process in it. The place must outlive it. */
int gt_traced_open(struct gt_traced *p, struct gt_traced_place *place);
/* Describes the process in a trace that somebody else writes, and how it ended. */
void gt_traced_describe(const struct gt_traced *p, struct gt_writer *w, uint32_t stack_depth);
void gt_traced_describe_end(const struct gt_traced *p, struct gt_writer *w);
/* Records how it ended; `status` as from waitpid. */
void gt_traced_exit(struct gt_traced *p, int status);
/* Records that it continued when tracing ended. */
void gt_traced_let_go(struct gt_traced *p);
/* Records that it became another program, with the same pid. */
void gt_traced_exec(struct gt_traced *p);
/* Records that it may have made calls before. */
void gt_traced_late(struct gt_traced *p);
void gt_traced_lose(struct gt_traced *p, const struct gt_probe_losses *lost);

void gt_traced_thread(struct gt_traced *p, uint32_t tid, const char *name);
/* True when the thread is known; calls that it made may still arrive. */
bool gt_traced_thread_end(struct gt_traced *p, uint32_t tid);
/* Call when all calls have arrived: releases the lanes of ended threads. */
void gt_traced_end_threads(struct gt_traced *p);
bool gt_traced_has_thread(const struct gt_traced *p, uint32_t tid);
/* The lane of a thread; NULL when nothing is recorded. */
struct gt_lane *gt_traced_lane(struct gt_traced *p, uint32_t tid);

/* Records the totals of a report as samples, now and then: what was there before is in them. */
void gt_traced_pool(struct gt_traced *p, struct gt_lane *lane, const struct gt_pool_report *report,
		    uint64_t time_ns);

/* Records a call in which the process has ended. */
void gt_traced_enter(struct gt_traced *p, const struct gt_event *call, const uint64_t *argv,
		     uint32_t count);

/* Passes the events of a call of a thread to the trace and the listener. */
void gt_traced_events(struct gt_traced *p, struct gt_replica *replica, uint32_t tid,
		      const struct gt_listener *listener);

/* Reads the mappings again if something was mapped since. */
void gt_traced_refresh(struct gt_traced *p, struct gt_images *images);
/* Reads them again, unless it was a moment ago; false then. After gt_traced_refresh. */
bool gt_traced_look_again(struct gt_traced *p);
/*
 * How many of the frames found by frame pointers are valid. Where code has no frame pointers, the
 * kernel takes other words for return addresses, and what follows them is random. The first frame
 * is the probe's.
 */
size_t gt_traced_stack_trim(struct gt_traced *p, struct gt_images *images, const uint64_t *frames,
			    size_t count);
/* The number of a stack; 0 for none. */
uint32_t gt_traced_stack_number(struct gt_traced *p, struct gt_images *images,
				const uint64_t *frames, size_t count);

enum { GT_TRACED_BUCKETS = 1024 };

/*
 * The traced processes. Zeroed is initialised. The hash table is its own because processes are
 * removed and because several share a pid: before and after exec, or when it is reused.
 */
struct gt_traced_set {
	struct gt_traced *buckets[GT_TRACED_BUCKETS]; /* by pid */
	size_t count;
	size_t over; /* how many of them have ended */
};

/* NULL: there is none. */
struct gt_traced *gt_traced_set_find(const struct gt_traced_set *f, uint32_t pid, uint64_t start,
				     uint32_t exec);
/* Any process with that pid. */
struct gt_traced *gt_traced_set_by_pid(const struct gt_traced_set *f, uint32_t pid);
struct gt_traced *gt_traced_set_add(struct gt_traced_set *f, uint32_t pid, uint64_t start,
				    uint32_t exec);
/* The process has ended, but calls that it made may still arrive. */
void gt_traced_set_over(struct gt_traced_set *f, struct gt_traced *p,
			const struct gt_probe_losses *lost);
/* Removes it; the caller frees it. */
void gt_traced_set_remove(struct gt_traced_set *f, struct gt_traced *p);
/* Iterates: the first process for NULL; NULL after the last. */
struct gt_traced *gt_traced_set_next(const struct gt_traced_set *f, const struct gt_traced *p);
