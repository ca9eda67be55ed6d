/* SPDX-License-Identifier: MIT */
/* nsys_counts.h - an export without memory events: how often each function was called. */
#pragma once

#include "capture/nsys/nsys_names.h"

/*
 * How often each function was called that creates or releases something, in all and by phase: as
 * struct gt_nsys_import has them. NULL: there are no such calls, or no phases. The caller frees
 * both. 0, or -errno and the error.
 */
int gt_nsys_count_calls(const struct gt_database *d, struct gt_nsys_names *names, char **calls,
			char **by_phase, struct gt_error *error);
