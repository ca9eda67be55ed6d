/* SPDX-License-Identifier: MIT */
/* leak_text.h - a leak in words, for the forms that continuous integration reads. */
#pragma once

#include "judge/verdict.h"

/* "20 events leaked by clEnqueueTask (OpenCL)", with bytes where it has some; the caller frees. */
char *gt_leak_title(const struct gt_leak *leak);
/* The title, what the baseline and the suppressions say of it, and the stack, one frame a line. */
char *gt_leak_text(const struct gt_view *v, const struct gt_leak *leak);
/* Why it does not count: "suppressed by FILE:LINE leak:…", "in OLD.gt already"; NULL: it does. */
char *gt_leak_excuse(const struct gt_view *v, const struct gt_leak *leak);

/* All leaks, for continuous integration; these need v->verdict. */
gt_view_fn gt_leaks_junit, gt_leaks_sarif, gt_leaks_github;

/* The frame to point at: the innermost below the current folder, or with a file; NULL: none. */
const struct gt_frame *gt_leak_frame(const struct gt_view *v, const struct gt_leak *leak);
/* The same of whoever held most at the peak. */
const struct gt_frame *gt_peak_frame(const struct gt_view *v);
/* Its file, tidy, and relative to the current folder where it lies below; the caller frees. */
char *gt_frame_file(const struct gt_view *v, const struct gt_frame *frame);
/* What to call the site: its innermost function, or module, or else the API's function. */
const char *gt_leak_name(const struct gt_view *v, const struct gt_leak *leak);
