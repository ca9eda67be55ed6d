/* SPDX-License-Identifier: MIT */
/* mistakes.h - what the program did wrong besides leaking: redundant releases, failed calls. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* How many sorts of mistakes there are to tell of. */
unsigned gt_mistakes_count(const struct gt_ledger *l);
/* A few lines for the summary; the fewer, the more sorts there are. False for none. */
bool gt_mistakes_text(struct gt_printer *p, const struct gt_view *v);
/* "redundant", "failures", "last_calls" and the counts of ends that do not match. */
void gt_mistakes_json(struct gt_json *j, const struct gt_view *v);
