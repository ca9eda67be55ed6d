/* SPDX-License-Identifier: MIT */
/*
 * read_tracker.h - the resource tracker's CSV, ours or the original's, as what its charts need.
 *
 * Read as a stream, in memory that does not grow with the rows. A row that is damaged (too few or
 * too many fields, a word where a number belongs, cut by the end of the file) is left out and
 * counted.
 */
#pragma once

#include "plot/read_rows.h"
#include "plot/trail.h"

/* What is drawn over time, straight from a column. */
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
	GT_CURVE_COUNT,
};

struct gt_live_table_call {
	char *name;
	bool ends; /* the second of a pair: it destroys what another creates */
	uint64_t count, leaks;
	double delta_kb; /* sum over its calls */
	double leak_kb;
	struct gt_trail impact; /* that sum over the whole time, ms */
};

struct gt_tracker_table {
	struct gt_trail curves[GT_CURVE_COUNT]; /* over ms; no point: the file has no such column */
	struct gt_trail deltas;                 /* KB, over the number of the call */
	struct gt_trail leaks;   /* KB of each leaking call and their sum so far, over ms */
	struct gt_trail leaked;  /* that sum over the whole time */
	struct gt_trail moments; /* KB of all that leaked in one ms: times are whole ms */
	struct gt_live_table_call *calls; /* by name, in order of first use */
	size_t call_count, call_room;
	struct gt_intern *names;

	bool is_levelzero; /* there is a call of it: resources are called as it calls them */
	double threshold_kb;
	uint64_t rows, bad_rows, bad_line; /* line of the first bad one */
	uint64_t unsigned_falls;           /* deltas whose sign the original tracker had lost */
	uint64_t leak_events;
	double leak_kb;
	const struct gt_live_table_call *creeps; /* see below; NULL: none does */
	double first_ms, last_ms, first_rss, last_rss;
	double peak[GT_CURVE_COUNT], last[GT_CURVE_COUNT]; /* 0: the file has no such column */
};

enum { GT_TRACKER_THRESHOLD_KB = 100 };

/*
 * A leak is a call that destroys, and whose memory rose by more than `threshold_kb` all the same.
 * What destroys and raises it by less each time, and by more than that in all its calls together,
 * is no leak by that rule: the one of them that rose most creeps.
 * Fails when there is no row to show; the caller frees what it gets.
 */
int gt_tracker_read(struct gt_tracker_table **out, struct gt_rows *rows, double threshold_kb,
		    struct gt_error *error);
/* What its calls that are no leak have raised memory by, KB. */
static inline double gt_live_table_creep(const struct gt_live_table_call *call)
{
	return call->delta_kb - call->leak_kb;
}

void gt_tracker_free(struct gt_tracker_table *t);
