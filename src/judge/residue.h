/* SPDX-License-Identifier: MIT */
/*
 * residue.h - what drivers kept after destroys, as the resource tracker measured it.
 *
 * The tracker writes it at the end of each process, as a text of its trace: "6464 KB, CommandList
 * 6400, EventPool 64". It is an estimate and no resource: it is told apart from leaks.
 */
#pragma once

#include "api/functions.h"
#include "base/json.h"
#include "trace/recording.h"
#include "base/print.h"

struct gt_residue {
	size_t measured;                 /* processes that tell of it, if only of none */
	uint64_t kb, of[GT_LABEL_COUNT]; /* in all, by the tracker's labels */
};

/* The sum of all processes. Known when the recording has been read. */
void gt_residue_find(struct gt_residue *residue, const struct gt_recording *recording);
/* A few lines; none, and false, where nothing was kept, or measured. */
bool gt_residue_text(struct gt_printer *p, const struct gt_recording *recording);
/* "residue": null where it was not measured. */
void gt_residue_json(struct gt_json *j, const struct gt_recording *recording);
