/* SPDX-License-Identifier: MIT */
/*
 * read_tracker.h - reads the resource tracker's CSV, ours or the original's, for its charts.
 *
 * The file is read as a stream, in memory that does not grow with the rows. A damaged row (too few
 * or too many fields, a word in place of a number, truncated) is left out and counted.
 */
#pragma once

#include "plot/averages.h"
#include "plot/read_rows.h"
#include "plot/trail.h"

/* Columns that are drawn over time as they are. */
enum gt_tracker_curve {
	GT_CURVE_RSS,
	GT_CURVE_SIZE,
	GT_CURVE_DATA,
	GT_CURVE_CONTEXTS,
	GT_CURVE_QUEUES,
	GT_CURVE_MODULES,
	GT_CURVE_KERNELS,
	GT_CURVE_POOLS,
	GT_CURVE_LISTS,
	GT_CURVE_EVENTS,
	GT_CURVE_FENCES,
	GT_CURVE_IMAGES,
	GT_CURVE_SAMPLERS,
	GT_CURVE_MEMORY,
	GT_CURVE_THREADS,
	GT_CURVE_COUNT,
};

/*
 * How the file tells what a call itself left in the process, apart from what the program allocated
 * between two calls.
 */
enum gt_leak_basis {
	/* the column Residue_KB: driver residue, as the tracker measured it around each call */
	GT_BASIS_RESIDUE,
	/* deltas that differ from the change since the previous row: measured around each call */
	GT_BASIS_CALL,
	/* deltas since the previous row, which include the program's own memory: cannot be told */
	GT_BASIS_NONE,
};

struct gt_call_stats {
	char *name;
	bool ends; /* it destroys what another function creates */
	uint64_t count, leaks;
	double delta_kb; /* sum over its calls */
	double leak_kb;
	uint64_t rises; /* see below */
	double rise_kb;
	struct gt_trail impact; /* the sum of deltas over the whole time, ms */
};

struct gt_tracker_table {
	struct gt_trail curves[GT_CURVE_COUNT]; /* over ms; no point: the file has no such column */
	struct gt_averages averages[GT_CURVE_COUNT];
	struct gt_trail deltas;      /* KB of VmRSS, over the number of the call */
	struct gt_trail size_deltas; /* of VmSize, where it changed */
	struct gt_trail leaks;       /* KB of each leaking call and their sum so far, over ms */
	struct gt_trail leaked;      /* that sum over the whole time */
	struct gt_trail moments;     /* KB of all that leaked in one ms: times are whole ms */
	struct gt_call_stats *calls; /* by name, in order of first use */
	size_t call_count, call_room;
	struct gt_intern *names;

	bool is_levelzero; /* it has Level Zero calls: resources get Level Zero's names */
	double threshold_kb;
	uint64_t rows, bad_rows, bad_line; /* line of the first bad one */
	uint64_t unsigned_falls;           /* deltas whose sign the original tracker lost */
	enum gt_leak_basis basis;
	double residue_kb; /* driver residue in all; -1: the file does not tell */
	/* leaks by the rule below; none where it cannot be told */
	uint64_t leak_events;
	double leak_kb;
	/* destroying calls whose delta is above the threshold, where it cannot be told whose it is
	 */
	uint64_t rises;
	double rise_kb;
	const struct gt_call_stats *creeps; /* see below; NULL: none does */
	double first_ms, last_ms, first_rss, last_rss;
	double peak[GT_CURVE_COUNT], last[GT_CURVE_COUNT]; /* 0: the file has no such column */
};

/*
 * The rule, by the file's basis:
 * - residue: driver residue above `threshold_kb` in all is a leak; its events are the calls that
 *   added to it.
 * - calls: a destroying call that raised memory by more than `threshold_kb` is a leak. A destroying
 *   function may raise memory by less each time but by more in all its calls together, which is not
 *   a leak by that rule: of these functions, the one with the greatest increase is `creeps`.
 * - none: such increases are `rises` and `creeps`, and nothing is called a leak.
 * Fails if there is no valid row; the caller frees the result.
 */
int gt_tracker_read(struct gt_tracker_table **out, struct gt_rows *rows, double threshold_kb,
		    struct gt_error *error);
/* Applies the rule to driver residue that is known from elsewhere, unless the file tells it. */
void gt_tracker_set_residue(struct gt_tracker_table *t, double residue_kb);
/* By how many KB its calls that are neither leaks nor rises have raised memory. */
static inline double gt_call_creep(const struct gt_call_stats *call)
{
	return call->delta_kb - call->leak_kb - call->rise_kb;
}
/* How many calls those are. */
static inline uint64_t gt_call_creeping(const struct gt_call_stats *call)
{
	return call->count - call->leaks - call->rises;
}

void gt_tracker_free(struct gt_tracker_table *t);
