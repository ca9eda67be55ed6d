/* SPDX-License-Identifier: MIT */
/* judged.h - several recordings, replayed and judged together. */
#pragma once

#include "base/print.h"
#include "cli/fail_options.h"
#include "cli/recordings.h"
#include "report/tests.h"

/* How they are judged and shown. */
struct gt_judge_how {
	const struct gt_input *input;
	struct gt_fail_options *fail; /* opened */
	struct gt_style style;
	uint64_t top;      /* as struct gt_view has it */
	bool shows_growth; /* growth is found also where nothing fails by it */
};

struct gt_judged {
	struct gt_loaded *loaded;
	struct gt_verdict *verdicts;
	const struct gt_view **list;
	struct gt_views views;
	struct gt_tests tests;
};

/* Judges recordings that gt_recordings_load has opened, and takes them. */
void gt_judged_init(struct gt_judged *all, struct gt_loaded *loaded, size_t count,
		    const struct gt_judge_how *how);
/* Before the options' own. */
void gt_judged_fini(struct gt_judged *all);
