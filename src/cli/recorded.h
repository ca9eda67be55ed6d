/* SPDX-License-Identifier: MIT */
/* recorded.h - a whole recording read into a ledger, for those who want its summary. */
#pragma once

#include <stdio.h>

#include "base/mem.h"
#include "ledger/ledger.h"
#include "trace/recording.h"
#include "replay/view.h"

struct gt_recorded {
	struct gt_recording *recording;
	struct gt_ledger *ledger; /* of all its events, finished */
	struct gt_frames *frames;
	const struct gt_verdict *verdict; /* NULL, or the caller's: the summary shows it */
};

struct gt_recorded_options {
	const char *path;
	uint32_t pid; /* only this process; 0: all */
};

/* Reads all events; shows progress on stderr where that takes long. */
int gt_recorded_new(struct gt_recorded **out, const struct gt_recorded_options *options,
		    struct gt_error *error);
void gt_recorded_free(struct gt_recorded *replay);

/* Has the recording keep what its leaks are called: programs change, recordings travel. */
int gt_recorded_keep_names(const struct gt_recorded *replay, struct gt_error *error);

/* What views are drawn from, in the style that suits `out`. */
struct gt_view gt_recorded_view(const struct gt_recorded *replay, FILE *out);
/* The summary as text on `out`, in the style that suits it. */
void gt_recorded_summary(const struct gt_recorded *replay, FILE *out);
