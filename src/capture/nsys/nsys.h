/* SPDX-License-Identifier: MIT */
/*
 * nsys.h - reads the SQLite export of an Nsight Systems profile into traces.
 *
 * Takes every schema from 2020 to 2026: tables and columns that are not there are done without.
 * The file is opened immutable: nothing is written to it, nor beside it. Rows are streamed, so
 * that memory is by what is distinct (frames, threads in a call), not by rows.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"

struct gt_nsys_import {
	const char *file;            /* the export */
	const char *folder;          /* an existing folder for the traces */
	void (*tick)(uint64_t rows); /* now and then, for progress; may be NULL */

	/* What was found; filled by gt_nsys_run. */
	uint64_t allocations, frees, pools;
	uint64_t valid, driver, invalid; /* of these two: with a stack, a name, neither */
	uint64_t out_of_order;           /* rows that came after a later one */
	uint64_t skipped;                /* rows that make no sense */
	uint32_t processes;
	uint64_t duration_ns;
	uint64_t start_real_ns;       /* 0: the export does not say */
	char product[64], schema[64]; /* versions, "" when unknown */
	char command[512];            /* the first process's name, "" when unknown */
};

/* 0, or -errno and a sentence that says what is wrong with the export and what to do. */
int gt_nsys_run(struct gt_nsys_import *import, struct gt_error *error);
