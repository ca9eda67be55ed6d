/* SPDX-License-Identifier: MIT */
/* walk.h - a recording from its first event to its last, told to whoever listens. */
#pragma once

#include "trace/recording.h"

/* Any member may be NULL. */
struct gt_walk {
	/* False: this is enough. */
	bool (*event)(void *context, const struct gt_event *event, uint32_t process);
	/* A process has ended, and another goes on. */
	gt_process_end_fn *ended;
	gt_sample_fn *sampled;
	void *context;
	/* Now and then, with the number of events so far: for progress. */
	void (*tick)(uint64_t events);
};

void gt_walk(struct gt_recording *r, const struct gt_walk *how);
