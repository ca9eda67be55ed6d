/* SPDX-License-Identifier: MIT */
/*
 * page.h - a recording as one page that opens from disk: what is collected for it, and its writing.
 *
 * What the page holds is bounded by its resolution, not by the events: totals, kinds and the call
 * sites that matter most as rows over time (ledger/time_series.h), every call site's sums up to a
 * number, and stacks, frames and names once each.
 */
#pragma once

#include <stdio.h>

#include "ledger/growing_sites.h"
#include "ledger/ledger.h"
#include "ledger/time_series.h"
#include "plot/read_tracker.h"
#include "trace/recording.h"
#include "replay/frames.h"
#include "replay/replay.h"

enum { GT_HTML_SETS_MAX = 13 }; /* all processes together, and the busiest of them alone */

/* Values over time of one (API, kind): two channels of gt_html_set.kinds. */
struct gt_html_kind {
	uint8_t api, kind;
};

/* A call site that has rows over time. */
struct gt_html_track {
	uint32_t stack;
	uint16_t function;
};

struct gt_html_state {
	uint64_t bytes, count;
};

/* One view of the recording: all its processes, or one. */
struct gt_html_set {
	uint32_t pid;                 /* 0: all */
	struct gt_ledger *ledger;     /* finished, with growth */
	struct gt_time_series totals; /* device bytes, host bytes, objects */
	struct gt_time_series kinds;  /* bytes, objects of each kind */
	struct gt_html_state *tracks; /* by row of `kinds`, then by track: how the row ends */
};

/* Something that was measured: values over seconds since the start. */
struct gt_html_samples {
	uint16_t series;
	uint32_t process; /* GT_NO_PROCESS: beside all of them */
	struct gt_trail trail;
};

struct gt_html {
	struct gt_recording *recording;
	uint64_t start_ns, end_ns;
	struct gt_html_set sets[GT_HTML_SETS_MAX];
	size_t set_count, process_left_out; /* processes without a set of their own */
	struct gt_html_kind *kinds;
	size_t kind_count;
	bool takes[GT_KIND_COUNT]; /* the end of one may end resources of any other kind */
	struct gt_html_track *tracks;
	size_t track_count;
	struct gt_html_samples *samples;
	size_t sample_count, sample_room;
};

/* Reads the recording twice. `tick` may be NULL. */
struct gt_html *gt_html_new(struct gt_recording *r, gt_tick_fn *tick);
void gt_html_free(struct gt_html *h);

/*
 * The data of the page, a JSON document that can stand in a script element. `threshold_kb`: by
 * which the resource tracker's calls have leaked, plot/read_tracker.h.
 */
void gt_html_data(const struct gt_html *h, struct gt_frames *frames, double threshold_kb,
		  FILE *out);

/* The data of a page of the resource tracker's CSV, likewise; its trails are thinned out. */
void gt_html_tracker_data(struct gt_tracker_table *t, const char *path, FILE *out);

struct gt_html_page {
	bool served; /* asks where it came from for newer data */
};

/* False when the page was left out of this build. */
bool gt_html_is_built(void);
/* The page up to the data, and from there on. */
void gt_html_begin(FILE *out, const struct gt_html_page *page);
void gt_html_end(FILE *out);

/* Marks in `marks` the sites that lead in one way or another: at most about `most` of them. */
void gt_html_pick(const struct gt_ledger *l, size_t most, bool *marks);
