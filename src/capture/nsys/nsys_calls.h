/* SPDX-License-Identifier: MIT */
/*
 * nsys_calls.h - the CUDA calls of an export: in which one an event was made, and which failed.
 *
 * Calls are read in order of time beside the events, and kept only while they run: that needs no
 * index, and memory only for the calls in flight. An event belongs to the call of its process with
 * its correlation id that runs at that time. Old exports have no correlation ids: then it belongs
 * to the only call that runs at that time and allocates, or frees.
 */
#pragma once

#include "capture/nsys/nsys_names.h"

struct gt_nsys_calls;

enum gt_nsys_call_class { GT_NSYS_CALL_RUNTIME, GT_NSYS_CALL_DRIVER, GT_NSYS_CALL_BACKTRACE };

struct gt_nsys_call {
	int64_t start, end;
	uint64_t process;
	int64_t correlation; /* 0: none */
	int64_t chain, name; /* ids of a call chain and of the function's name */
	uint32_t tid;
	int32_t result;
	enum gt_nsys_call_class class;
	bool has_chain;
};

/* The calls that an event was made in; each may be NULL. */
struct gt_nsys_origin {
	/* valid until the next gt_nsys_calls_find */
	const struct gt_nsys_call *backtrace, *driver, *runtime;
};

/* The whole call: the runtime's holds the driver's. NULL: none. */
static inline const struct gt_nsys_call *gt_nsys_origin_whole(const struct gt_nsys_origin *origin)
{
	return origin->runtime ? origin->runtime :
	       origin->driver  ? origin->driver :
				 origin->backtrace;
}

/*
 * An export without a table of calls has no calls. `sorted`: SQLite sorts the rows; otherwise
 * reading fails with -EAGAIN at the first one that is out of order.
 */
int gt_nsys_calls_new(struct gt_nsys_calls **out, const struct gt_database *d,
		      struct gt_nsys_names *names, bool sorted, struct gt_error *error);
void gt_nsys_calls_free(struct gt_nsys_calls *calls);

/* The call of an event at `time`, which must never decrease. */
struct gt_nsys_wanted {
	uint64_t process;
	int64_t correlation, time; /* correlation 0: none */
	bool allocates;            /* otherwise it frees */
};
int gt_nsys_calls_find(struct gt_nsys_calls *calls, const struct gt_nsys_wanted *wanted,
		       struct gt_nsys_origin *origin, struct gt_error *error);

/*
 * The next failed call that began before `time`, in order of time: of a function that creates or
 * releases something, or because memory ran out. 1 and the call with its chain, 0 if there is none,
 * or -errno. The function's row is in `row`.
 */
int gt_nsys_calls_failed(struct gt_nsys_calls *calls, int64_t time, struct gt_nsys_call *call,
			 enum gt_function_id *row, struct gt_error *error);

/* When the last call that was read ended; INT64_MIN without calls. */
int64_t gt_nsys_calls_end(const struct gt_nsys_calls *calls);
/* How many calls were read. */
uint64_t gt_nsys_calls_count(const struct gt_nsys_calls *calls);
