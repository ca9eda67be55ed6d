/* SPDX-License-Identifier: MIT */
/*
 * difference.h - two recordings compared: what each leaked, held at its peak, and what grows.
 *
 * Sites are recognised by their words (site_key.h), so that a line that moved makes no new one.
 */
#pragma once

#include "judge/growing.h"
#include "judge/merged.h"

struct gt_diff;

enum gt_diff_which { GT_DIFF_OF_OLD, GT_DIFF_OF_NEW };

struct gt_diff *gt_diff_new(void);
/*
 * Takes what is compared of recordings, in the order of their tests; `name` is what the user called
 * them. Their ledgers must have followed growth.
 */
void gt_diff_take(struct gt_diff *d, enum gt_diff_which which, const char *name,
		  const struct gt_views *views);
/* Then its ledger may forget all but its totals: with many call sites, that is most of its memory.
 */
void gt_diff_forget(struct gt_diff *d, enum gt_diff_which which, struct gt_ledger *l);
/* True if either side is several recordings. */
bool gt_diff_is_of_tests(const struct gt_diff *d);
/* When both have been taken. `growth` NULL: no new growth fails. */
void gt_diff_compare(struct gt_diff *d, const struct gt_growth_limit *growth);
void gt_diff_free(struct gt_diff *d);

/* Whether something leaks that did not before, or more of it. */
enum gt_worse { GT_NOT_WORSE, GT_PERHAPS_WORSE, GT_WORSE };
enum gt_worse gt_diff_worse(const struct gt_diff *d);
/* Why it is worse: one line. */
void gt_diff_outcome(const struct gt_diff *d, struct gt_printer *p);
/*
 * What grows too fast that did not grow before, as gt_growing_failure, of the first test that has
 * such, and its name if there are several; NULL: nothing.
 */
char *gt_diff_growth(const struct gt_diff *d);
/* `top` rows of each change, 0 for as many as suit. */
void gt_diff_text(const struct gt_diff *d, FILE *out);
void gt_diff_json(const struct gt_diff *d, FILE *out);
/* The same for a script element of a page, with at most `most` call sites in a list. */
void gt_diff_page_json(const struct gt_diff *d, size_t most, FILE *out);
