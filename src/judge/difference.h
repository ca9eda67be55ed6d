/* SPDX-License-Identifier: MIT */
/* difference.h - two recordings: what leaks now and did not, what no longer does, what they used.
 */
#pragma once

#include "judge/compare.h"
#include "judge/leaks.h"

enum gt_change_sort {
	GT_DIFF_NEW,
	GT_DIFF_GREW,
	GT_DIFF_SHRANK,
	GT_DIFF_FIXED,
	GT_DIFF_SAME,
	GT_DIFF_COUNT
};

struct gt_diff_row {
	enum gt_change_sort sort;
	const struct gt_leak *before, *now; /* NULL: not in that recording */
};

struct gt_diff {
	const struct gt_view *old_view, *new_view;
	struct gt_leaks before, now;
	struct gt_compare use;
	struct gt_diff_row *rows; /* by sort, then as big as the change is */
	size_t count;
	size_t counts[GT_DIFF_COUNT];
};

void gt_diff_init(struct gt_diff *d, const struct gt_view *old_view,
		  const struct gt_view *new_view);
void gt_diff_fini(struct gt_diff *d);

/* `top` rows of each sort, 0 for what suits. */
void gt_diff_text(const struct gt_diff *d, FILE *out);
void gt_diff_json(const struct gt_diff *d, FILE *out);
