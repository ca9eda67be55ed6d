/* SPDX-License-Identifier: MIT */
/*
 * nsys.h - reads the SQLite export of an Nsight Systems profile into traces.
 *
 * Reads every schema from 2020 to 2026: missing tables and columns are done without. The file is
 * opened immutable: nothing is written to it or beside it. Rows are streamed, so memory grows with
 * distinct frames and with calls in flight, not with rows.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"

struct gt_nsys_import {
	const char *file;            /* the export */
	const char *folder;          /* an existing folder for the traces */
	void (*tick)(uint64_t rows); /* called now and then, for progress; may be NULL */

	/* Results, filled by gt_nsys_run. */
	uint64_t allocations, frees, pools;
	uint64_t valid, driver,
		invalid;       /* allocations and frees with a stack, a function name, neither */
	uint64_t out_of_order; /* rows after a later one */
	uint64_t skipped;      /* invalid rows */
	uint32_t processes;
	uint64_t duration_ns;
	uint64_t start_real_ns;       /* 0: unknown */
	char product[64], schema[64]; /* versions, "" when unknown */
	char command[512];            /* name of the first process, "" when unknown */
};

/* 0, or -errno and a sentence: what is wrong with the export, and what to do. */
int gt_nsys_run(struct gt_nsys_import *import, struct gt_error *error);
