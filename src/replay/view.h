/* SPDX-License-Identifier: MIT */
/*
 * view.h - what every view of a recording is drawn from.
 *
 * A view writes to the FILE it is given and prints nothing else. Text goes through base/print.h, so
 * that no name in a recording can reach the terminal's controls.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "ledger/ledger.h"
#include "ledger/time_series.h"
#include "trace/recording.h"
#include "replay/frames.h"
#include "base/print.h"

struct gt_verdict;

/* What counts as leaked although its process did not end by itself: replay/ending.h. */
struct gt_strictness {
	bool killed_is_leak;  /* it was killed, crashed, or its end is unknown */
	bool running_is_leak; /* it is running, or was when gputrack detached */
};

/* Which moment an analysis of a moment is about. */
enum gt_when {
	GT_AT_BEST, /* when memory ran out, if the program stopped there; else the peak */
	GT_AT_PEAK,
	GT_AT_END,
	GT_AT_SHORTAGE,
	GT_AT_TIME,
};

enum gt_sort { GT_SORT_LIVE, GT_SORT_TOTAL, GT_SORT_COUNT };

struct gt_view {
	struct gt_recording *recording;
	const struct gt_ledger *ledger;     /* of the whole recording, finished */
	const struct gt_ledger *at_peak;    /* replayed up to the peak; NULL: not asked for */
	const struct gt_timeline *timeline; /* finished; NULL: not asked for */
	struct gt_frames *frames;
	struct gt_style style;
	uint64_t top;                     /* groups or rows to show; 0: what suits the view */
	enum gt_sort sort;                /* of call sites */
	enum gt_when at;                  /* for analyses of a moment */
	uint64_t at_ns;                   /* of GT_AT_TIME: since the recording's start */
	uint64_t from_ns, to_ns;          /* likewise, of a range: after, and up to; 0: unlimited */
	bool show_held;                   /* list what libraries hold (held.h) */
	bool no_held;                     /* what libraries hold counts as leaked */
	const struct gt_verdict *verdict; /* NULL: no limits were set */
	struct gt_strictness strict;
	bool judges;                   /* a verdict is asked for: it reads the ledger */
	bool judges_growth;            /* the verdict needs the ledger to follow growth */
	void (*tick)(uint64_t events); /* progress, for views that replay; may be NULL */
};

typedef void gt_view_fn(const struct gt_view *v, FILE *out);

/* True when processes were followed by `gputrack attach`. */
static inline bool gt_view_is_attached(const struct gt_view *v)
{
	return !strcmp(gt_recording_info(v->recording, "capture"), "attach");
}

/* Relative to the recording's start; negative only in a damaged trace. */
static inline int64_t gt_view_time(const struct gt_view *v, uint64_t time_ns)
{
	return (int64_t)(time_ns - gt_recording_start_ns(v->recording));
}

/* The same, 0 where it would be negative. */
static inline uint64_t gt_view_elapsed(const struct gt_view *v, uint64_t time_ns)
{
	int64_t time = gt_view_time(v, time_ns);

	return time > 0 ? (uint64_t)time : 0;
}

/* The start of a process, relative to the recording's; 0 if its trace is unreadable. */
static inline int64_t gt_view_start(const struct gt_view *v, const struct gt_process *process)
{
	return process->unread ? 0 :
				 (int64_t)(process->start_ns - gt_recording_start_ns(v->recording));
}
