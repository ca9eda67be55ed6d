/* SPDX-License-Identifier: MIT */
/* report_tests.h - gputrack report of several recordings: one verdict on all of them. */
#pragma once

#include "cli/fail_options.h"
#include "cli/recordings.h"
#include "report/analyses.h"

struct gt_report_tests {
	const struct gt_recordings *found;
	const struct gt_input *input;
	struct gt_fail_options *fail; /* opened */
	enum gt_form form;            /* not TSV */
	bool whole_stacks;
	int color; /* enum gt_color */
	uint64_t top;
};

/* Writes the report, and the verdict on stderr if one was asked for; returns the exit status. */
int gt_report_tests(const struct gt_report_tests *how);
