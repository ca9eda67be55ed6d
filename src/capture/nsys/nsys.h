/* SPDX-License-Identifier: MIT */
/*
 * nsys.h - reads the SQLite export of an Nsight Systems profile into traces.
 *
 * Reads every schema from 2019 to 2026: missing tables and optional columns are done without. The
 * file is only read. Rows are streamed, so memory grows with distinct frames and with calls in
 * flight, not with rows.
 */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "base/mem.h"
#include "capture/nsys/nsys_profile.h"

struct gt_nsys_import {
	const char *file;                  /* the export */
	const char *folder;                /* an existing folder for the traces */
	void (*tick)(uint64_t rows);       /* called now and then, for progress; may be NULL */
	const volatile sig_atomic_t *stop; /* ends with -EINTR once it is not 0; may be NULL */

	/* Results, filled by gt_nsys_run. */
	struct gt_nsys_profile profile;
	uint64_t allocations, frees, pools;
	uint64_t valid, driver, invalid; /* allocations and frees with a stack, a function of the
					    driver, neither */
	uint64_t named;                  /* of the last: with a function of the runtime */
	uint64_t failed;                 /* failed calls */
	uint64_t paging;                 /* moves and faults of unified memory */
	uint64_t in_phase;               /* all of these that were made in an NVTX range */
	uint64_t out_of_order;           /* rows after a later one */
	uint64_t skipped;                /* invalid rows */
	uint32_t processes;
	uint64_t duration_ns;
	/*
	 * Without memory events: how often each function was called that creates or releases
	 * something. "cudaMalloc|create|device memory|15|0" (calls, failed ones), separated by
	 * semicolons. NULL: there are memory events. The caller frees it.
	 */
	char *calls;
	/* The same by phase, if there are ranges: "train|cudaMalloc|create|device memory|15|0;". */
	char *calls_by_phase;
};

/* 0, or -errno and a sentence: what is wrong with the export, and what to do. */
int gt_nsys_run(struct gt_nsys_import *import, struct gt_error *error);
