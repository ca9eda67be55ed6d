/* SPDX-License-Identifier: MIT */
/* difference_rows.h - the rows of a comparison, for the file that prints it. */
#pragma once

#include "judge/difference.h"
#include "base/json.h"
#include "judge/leaks.h"
#include "ledger/growing_sites.h"

enum gt_diff_change {
	GT_DIFF_NEW,
	GT_DIFF_GREW,
	GT_DIFF_SHRANK,
	GT_DIFF_FIXED,
	GT_DIFF_SAME,
	GT_DIFF_COUNT
};

enum gt_diff_rise_change {
	GT_DIFF_RISE_NEW,
	GT_DIFF_RISE_SAME,
	GT_DIFF_RISE_FIXED,
	GT_DIFF_RISE_CHANGES
};

/* A site in both recordings; NULL: it has none in that one. */
struct gt_diff_row {
	enum gt_diff_change change;
	const struct gt_leak *before, *now;
	const struct gt_view *view; /* of `now`, else of `before` */
};

struct gt_diff_rows {
	struct gt_diff_row *list;
	size_t count, counts[GT_DIFF_COUNT];
};

struct gt_diff_rise {
	enum gt_diff_rise_change change;
	const struct gt_rise *rise; /* the new recording's, but for what is fixed */
	const struct gt_view *view; /* its recording */
};

/* What is compared of a recording, or of several. */
struct gt_diff_side {
	const char *name;
	const struct gt_view *view; /* the first, or the only one */
	struct gt_views views;
	struct gt_merged leaked;
	struct gt_merged held;            /* at the peak */
	struct gt_growing_sites *growing; /* by recording */
	struct gt_growing_sites grows;    /* in any of them: their keys */
	struct gt_fate_sum fates[GT_FATE_COUNT];
	char *held_line; /* gt_held_line */
};

struct gt_diff {
	struct gt_diff_side old, new;
	struct gt_diff_rows leaks;  /* by change, then the biggest first */
	struct gt_diff_rows holds;  /* the biggest change first */
	struct gt_diff_rise *rises; /* by change, then the steepest first */
	size_t rise_count, rise_counts[GT_DIFF_RISE_CHANGES];
};

static inline uint64_t gt_diff_count(const struct gt_leak *leak)
{
	return leak ? leak->count : 0;
}

static inline uint64_t gt_diff_bytes(const struct gt_leak *leak)
{
	return leak ? leak->bytes : 0;
}

static inline const struct gt_leak *gt_diff_either(const struct gt_diff_row *row)
{
	return row->now ? row->now : row->before;
}

/* A table of tests: what each leaked and its peak, before and now. */
void gt_diff_tests_text(const struct gt_diff *d, struct gt_printer *p);
void gt_diff_tests_json(const struct gt_diff *d, struct gt_json *j);

/* By what certainly leaked now and may have leaked before, or the reverse. */
enum gt_worse gt_diff_row_worse(const struct gt_diff_row *row);
