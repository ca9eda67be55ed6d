/* SPDX-License-Identifier: MIT */
/* mistakes.h - mistakes other than leaks: redundant releases, failed calls, death in a call. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* How many kinds of mistakes there are to show. */
unsigned gt_mistakes_count(const struct gt_ledger *l);
/* A paragraph for each kind of mistake; the more kinds there are, the shorter each is. */
void gt_mistakes_text(struct gt_printer *p, const struct gt_view *v);
/* "redundant", "interior", "failures", "last_calls" and the counts of releases that match nothing.
 */
void gt_mistakes_json(struct gt_json *j, const struct gt_view *v);
