/* SPDX-License-Identifier: MIT */
/*
 * nsys_profile.h - what an export says of the whole profile: versions, clocks, GPUs, the command,
 * what was collected and what was lost. Every table may be missing.
 */
#pragma once

#include <stdint.h>

#include "capture/nsys/database.h"

enum { GT_NSYS_GPUS = 64, GT_NSYS_NOTES = 8 };

struct gt_nsys_gpu {
	int64_t id;
	uint64_t bytes; /* 0: unknown */
	char name[96];  /* "" when unknown */
};

struct gt_nsys_profile {
	char product[64], schema[64]; /* versions, "" when unknown */
	uint64_t start_real_ns;       /* 0: unknown */
	int64_t utc_offset_s;         /* of the local clock */
	bool has_offset;
	uint64_t duration_ns; /* 0: unknown */
	char command[512];    /* "" when unknown */
	/* Whether memory was tracked: Nsight makes a table only when it has a row for it. */
	enum { GT_NSYS_TRACKING_UNKNOWN, GT_NSYS_TRACKING_OFF, GT_NSYS_TRACKING_ON } tracking;
	struct gt_nsys_gpu gpus[GT_NSYS_GPUS];
	size_t gpu_count;
	char notes[GT_NSYS_NOTES][256]; /* warnings and errors of Nsight's own */
	size_t note_count;
	uint64_t more_notes;
};

void gt_nsys_profile_read(struct gt_nsys_profile *p, const struct gt_database *d);

/* The GPU that a process calls device `device`; NULL: unknown. */
const struct gt_nsys_gpu *gt_nsys_profile_gpu(const struct gt_nsys_profile *p,
					      const struct gt_database *d, uint32_t pid,
					      int64_t device);

/* One text, or number, of a query; "" and 0 if there is none. */
void gt_nsys_read_text(const struct gt_database *d, char *out, size_t size, const char *sql);
int64_t gt_nsys_read_number(const struct gt_database *d, const char *sql);
