/* SPDX-License-Identifier: MIT */
/*
 * difference.h - two recordings compared: what each leaked, held at its peak, and what grows.
 *
 * Sites are recognised by their words (site_key.h), so that a line that moved makes no new one.
 */
#pragma once

#include "judge/growing.h"

struct gt_diff;

/* The views' ledgers must have followed growth. `growth` NULL: no new growth fails. */
struct gt_diff *gt_diff_new(const struct gt_view *old_view, const struct gt_view *new_view,
			    const struct gt_growth_limit *growth);
void gt_diff_free(struct gt_diff *d);

/* Whether something leaks that did not before, or more of it. */
enum gt_worse { GT_NOT_WORSE, GT_PERHAPS_WORSE, GT_WORSE };
enum gt_worse gt_diff_worse(const struct gt_diff *d);
/* Why it is worse: one line. */
void gt_diff_outcome(const struct gt_diff *d, struct gt_printer *p);
/* What grows too fast that did not grow before, as gt_growing_failure; NULL: nothing. */
char *gt_diff_growth(const struct gt_diff *d);
/* `top` rows of each change, 0 for as many as suit. */
void gt_diff_text(const struct gt_diff *d, FILE *out);
void gt_diff_json(const struct gt_diff *d, FILE *out);
