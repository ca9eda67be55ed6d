/* SPDX-License-Identifier: MIT */
/* nsight_rows.h - allocations and frees of memory in the columns of Nsight's scripts. */
#pragma once

#include <stdio.h>

#include "ledger/lifetimes.h"
#include "trace/recording.h"
#include "replay/frames.h"

struct gt_nsight_rows {
	const struct gt_recording *recording;
	struct gt_frames *frames;
	FILE *out[GT_ORIGIN_COUNT]; /* where rows of each origin go */
	struct gt_live live;        /* what a free frees, and what goes with it */
};

/* True for an event that by its function has a row: memory of CUDA comes or goes. */
bool gt_nsight_has_row(const struct gt_event *event);

/* The headings. */
void gt_nsight_rows_begin(struct gt_nsight_rows *rows);
void gt_nsight_rows_add(struct gt_nsight_rows *rows, const struct gt_event *event,
			uint32_t process);
void gt_nsight_rows_fini(struct gt_nsight_rows *rows);
