/* SPDX-License-Identifier: MIT */
/*
 * nsys_origins.h - the CUDA call that an event on memory was made in, and its stack.
 *
 * An event belongs to a call of its process with its correlation id that runs at the time. Calls
 * are read in order of time beside the events, and kept only while they run: no index is needed,
 * and memory is by the calls in flight.
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
	bool is_backtrace; /* `chain` is there; otherwise a call of the driver API */
};

/* What an event was made in; either may be NULL. */
struct gt_nsys_origin {
	const struct gt_nsys_call *backtrace, *driver; /* good until the next call of find */
};

/* Without a table of calls there is an empty one. */
int gt_nsys_calls_new(struct gt_nsys_calls **out, const struct gt_database *d,
		      struct gt_error *error);
void gt_nsys_calls_free(struct gt_nsys_calls *calls);

/* `time` never goes back. */
int gt_nsys_calls_find(struct gt_nsys_calls *calls, uint64_t process, int64_t correlation,
		       int64_t time, struct gt_nsys_origin *origin, struct gt_error *error);

/* When the last call ended; INT64_MIN for none. */
int64_t gt_nsys_calls_end(const struct gt_nsys_calls *calls);

struct gt_nsys_stacks;

/* What a stack can be, in the words of the analyses. */
enum gt_nsys_class { GT_NSYS_VALID, GT_NSYS_DRIVER, GT_NSYS_INVALID };

int gt_nsys_stacks_new(struct gt_nsys_stacks **out, const struct gt_database *d,
		       struct gt_error *error);
void gt_nsys_stacks_free(struct gt_nsys_stacks *s);

/*
 * The number that an origin has as a stack in a writer's trace: the whole call chain, or the name
 * of the driver's function alone, or 0. `trace` tells writers apart.
 */
int gt_nsys_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace,
		  const struct gt_nsys_origin *origin, uint32_t *stack, enum gt_nsys_class *class,
		  struct gt_error *error);

/* A string of the export; "" when there is none. Good until the next call. */
const char *gt_nsys_string(struct gt_nsys_stacks *s, int64_t id);
