/* SPDX-License-Identifier: MIT */
/* gpu_work.c - whether the GPU works, from whatever a recording says about it. */
#include "replay/gpu_work.h"

#include <string.h>

enum gt_gpu_work_change gt_gpu_work_look(const struct gt_gpu_work *w, const struct gt_recording *r,
					 const struct gt_sample *sample)
{
	bool is_busy = sample->value > 0;

	if (sample->series >= GT_GPU_WORK_SERIES || w->is_busy[sample->series] == is_busy ||
	    strcmp(gt_recording_series(r, sample->series)->name, GT_SERIES_GPU_BUSY))
		return GT_GPU_WORK_SAME;
	return is_busy ? GT_GPU_WORK_BEGINS : GT_GPU_WORK_ENDS;
}

void gt_gpu_work_apply(struct gt_gpu_work *w, const struct gt_sample *sample,
		       enum gt_gpu_work_change change)
{
	if (change == GT_GPU_WORK_SAME)
		return;
	w->is_busy[sample->series] = change == GT_GPU_WORK_BEGINS;
	w->busy += change == GT_GPU_WORK_BEGINS ? 1 : -1u;
	w->any |= change == GT_GPU_WORK_BEGINS;
}

bool gt_gpu_work_submits(const struct gt_touch *touch)
{
	return touch->work && touch->is_first && touch->work->kind != GT_WORK_SHARE;
}
