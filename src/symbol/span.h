/* SPDX-License-Identifier: MIT */
/* span.h - address ranges that carry an index, found by an address inside. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_span {
	uint64_t start, end; /* [start, end) */
	uint64_t reach;      /* private */
	uint32_t rank;       /* of spans with the same start, the highest is found */
	uint32_t index;      /* for the caller's use */
};

/* Starts zeroed. */
struct gt_spans {
	struct gt_span *list;
	size_t count, capacity;
};

/* Ignores empty spans. */
void gt_spans_add(struct gt_spans *spans, const struct gt_span *span);
/* Call after the last add and before the first find. */
void gt_spans_sort(struct gt_spans *spans);
/* The span with the highest start that holds `address`, NULL when there is none. */
const struct gt_span *gt_spans_find(const struct gt_spans *spans, uint64_t address);
/* The lowest start above `address`, UINT64_MAX when there is none. */
uint64_t gt_spans_next(const struct gt_spans *spans, uint64_t address);
void gt_spans_fini(struct gt_spans *spans);
