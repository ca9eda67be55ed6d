/* SPDX-License-Identifier: MIT */
/* replay.h - a recording's events, one after the other, into a ledger. */
#pragma once

#include "ledger/ledger.h"
#include "trace/walk.h"

struct gt_replay {
	uint64_t until; /* how many events; 0: all */
	/* After each event has been applied. May be NULL. */
	void (*each)(void *context, const struct gt_ledger *l, const struct gt_event *event);
	/* After a process has ended while others went on, and its memory with it. May be NULL. */
	void (*ended)(void *context, const struct gt_ledger *l, uint64_t time_ns);
	gt_sample_fn *sampled; /* likewise */
	void *context;
	bool samples; /* the ledger keeps them, too */
	bool growth;  /* the ledger follows who holds more and more */
	/* Now and then, with the number of events so far: for progress. May be NULL. */
	void (*tick)(uint64_t events);
};

/* From the first event on; gives a finished ledger. */
struct gt_ledger *gt_replay_run(struct gt_recording *r, const struct gt_replay *how);
