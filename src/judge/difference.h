/* SPDX-License-Identifier: MIT */
/*
 * difference.h - two recordings compared: what leaks now and did not, what no longer leaks, and
 * what they used: their peaks and who held them, their totals, what grows.
 *
 * Sites are recognised by their words (leaks.h), so that a line that moved makes no new one.
 */
#pragma once

#include "base/json.h"
#include "judge/leaks.h"
#include "ledger/growing_sites.h"

/* What a site held at the peak of device memory. */
struct gt_hold {
	char *key;
	uint8_t api, kind;
	uint32_t stack; /* of the biggest of the ledger's sites in it */
	uint64_t count, bytes, bytes_most;
};

struct gt_holds {
	struct gt_hold *list; /* by key */
	size_t count;
};

struct gt_hold_row {
	const struct gt_hold *before, *now; /* NULL: nothing was held */
};

enum gt_rise_change { GT_RISE_NEW, GT_RISE_SAME, GT_RISE_FIXED, GT_RISE_CHANGES };

struct gt_rise_row {
	enum gt_rise_change change;
	const struct gt_rise *rise; /* the new recording's, but for what is fixed */
};

/* What the two recordings used. */
struct gt_compare {
	const struct gt_view *old_view, *new_view;
	struct gt_holds before, now;
	struct gt_hold_row *holds;  /* all sites, the biggest change first */
	size_t hold_count, changed; /* how many of them hold more or less than before */
	struct gt_rise *old_rises, *new_rises;
	struct gt_rise_row *rises; /* by change, then the steepest first */
	size_t rise_count;
	size_t counts[GT_RISE_CHANGES];
};

enum gt_leak_change {
	GT_DIFF_NEW,
	GT_DIFF_GREW,
	GT_DIFF_SHRANK,
	GT_DIFF_FIXED,
	GT_DIFF_SAME,
	GT_DIFF_COUNT
};

struct gt_diff_row {
	enum gt_leak_change change;
	const struct gt_leak *before, *now; /* NULL: not in that recording */
};

struct gt_diff {
	const struct gt_view *old_view, *new_view;
	struct gt_leaks before, now;
	struct gt_compare used;
	struct gt_diff_row *rows; /* by change, then the biggest first */
	size_t count;
	size_t counts[GT_DIFF_COUNT];
};

/* The views' ledgers must have followed growth. */
void gt_diff_init(struct gt_diff *d, const struct gt_view *old_view,
		  const struct gt_view *new_view);
void gt_diff_fini(struct gt_diff *d);

/* `top` rows of each change, 0 for as many as suit. */
void gt_diff_text(const struct gt_diff *d, FILE *out);
void gt_diff_json(const struct gt_diff *d, FILE *out);

/* compare.c, for difference.c: what the recordings used. */
void gt_compare_init(struct gt_compare *c, const struct gt_view *old_view,
		     const struct gt_view *new_view);
void gt_compare_fini(struct gt_compare *c);
/* "peak 1.00 GiB, 9 resources created, 18 events": a line under a recording's name. */
void gt_compare_totals(struct gt_printer *p, const struct gt_view *v);
/* The peaks and what grows, in sections with a gap before each; at most `most` sites in each. */
void gt_compare_text(struct gt_printer *p, const struct gt_compare *c, size_t most);
/* "totals", "peak", "at_peak", "growing". */
void gt_compare_json(struct gt_json *j, const struct gt_compare *c);
