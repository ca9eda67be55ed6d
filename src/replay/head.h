/* SPDX-License-Identifier: MIT */
/* head.h - the opening and closing of every report: the program, and gaps in the recording. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* Program, processes, how it ended, when. */
void gt_head_text(struct gt_printer *p, const struct gt_view *v);
/* True if events are missing, so that leaks may be missed or reported falsely. */
bool gt_head_has_gaps(const struct gt_recording *recording);
/* Shown instead of a report if there are no events: why that may be. */
void gt_head_nothing(struct gt_printer *p, const struct gt_view *v);
/* Gaps in the recording; nothing if it is complete. */
void gt_head_gaps(struct gt_printer *p, const struct gt_view *v);
/* Modules of shown frames with incomplete symbols, and how to get them; at most `most`. */
void gt_head_modules(struct gt_printer *p, const struct gt_view *v, size_t most);
/* The same opening for every text but the summary's: head, gaps, an empty line. */
void gt_head_open(struct gt_printer *p, FILE *out, const struct gt_view *v);

/* Opens the document: schema, analysis, recording. */
void gt_head_json(struct gt_json *j, FILE *out, const struct gt_view *v, const char *analysis);
/* The object "recording": command, host, times, gaps, processes with what each lost. */
void gt_recording_json(struct gt_json *j, const struct gt_view *v);
void gt_totals_json(struct gt_json *j, uint64_t count, uint64_t bytes);
/* Closes the document: lost events. */
void gt_foot_json(struct gt_json *j, const struct gt_view *v);
