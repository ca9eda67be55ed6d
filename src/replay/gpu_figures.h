/* SPDX-License-Identifier: MIT */
/*
 * gpu_figures.h - what the GPU itself reports (NVML's samples), held against what is known.
 *
 * A sample and the calls are compared at the sample's own time. What the GPU reports beyond what is
 * known changes slowly, so that of the sample nearest to a moment holds for the moment.
 */
#pragma once

#include "replay/view.h"

struct gt_gpu_figure {
	bool is_of_program; /* the GPU's figure for the program; else the change since the start */
	uint64_t beyond;    /* used by the program beyond what is known, by calls or measured */
	uint64_t first;     /* of these, what it used so when it first used the GPU */
	uint64_t others;    /* used by others */
	uint64_t off_ns;    /* how far the sample is from the moment */
};

/* For every device, at the same moment. */
struct gt_gpu_figures;

/* To follow them during a replay: call these as the replay's observer and callbacks are called. */
struct gt_gpu_figures *gt_gpu_figures_follow(const struct gt_view *v);
void gt_gpu_figures_born(struct gt_gpu_figures *g, const struct gt_entry *entry);
void gt_gpu_figures_ended(struct gt_gpu_figures *g, const struct gt_entry *entry);
void gt_gpu_figures_moved(struct gt_gpu_figures *g, const struct gt_entry *segment, int64_t bytes);
void gt_gpu_figures_before(struct gt_gpu_figures *g, uint64_t time_ns);
void gt_gpu_figures_sampled(struct gt_gpu_figures *g, const struct gt_sample *sample);

/* The GPU reports its figure for the program, or for all programs. */
enum gt_reporter { GT_REPORTS_PROGRAM, GT_REPORTS_DEVICE, GT_REPORTERS };

/* What the last sample so far tells. */
struct gt_beyond {
	bool any;
	int64_t bytes; /* used beyond what was known; negative: less was used than is known */
	uint64_t time_ns;
};

struct gt_beyond gt_gpu_beyond(const struct gt_gpu_figures *g, uint16_t place,
			       enum gt_reporter reporter);
/* After the replay: of `beyond` bytes, those that the first context took. */
uint64_t gt_gpu_first(const struct gt_gpu_figures *g, uint16_t place, enum gt_reporter reporter,
		      int64_t beyond);

struct gt_gpu_figures *gt_gpu_figures_new(const struct gt_view *v, uint64_t time_ns);
void gt_gpu_figures_free(struct gt_gpu_figures *g);
/* False: the GPU has not reported on this device. */
bool gt_gpu_figure_at(const struct gt_gpu_figures *g, uint16_t place, struct gt_gpu_figure *figure);
