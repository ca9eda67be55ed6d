/* SPDX-License-Identifier: MIT */
/*
 * view.h - what every view is drawn from, and the views.
 *
 * A view writes to the FILE it is given and prints nothing on its own. Text goes through page.h,
 * so that no name in a recording can reach the terminal's controls.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "ledger/rises.h"
#include "ledger/ledger.h"
#include "ledger/timeline.h"
#include "trace/recording.h"
#include "replay/frames.h"
#include "base/print.h"

struct gt_verdict;

enum gt_sort { GT_SORT_LIVE, GT_SORT_TOTAL, GT_SORT_COUNT };

struct gt_view {
	struct gt_recording *recording;
	const struct gt_ledger *ledger;     /* of the whole recording, finished */
	const struct gt_ledger *at_peak;    /* watermark: replayed up to the peak */
	const struct gt_timeline *timeline; /* usage: finished */
	const struct gt_rise *rises;        /* growth: steepest first */
	size_t rise_count;
	struct gt_frames *frames;
	struct gt_style style;
	uint64_t top;                     /* groups or rows to show; 0: what suits the view */
	enum gt_sort sort;                /* sites */
	const struct gt_verdict *verdict; /* NULL: nobody asked whether too much leaked */
};

typedef void gt_view_fn(const struct gt_view *v, FILE *out);

/* At most a screen: what leaked, the peak, mistakes, and what to type next. */
gt_view_fn gt_summary_text, gt_summary_json, gt_summary_tsv;
/* Every site with something alive at the end. */
gt_view_fn gt_leakage_text, gt_leakage_json, gt_leakage_tsv;
/* What leaked, for continuous integration; need `verdict`. */
gt_view_fn gt_leaks_junit, gt_leaks_sarif, gt_leaks_github;
/* What was alive when device memory peaked; needs `at_peak`. */
gt_view_fn gt_watermark_text, gt_watermark_json, gt_watermark_tsv;
/* Device bytes over time; needs `timeline`. TSV is written while replaying: usage.h. */
gt_view_fn gt_usage_text, gt_usage_json;
/* What rises in a program that ran long enough to have a past; freed by the caller. */
struct gt_rise *gt_view_rises(const struct gt_ledger *l, size_t *count);
/* "+1.2 MiB/s since 42.0 s, never freed". */
void gt_growth_rate(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r);
/*
 * "+1.2 MiB/s since 42.0 s, never freed, train  train.py:88", on the rest of the line; false when
 * it had no room for where.
 */
bool gt_growth_verdict(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r);
/* Call sites that hold more and more; needs `rises`. */
gt_view_fn gt_growth_text, gt_growth_json, gt_growth_tsv;
/* Call sites, by `sort`. */
gt_view_fn gt_sites_text, gt_sites_json, gt_sites_tsv;

/* Each process with its name and what it left alive. */
gt_view_fn gt_processes_text, gt_processes_json, gt_processes_tsv;

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

/* When a process began, likewise; 0 for one of which nothing can be read. */
static inline int64_t gt_view_start(const struct gt_view *v, const struct gt_process *process)
{
	return process->unread ? 0 :
				 (int64_t)(process->start_ns - gt_recording_start_ns(v->recording));
}
