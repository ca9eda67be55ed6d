/* chart.h - a timeline as a chart of characters. */
#pragma once

#include "ledger/timeline.h"
#include "view/page.h"

/* `rows` lines high, as wide as the page, with both axes labelled. */
void gt_chart_put(struct gt_page *p, const struct gt_timeline *t, unsigned rows);
