/* SPDX-License-Identifier: MIT */
/*
 * export.h - a recording in the forms that other tools open.
 *
 * Those of events are written while the recording is read, whatever its size; those of call sites
 * hold as much as there are sites.
 */
#pragma once

#include <stdio.h>

#include "trace/recording.h"
#include "replay/frames.h"
#include "replay/view.h"

/* The weight of a stack, for formats with one number per stack. */
enum gt_weight {
	GT_WEIGHT_LEAKED,    /* bytes that leaked (replay/ending.h) */
	GT_WEIGHT_PEAK,      /* bytes alive when device memory peaked */
	GT_WEIGHT_ALLOCATED, /* bytes created in all */
	GT_WEIGHT_OBJECTS,   /* resources that leaked */
	GT_WEIGHT_ALIVE,     /* bytes not released at the end, leaked or not */
	GT_WEIGHT_COUNT,
};

extern const char *const gt_weight_names[]; /* ends in NULL */

struct gt_export {
	struct gt_recording *recording;
	struct gt_frames *frames;
	struct gt_frames *held; /* for struct gt_replay */
	FILE *out;
	enum gt_weight weight;
	struct gt_strictness strict;
	void (*tick)(uint64_t events); /* now and then; may be NULL */
};

typedef void gt_export_fn(const struct gt_export *e);

/* Every event. */
gt_export_fn gt_export_tsv, gt_export_json, gt_export_csv;
/* Counters and lifetimes over time, for Perfetto and chrome://tracing. */
gt_export_fn gt_export_chrome;
/* Call sites: gzipped protobuf with the four sample types of heaps; stacks with one weight. */
gt_export_fn gt_export_pprof, gt_export_collapsed, gt_export_speedscope;
/* A frame of a collapsed stack: a semicolon would end the frame, and a line end the stack. */
void gt_collapsed_put(FILE *out, const char *name);
/* The memory snapshot of PyTorch's pool; the segments alone, as its version 1.13 has them. */
gt_export_fn gt_export_torch_snapshot, gt_export_torch_segments;
/* Resources alive at the end, by API and kind. */
gt_export_fn gt_export_prometheus;
