/* SPDX-License-Identifier: MIT */
/*
 * nsys_calls.h - the call of the CUDA API that an event on memory was made in.
 *
 * An event belongs to a call of its process with its correlation id that runs at the time. Calls
 * are read in order of time beside the events, and kept only while they run: no index is needed,
 * and memory is by the calls in flight.
 */
#pragma once

#include "capture/nsys/database.h"

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
