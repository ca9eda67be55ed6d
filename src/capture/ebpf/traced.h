/* SPDX-License-Identifier: MIT */
/* traced.h - traced processes: the trace of each, its threads' lanes, its stacks; and their set. */
#pragma once

#include "capture/ebpf/tracer.h"

void gt_traced_free(struct gt_traced *p);

/* The program's name as /proc has it; `thread` where it is gone. */
void gt_traced_name(struct gt_traced *p, const char *thread);
/* Where traces go, and how much room they may take together. */
struct gt_traced_place {
	const char *folder;
	uint64_t max_bytes;   /* 0: any */
	uint32_t stack_depth; /* frames that are kept of a stack, for traces to say */
	_Atomic uint64_t taken;
};
/* Opens its trace in the folder, and says whose it is. 0 or -errno. The place must outlive it. */
int gt_traced_open(struct gt_traced *p, struct gt_traced_place *place);
/* How it ended, as waitpid has it. */
void gt_traced_exit(struct gt_traced *p, int status);
/* It goes on without us. */
void gt_traced_let_go(struct gt_traced *p);
void gt_traced_lose(struct gt_traced *p, uint64_t events);

void gt_traced_thread(struct gt_traced *p, uint32_t tid, const char *name);
/* True when it is one that is known; what it made of calls may still come in. */
bool gt_traced_thread_end(struct gt_traced *p, uint32_t tid);
/* When all calls are in: gives back what threads had that have ended. */
void gt_traced_end_threads(struct gt_traced *p);
bool gt_traced_has_thread(const struct gt_traced *p, uint32_t tid);
/* The lane of a thread; NULL when there is none to be had. */
struct gt_lane *gt_traced_lane(struct gt_traced *p, uint32_t tid);

/* Looks again what is mapped where, if something was mapped since. */
void gt_traced_refresh(struct gt_traced *p, struct gt_images *images);
/*
 * How many of the frames that frame pointers led to are a stack: code that has none makes the
 * kernel take other words for callers, and what follows them is chance. The first is the probe's.
 */
size_t gt_traced_stack_trim(struct gt_traced *p, struct gt_images *images, const uint64_t *frames,
			    size_t count);
/* The number of a stack; 0 for none. */
uint32_t gt_traced_stack_number(struct gt_traced *p, struct gt_images *images,
				const uint64_t *frames, size_t count);

enum { GT_TRACED_BUCKETS = 1024 };

/* The traced processes, by their numbers. Zeroed is initialised. */
struct gt_traced_set {
	struct gt_traced *buckets[GT_TRACED_BUCKETS]; /* by pid */
	size_t count;
	size_t over; /* of them: have ended, and are not yet let go */
};

/* NULL: there is none. */
struct gt_traced *gt_traced_set_find(const struct gt_traced_set *f, uint32_t pid, uint64_t start,
				     uint32_t exec);
/* Any process under that number. */
struct gt_traced *gt_traced_set_by_pid(const struct gt_traced_set *f, uint32_t pid);
struct gt_traced *gt_traced_set_add(struct gt_traced_set *f, uint32_t pid, uint64_t start,
				    uint32_t exec);
/* The process is gone, but calls that it made may still be on their way. */
void gt_traced_set_over(struct gt_traced_set *f, struct gt_traced *p, uint64_t lost);
/* Takes it out; it is the caller's then. */
void gt_traced_set_remove(struct gt_traced_set *f, struct gt_traced *p);
/* One after the other, the first after NULL; NULL after the last. */
struct gt_traced *gt_traced_set_next(const struct gt_traced_set *f, const struct gt_traced *p);
