/* SPDX-License-Identifier: MIT */
/*
 * memory_series.h - where the memory of each device was over time, in a limited number of columns.
 *
 * One replay, and none where only the program's own memory is known. Sums follow the events. The
 * time is divided into columns of equal width, each of which shows the moment of the highest total
 * within it; the parts at that moment are those of gt_memory_init.
 */
#pragma once

#include "replay/device_memory.h"
#include "replay/view.h"

enum { GT_MEMORY_COLUMNS = 400 };

struct gt_memory_column {
	uint64_t time_ns; /* of the highest total; 0: nothing had been allocated */
	uint64_t parts[GT_PART_COUNT], total;
};

struct gt_device_series {
	uint16_t place; /* 0: unknown */
	bool is_reported;
	uint64_t capacity; /* 0: unknown */
	size_t highest;    /* the column of the highest total */
	struct gt_memory_column columns[GT_MEMORY_COLUMNS];
};

struct gt_memory_series {
	uint64_t start_ns, column_ns;     /* of the first column; the width of each */
	size_t column_count;              /* to the end of the recording */
	struct gt_device_series *devices; /* in the order of the recording's places */
	size_t device_count; /* 0: no more is known than what the program allocated, if anything */
};

/* The view's ledger must be finished, and have samples for the capacities. */
void gt_memory_series_init(struct gt_memory_series *s, const struct gt_view *v);
void gt_memory_series_fini(struct gt_memory_series *s);

/* The column that a moment lies in. */
size_t gt_memory_series_column(const struct gt_memory_series *s, uint64_t time_ns);
/*
 * The device whose memory ran out, or else the one of which the most was used; NULL: there is none.
 */
const struct gt_device_series *gt_memory_series_main(const struct gt_memory_series *s,
						     const struct gt_view *v);

/* The failure of a call because memory of the device ran out; NULL: none. */
const struct gt_shortage *gt_memory_series_shortage(const struct gt_view *v);
/* True if more is known than what the program allocated, or if memory ran out. */
bool gt_memory_series_tells_more(const struct gt_memory_series *s, const struct gt_view *v);
