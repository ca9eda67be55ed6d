/* SPDX-License-Identifier: MIT */
/* origins.h - where living resources were created, with function, file and line. */
#pragma once

#include "guest/export.h"
#include "tracker/symbolizer.h"
#include "ledger/live.h"

struct gt_origins;

/* Looks all creation stacks up at once; NULL when there is no memory. The entries must stay. */
GT_EXPORT struct gt_origins *gt_origins_new(const struct gt_entry *entries, size_t count);
/* Frames of one entry's stack as a list of symbols, innermost first; the list is the origins'. */
GT_EXPORT size_t gt_origins_get(const struct gt_origins *o, size_t index,
				const struct gt_symbol **symbols);
GT_EXPORT void gt_origins_free(struct gt_origins *o);
