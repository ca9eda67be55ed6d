/* SPDX-License-Identifier: MIT */
/*
 * page.h - a recording as one page that opens from disk: collecting its data, and writing it.
 *
 * The size of a page depends on its resolution, not on the number of events: it has rows over time
 * (ledger/time_series.h) of the totals and the kinds, a matrix of lives (page/life_matrix.h), the
 * sums of a limited number of call sites, and each stack, frame and name once.
 */
#pragma once

#include <stdio.h>

#include "replay/view.h"
#include "ledger/growing_sites.h"
#include "ledger/ledger.h"
#include "ledger/time_series.h"
#include "plot/read_tracker.h"
#include "trace/recording.h"
#include "replay/frames.h"
#include "replay/replay.h"

enum { GT_PAGE_SETS_MAX = 13 }; /* all processes together, and the busiest of them alone */

/* Values over time of one (API, kind): two channels of gt_page_set.kinds, from `channel` on. */
struct gt_page_kind {
	uint8_t api, kind;
	size_t channel;
};

struct gt_page_blocks;
struct gt_page_lives;

/* One view of the recording: all its processes, or one. */
struct gt_page_set {
	uint32_t pid;                 /* 0: all */
	struct gt_ledger *ledger;     /* finished, with growth */
	struct gt_time_series totals; /* device bytes, host bytes, objects */
	struct gt_time_series kinds;  /* bytes, objects of each kind */
	struct gt_page_lives *lives;
	struct gt_page_blocks *blocks;
};

/* A sampled metric: values over seconds since the start. */
struct gt_page_samples {
	uint16_t series;
	uint32_t process; /* GT_NO_PROCESS: of none in particular */
	struct gt_trail trail;
};

struct gt_page {
	struct gt_recording *recording;
	struct gt_frames *frames;
	struct gt_strictness strict; /* what counts as leaked; may be set after gt_page_new */
	gt_tick_fn *tick;
	uint64_t start_ns, end_ns;
	struct gt_page_set sets[GT_PAGE_SETS_MAX];
	size_t set_count, process_left_out; /* processes without a set of their own */
	struct gt_page_kind *kinds;
	size_t kind_count;
	bool takes[GT_KIND_COUNT]; /* the end of one may end resources of any other kind */
	struct gt_page_samples *samples;
	size_t sample_count, sample_room;
	uint64_t *phase_ns; /* by phase: its first event; 0: none */
	size_t phase_count;
};

/* Reads the recording twice. `held` as in struct gt_replay. `tick` may be NULL. */
struct gt_page *gt_page_new(struct gt_recording *r, struct gt_frames *frames,
			    struct gt_frames *held, gt_tick_fn *tick);
void gt_page_free(struct gt_page *h);

/*
 * The data of the page, a JSON document that can stand in a script element. `threshold_kb`: by
 * which the resource tracker's calls have leaked, plot/read_tracker.h. Reads the recording once
 * more where device memory was allocated.
 */
void gt_page_data(const struct gt_page *h, double threshold_kb, FILE *out);

/* The same for a resource tracker CSV; thins out the table's trails. */
void gt_page_tracker_data(struct gt_tracker_table *t, const char *path, FILE *out);

/* A served page fetches new data from its server. */
enum gt_page_origin { GT_PAGE_FILE, GT_PAGE_SERVED };

/* False if the build has no page: nothing of it can then be written. */
bool gt_page_is_built(void);
/* The page up to the data, and from there on. */
void gt_page_begin(FILE *out, enum gt_page_origin origin);
void gt_page_end(FILE *out);

/* Marks the rows that are biggest in any respect, at most `most` of them. */
struct gt_page_rows;
void gt_page_pick(const struct gt_page_rows *rows, size_t most, bool *marks);
