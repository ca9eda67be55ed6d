/* SPDX-License-Identifier: MIT */
/* head.h - what stands before and after every report: whose recording it is, and how whole. */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* Program, processes, how it ended, when. */
void gt_head_text(struct gt_printer *p, const struct gt_view *v);
/* Events are missing: what looks given back may not have been, and the other way round. */
bool gt_head_has_gaps(const struct gt_recording *recording);
/* In the place of anything else where there is no event: why that may be. */
void gt_head_nothing(struct gt_printer *p, const struct gt_view *v);
/* In the place of "No leaks" where there are gaps. */
void gt_head_no_leaks_but_gaps(struct gt_printer *p);
/* What is missing from the recording, loudly; nothing when it is whole. */
void gt_head_gaps(struct gt_printer *p, const struct gt_view *v);
/* Modules of shown frames that could have said more, each with what to do; at most `most`. */
void gt_head_modules(struct gt_printer *p, const struct gt_view *v, size_t most);
/* The same opening for every text but the summary's: head, gaps, an empty line. */
void gt_head_open(struct gt_printer *p, FILE *out, const struct gt_view *v);

/* Opens the document: schema, analysis, recording. */
void gt_head_json(struct gt_json *j, FILE *out, const struct gt_view *v, const char *analysis);
/* The object "recording": command, host, times, how whole it is, processes with what each lost. */
void gt_recording_json(struct gt_json *j, const struct gt_view *v);
void gt_totals_json(struct gt_json *j, uint64_t count, uint64_t bytes);
/* Closes the document: lost events. */
void gt_foot_json(struct gt_json *j, const struct gt_view *v);
