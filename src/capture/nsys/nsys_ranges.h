/* SPDX-License-Identifier: MIT */
/*
 * nsys_ranges.h - the NVTX ranges of an export: in which phase an event was made.
 *
 * Ranges are read in order of time beside the events, and kept only while they are open. Ranges
 * started and ended (rather than pushed and popped) are those of the whole process: they lie around
 * the thread's own, in the order in which they started.
 */
#pragma once

#include "capture/nsys/nsys_names.h"
#include "capture/nsys/nsys_traces.h"

struct gt_nsys_ranges;

/*
 * An export without a table of ranges has none. `sorted`: SQLite sorts the rows; otherwise reading
 * fails with -EAGAIN at the first one that is out of order.
 */
int gt_nsys_ranges_new(struct gt_nsys_ranges **out, const struct gt_database *d,
		       struct gt_nsys_names *names, bool sorted, struct gt_error *error);
void gt_nsys_ranges_free(struct gt_nsys_ranges *r);

/* A thread at a moment; `time` must never decrease. */
struct gt_nsys_moment {
	uint64_t process;
	uint32_t tid; /* 0: unknown */
	int64_t time;
};

/* The number of its phase in the trace of its process; 0: none. */
int gt_nsys_ranges_phase(struct gt_nsys_ranges *r, const struct gt_nsys_moment *moment,
			 struct gt_nsys_trace *trace, uint32_t *phase, struct gt_error *error);
/* Its phase in words, "train > forward"; "" for none. Good until the next call. */
int gt_nsys_ranges_text(struct gt_nsys_ranges *r, const struct gt_nsys_moment *moment,
			const char **text, struct gt_error *error);
/* How many ranges have been read. */
uint64_t gt_nsys_ranges_count(const struct gt_nsys_ranges *r);
