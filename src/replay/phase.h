/* SPDX-License-Identifier: MIT */
/* phase.h - phases in words: the ranges of NVTX that were open around a call. */
#pragma once

#include "ledger/groups.h"
#include "replay/view.h"
#include "symbol/symbol.h"
#include "trace/recording.h"

/* True for a frame that stands for a range, where a stack is missing. */
bool gt_frame_is_phase(const struct gt_frame *frame);
/* The same of `count` such frames, the innermost first: "phase train > forward". */
char *gt_phase_of_frames(const struct gt_frame *frames, size_t count);

/*
 * "train > forward", "train > forward and 2 more": where the resources of a group were created. In
 * less room than `columns` its outermost ranges give way: "… > forward". NULL if the group's place
 * says it, or if none was created in a phase. The caller frees it.
 */
char *gt_group_phase(const struct gt_view *v, const struct gt_ledger *l, const struct gt_group *g,
		     unsigned columns);

/*
 * For gt_recording_only_phases, whose context is a list of patterns of replay/suppressions.h, ended
 * by NULL: true if one matches the text of the phase.
 */
gt_phase_fn gt_phase_matches;
