/* SPDX-License-Identifier: MIT */
/* nsys_traces.h - the traces that an import writes, one for each process of the export. */
#pragma once

#include "base/mem.h"
#include "capture/nsys/nsys_profile.h"
#include "trace/writer.h"

struct gt_nsys_traces;

struct gt_nsys_trace {
	uint64_t process;     /* gt_nsys_process */
	uint32_t pid, number; /* number: counts from 0 */
	struct gt_writer *writer;
	struct gt_lane *lane;
	struct gt_lane *paging; /* of unified memory; NULL: none yet */
	uint32_t tid;           /* thread of the lane's last event */
	uint64_t places;        /* devices defined in the trace, a bit each */
};

/* All times are `base_ns` after the export's zero, which is `start_real_ns` of the wall clock. */
struct gt_nsys_traces *gt_nsys_traces_new(const char *folder, uint64_t base_ns,
					  uint64_t start_real_ns);
/* Ends all traces at `end_ns`. 0, or why one could not be written. */
int gt_nsys_traces_end(struct gt_nsys_traces *t, uint64_t end_ns, struct gt_error *error);
void gt_nsys_traces_free(struct gt_nsys_traces *t);
/* Writes the GPUs' capacities, and when they worked, as samples of the whole system. */
int gt_nsys_traces_devices(struct gt_nsys_traces *t, const struct gt_nsys_profile *profile,
			   const struct gt_database *d, struct gt_error *error);
/* Removes all files that were written. */
void gt_nsys_traces_remove(struct gt_nsys_traces *t);

/* 0, or -E2BIG at once: the rows of the table are those of more processes than can be imported. */
int gt_nsys_traces_fit(const struct gt_database *d, const char *table, struct gt_error *error);
/* The trace of a process, created if the process is new; *is_new says so. */
int gt_nsys_traces_get(struct gt_nsys_traces *t, uint64_t process, uint32_t pid,
		       struct gt_nsys_trace **trace, bool *is_new, struct gt_error *error);
uint32_t gt_nsys_traces_count(const struct gt_nsys_traces *t);

/* The place of a device, defined at its first use with the GPU's name; 0 for none. */
uint16_t gt_nsys_trace_place(struct gt_nsys_trace *trace, int64_t device, const char *name);
bool gt_nsys_trace_has_place(const struct gt_nsys_trace *trace, int64_t device);
/* Adds an event of a thread; 0: it is not known. */
void gt_nsys_trace_event(struct gt_nsys_trace *trace, uint32_t tid, const struct gt_event *event);
/* Adds paging; it has an order of time of its own. */
void gt_nsys_trace_paging(struct gt_nsys_trace *trace, const struct gt_paging *paging);
/* The only process of the export so far; NULL: there is none, or several. */
struct gt_nsys_trace *gt_nsys_traces_only(const struct gt_nsys_traces *t);
