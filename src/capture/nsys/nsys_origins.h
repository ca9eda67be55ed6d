/* SPDX-License-Identifier: MIT */
/*
 * nsys_origins.h - the CUDA call that an event on memory was made in, and its stack.
 *
 * An event belongs to the call of its process with its correlation id that runs at that time. Calls
 * are read in order of time beside the events, and kept only while they run: that needs no index,
 * and memory only for the calls in flight.
 */
#pragma once

#include "capture/nsys/database.h"
#include "trace/writer.h"

struct gt_nsys_calls;

struct gt_nsys_call {
	int64_t start, end;
	uint64_t process;
	int64_t correlation;
	int64_t chain, name; /* ids of a call chain and of the function's name */
	uint32_t tid;
	bool is_backtrace; /* has a `chain`; otherwise it is a call of the driver API */
};

/* The calls that an event was made in; either may be NULL. */
struct gt_nsys_origin {
	const struct gt_nsys_call *backtrace, *driver; /* valid until the next gt_nsys_calls_find */
};

/* An export without a table of calls has no calls. */
int gt_nsys_calls_new(struct gt_nsys_calls **out, const struct gt_database *d,
		      struct gt_error *error);
void gt_nsys_calls_free(struct gt_nsys_calls *calls);

/* `time` must never decrease. */
int gt_nsys_calls_find(struct gt_nsys_calls *calls, uint64_t process, int64_t correlation,
		       int64_t time, struct gt_nsys_origin *origin, struct gt_error *error);

/* When the last call ended; INT64_MIN without calls. */
int64_t gt_nsys_calls_end(const struct gt_nsys_calls *calls);

struct gt_nsys_stacks;

/* How much a stack says, in the words of the analyses. */
enum gt_nsys_class { GT_NSYS_VALID, GT_NSYS_DRIVER, GT_NSYS_INVALID };

int gt_nsys_stacks_new(struct gt_nsys_stacks **out, const struct gt_database *d,
		       struct gt_error *error);
void gt_nsys_stacks_free(struct gt_nsys_stacks *s);

/*
 * The stack of an origin in a writer's trace: the whole call chain, or just the name of the
 * driver's function, or 0. `trace` identifies the writer.
 */
int gt_nsys_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace,
		  const struct gt_nsys_origin *origin, uint32_t *stack, enum gt_nsys_class *class,
		  struct gt_error *error);
