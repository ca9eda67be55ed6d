/* SPDX-License-Identifier: MIT */
/*
 * call_counts.h - an import without memory events: how often each function was called.
 *
 * Nothing is known of single resources then: neither their handles nor their sizes.
 */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* True for a recording of which only the numbers of calls are known. */
bool gt_has_call_counts(const struct gt_view *v);
/* A paragraph. */
void gt_call_counts_text(struct gt_printer *p, const struct gt_view *v);
/* "calls": an array, empty for other recordings. */
void gt_call_counts_json(struct gt_json *j, const struct gt_view *v);
