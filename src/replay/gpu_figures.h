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
	uint64_t beyond_first; /* the same when it first used the GPU */
	uint64_t others;       /* used by others */
	uint64_t off_ns;       /* how far the sample is from the moment */
};

/* For every device, at the same moment. */
struct gt_gpu_figures;
struct gt_gpu_figures *gt_gpu_figures_new(const struct gt_view *v, uint64_t time_ns);
void gt_gpu_figures_free(struct gt_gpu_figures *g);
/* False: the GPU has not reported on this device. */
bool gt_gpu_figure_at(const struct gt_gpu_figures *g, uint16_t place, struct gt_gpu_figure *figure);
