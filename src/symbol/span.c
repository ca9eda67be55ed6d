/* SPDX-License-Identifier: MIT */
/* span.c - a sorted array of address ranges, which may overlap. */
#include "symbol/span.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void gt_spans_add(struct gt_spans *spans, const struct gt_span *span)
{
	if (span->start >= span->end)
		return;
	GT_GROW(spans->list, spans->count, spans->capacity);
	spans->list[spans->count++] = *span;
}

static int compare(const void *left, const void *right)
{
	const struct gt_span *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	/* of equals the first is found: the result must not depend on the sort */
	return a->index > b->index ? -1 : a->index < b->index;
}

/* The number of spans up to the n-th (from 1) whose furthest end its `reach` is: a Fenwick tree. */
static size_t covered_by(size_t n)
{
	return n & (0 - n);
}

void gt_spans_sort(struct gt_spans *spans)
{
	if (spans->count)
		qsort(spans->list, spans->count, sizeof(*spans->list), compare);
	for (size_t i = 0; i < spans->count; i++)
		spans->list[i].reach = spans->list[i].end;
	for (size_t n = 1; n <= spans->count; n++) {
		size_t above = n + covered_by(n);
		uint64_t reach = spans->list[n - 1].reach;

		if (above <= spans->count && spans->list[above - 1].reach < reach)
			spans->list[above - 1].reach = reach;
	}
}

/* How many spans start at or below `address`. */
static size_t count_below(const struct gt_spans *spans, uint64_t address)
{
	size_t low = 0, high = spans->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct gt_span *gt_spans_find(const struct gt_spans *spans, uint64_t address)
{
	size_t i = count_below(spans, address);

	while (i > 0) {
		const struct gt_span *span = &spans->list[i - 1];

		if (span->end > address)
			return span;
		/* one of those it covers reaches the address, or none does */
		i -= span->reach > address ? 1 : covered_by(i);
	}
	return NULL;
}

uint64_t gt_spans_next(const struct gt_spans *spans, uint64_t address)
{
	size_t i = count_below(spans, address);

	return i < spans->count ? spans->list[i].start : UINT64_MAX;
}

void gt_spans_fini(struct gt_spans *spans)
{
	free(spans->list);
	memset(spans, 0, sizeof(*spans));
}
