/* SPDX-License-Identifier: MIT */
/* end_report.h - the report at the end of `run` and `attach`: the recording's summary. */
#pragma once

#include <stdio.h>

#include "base/mem.h"
#include "replay/view.h"

/*
 * Reads the whole recording into a view, in the style that suits `out`; shows progress on stderr if
 * that takes long. Texts of `own` must stay, and so must `search`, folders for symbols, or NULL.
 * The caller may set the verdict, which the summary includes.
 */
int gt_end_report_open(struct gt_view *v, const char *path, FILE *out,
		       const struct gt_own_rules *own, const char *const *search,
		       struct gt_error *error);
void gt_end_report_close(struct gt_view *v);

/*
 * Stores the names of leaks in the recording: programs change, recordings travel. `all`: of every
 * call site, because the programs are already gone.
 */
int gt_end_report_save_names(const struct gt_view *v, bool all, struct gt_error *error);
void gt_end_report_print(const struct gt_view *v, FILE *out);
