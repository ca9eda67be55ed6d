/* SPDX-License-Identifier: MIT */
/* snapshot_trace.h - the entries of a snapshot's history as events of a trace. */
#pragma once

#include "base/mem.h"
#include "capture/snapshot/snapshot.h"
#include "trace/writer.h"

/* Actions of entries, by the names that PyTorch gives them. */
enum gt_snapshot_action {
	GT_ACTION_ALLOC,
	GT_ACTION_FREE_REQUESTED,
	GT_ACTION_FREE_COMPLETED,
	GT_ACTION_SEGMENT_ALLOC,
	GT_ACTION_SEGMENT_FREE,
	GT_ACTION_SEGMENT_MAP,
	GT_ACTION_SEGMENT_UNMAP,
	GT_ACTION_OOM,
	GT_ACTION_SNAPSHOT,
	GT_ACTION_COUNT
};

struct gt_snapshot_entry {
	enum gt_snapshot_action action;
	uint64_t address, size;
	uint64_t time_us; /* 0: unknown */
	uint32_t stack;
};

struct gt_snapshot_trace;

int gt_snapshot_trace_open(struct gt_snapshot_trace **out, struct gt_snapshot_import *import,
			   struct gt_error *error);
/* Removes the file unless the trace was ended. */
void gt_snapshot_trace_free(struct gt_snapshot_trace *t);
struct gt_writer *gt_snapshot_trace_writer(struct gt_snapshot_trace *t);

/* A history of its own: the number of it, or -1 if there are too many. */
int gt_snapshot_trace_history(struct gt_snapshot_trace *t);
/* The device that it is of; histories without one are refused by the caller. */
void gt_snapshot_trace_set_device(struct gt_snapshot_trace *t, uint32_t history, uint32_t device);
bool gt_snapshot_trace_has_devices(const struct gt_snapshot_trace *t);
/* The next entry of a history. */
void gt_snapshot_trace_entry(struct gt_snapshot_trace *t, uint32_t history,
			     const struct gt_snapshot_entry *entry);

/* After all entries: what there is at the end. The history may have begun after it was made. */
struct gt_snapshot_segment {
	uint64_t address, size;
	uint32_t stack, device;
};
void gt_snapshot_trace_segment(struct gt_snapshot_trace *t, const struct gt_snapshot_segment *s);
void gt_snapshot_trace_block(struct gt_snapshot_trace *t, const struct gt_snapshot_segment *block);
/* Writes what is left. `has_state`: the segments and blocks above are all there are. */
int gt_snapshot_trace_end(struct gt_snapshot_trace *t, bool has_state, struct gt_error *error);
