/* SPDX-License-Identifier: MIT */
/* nsys_traces.h - the traces that an import writes, one for each process of the export. */
#pragma once

#include "base/mem.h"
#include "trace/writer.h"

struct gt_nsys_traces;

struct gt_nsys_trace {
	uint64_t process;     /* as the export tells processes apart */
	uint32_t pid, number; /* its number counts from 0 */
	struct gt_writer *writer;
	struct gt_lane *lane;
	uint32_t tid;    /* whose calls the lane is being told */
	uint64_t places; /* devices that have been named: a bit each */
};

/* Everything lies `base_ns` after the export's zero, which is `start_real_ns` by the wall clock. */
struct gt_nsys_traces *gt_nsys_traces_new(const char *folder, uint64_t base_ns,
					  uint64_t start_real_ns);
/* Ends all traces at this time. 0, or why one of them could not be written. */
int gt_nsys_traces_end(struct gt_nsys_traces *t, uint64_t end_ns, struct gt_error *error);
void gt_nsys_traces_free(struct gt_nsys_traces *t);

/* The trace of a process, begun where it is new; *fresh tells that. */
int gt_nsys_traces_get(struct gt_nsys_traces *t, uint64_t process, uint32_t pid,
		       struct gt_nsys_trace **trace, bool *fresh, struct gt_error *error);
uint32_t gt_nsys_traces_count(const struct gt_nsys_traces *t);

/* The place that stands for a device, named in the trace where it is new; 0 for none. */
uint16_t gt_nsys_trace_place(struct gt_nsys_trace *trace, int64_t device);
/* Adds an event of a thread; 0: the process's own. */
void gt_nsys_trace_event(struct gt_nsys_trace *trace, uint32_t tid, const struct gt_event *event);
