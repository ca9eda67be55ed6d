/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - reads a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) into a trace.
 *
 * Reads all generations: a list of segments (1.11 to 1.13), segments and traces without times
 * (2.0), and with times (since 2.1); frames per block or in its history; plain and expandable
 * segments. The file is only read, and never executed. It is streamed: memory grows with distinct
 * frames and with blocks alive at once, not with entries.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct gt_snapshot_import {
	const char *file;
	const char *folder;                /* an existing folder for the trace */
	void (*tick)(uint64_t entries);    /* called now and then, for progress; may be NULL */
	const volatile sig_atomic_t *stop; /* ends with -EINTR once it is not 0; may be NULL */

	/* Results, filled by gt_snapshot_run. */
	uint64_t allocations, frees;      /* of the history */
	uint64_t shortages;               /* out of memory */
	uint64_t before, before_bytes;    /* blocks that the history found allocated … */
	uint64_t before_named;            /* … of which the segments have a stack */
	uint64_t alive, alive_bytes;      /* blocks in use at the end */
	uint64_t segments, segment_bytes; /* at the end */
	uint64_t stacks;                  /* allocations with a stack */
	uint64_t unknown;                 /* entries of unknown kinds */
	uint32_t devices;
	bool has_history, has_times;
	uint64_t start_real_ns, duration_ns; /* 0: not known */
};

/* True if the file looks like a snapshot, or at least like no export of Nsight Systems. */
bool gt_snapshot_is(const char *file);

/* 0, or -errno and a sentence: what is wrong with the file, and what to do. */
int gt_snapshot_run(struct gt_snapshot_import *import, struct gt_error *error);
