/* SPDX-License-Identifier: MIT */
/*
 * gpu_work.h - whether the GPU works, from whatever a recording says about it.
 *
 * Imported profiles say when each GPU begins and ends to work. Recordings of `gputrack run
 * --touches` say when work was submitted, but not how long it ran.
 */
#pragma once

#include "trace/recording.h"

enum { GT_GPU_WORK_SERIES = 64 };

/* Zeroed: nothing is known yet. */
struct gt_gpu_work {
	bool is_busy[GT_GPU_WORK_SERIES]; /* by series */
	unsigned busy;                    /* GPUs that work now */
	bool any;                         /* one has worked */
};

enum gt_gpu_work_change { GT_GPU_WORK_SAME, GT_GPU_WORK_BEGINS, GT_GPU_WORK_ENDS };

/* What a sample will change; SAME for those of anything else. */
enum gt_gpu_work_change gt_gpu_work_look(const struct gt_gpu_work *w, const struct gt_recording *r,
					 const struct gt_sample *sample);
/* True if a record of --touches is work that was submitted. */
bool gt_gpu_work_submits(const struct gt_touch *touch);
/* Applies a change. */
void gt_gpu_work_apply(struct gt_gpu_work *w, const struct gt_sample *sample,
		       enum gt_gpu_work_change change);
