/* SPDX-License-Identifier: MIT */
/*
 * residue.h - driver residue: memory that drivers kept after destroys, as the tracker measured it.
 *
 * The tracker writes it at the end of each process, as a text in its trace: "6464 KB, CommandList
 * 6400, EventPool 64". It is an estimate and no resource, so it is reported apart from leaks. What
 * drivers keep once, on first use, is another such text: no limit counts it.
 */
#pragma once

#include "api/functions.h"
#include "base/json.h"
#include "trace/recording.h"
#include "base/print.h"

struct gt_residue_sum {
	uint64_t kb, of[GT_LABEL_COUNT]; /* in all, and by the tracker's labels */
};

struct gt_residue {
	size_t measured; /* processes that measured it, even if it was none */
	struct gt_residue_sum left, once;
};

/* The sum over all processes, once the recording has been read. */
void gt_residue_find(struct gt_residue *residue, const struct gt_recording *recording);
/* That of one process; false if it was not measured. */
bool gt_residue_of_process(struct gt_residue *residue, const struct gt_process *process);
/* A few lines; none, and false, if nothing was kept or it was not measured. */
bool gt_residue_text(struct gt_printer *p, const struct gt_recording *recording);
/* "residue": null if it was not measured. */
void gt_residue_json(struct gt_json *j, const struct gt_recording *recording);
