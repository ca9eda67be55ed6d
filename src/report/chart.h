/* SPDX-License-Identifier: MIT */
/* chart.h - a timeline as a chart of characters. */
#pragma once

#include "ledger/timeline.h"
#include "base/print.h"

/* Values in at most `columns` characters of one line, the highest of them full. */
void gt_chart_spark(struct gt_printer *p, const uint64_t *values, size_t count, unsigned columns);

/* `rows` lines high, as wide as the page, with both axes labelled. */
void gt_chart_put(struct gt_printer *p, const struct gt_timeline *t, unsigned rows);
