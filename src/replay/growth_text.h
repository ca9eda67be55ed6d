/* SPDX-License-Identifier: MIT */
/* growth_text.h - the places that keep growing, and their words. */
#pragma once

#include "ledger/growing_sites.h"
#include "replay/view.h"

/*
 * The call sites that keep rising, steepest first, those of one place as one; none in a program too
 * short to tell, or if the ledger did not follow growth. The caller frees the list.
 */
struct gt_rise *gt_view_rises(const struct gt_view *v, size_t *count);
/* gt_places_list for their stacks. */
void gt_view_rises_list(const struct gt_view *v, const struct gt_rise *rises, size_t count);
/* "+1.2 MiB/s since 42.0 s, never freed". */
void gt_growth_rate(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r);
/*
 * The same and the place, "…, train  train.py:88", on the rest of the line; false when there was no
 * room for the place.
 */
bool gt_growth_line(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r);
