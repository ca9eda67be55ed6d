/* SPDX-License-Identifier: MIT */
/* replay.h - the one loop that reads a recording's events, and applies them to ledgers. */
#pragma once

#include <stdio.h>

#include "ledger/ledger.h"
#include "replay/frames.h"
#include "trace/recording.h"

/* Called now and then with the number of events read so far; after the last, GT_TICK_WRITING. */
typedef void gt_tick_fn(uint64_t events);
#define GT_TICK_WRITING UINT64_MAX

/* One ledger to fill. All callbacks may be NULL. */
struct gt_replay {
	uint32_t pid;           /* processes with this pid only; 0: all */
	uint64_t until;         /* how many events to apply; 0: all */
	uint64_t until_ns;      /* up to this time; 0: all */
	bool samples;           /* the ledger keeps samples, too */
	bool growth;            /* the ledger follows which sites grow */
	struct gt_frames *held; /* to find what libraries hold by design (held.h); NULL: a leak */
	const struct gt_live_observer *observer; /* of the ledger; NULL: none */
	FILE *out; /* reading stops once a write to it has failed; NULL: it does not */

	/* Before an event, or the end of a process, is applied. */
	void (*before)(void *context, const struct gt_ledger *l, uint64_t time_ns);
	/* After an event has been applied. */
	void (*each)(void *context, const struct gt_ledger *l, const struct gt_event *event,
		     uint32_t process);
	/* After a process has ended while others kept running; its memory is gone. */
	void (*ended)(void *context, const struct gt_ledger *l, uint64_t time_ns);
	gt_sample_fn *sampled;
	gt_paging_fn *paged;
	/* GPU work, before the first event that comes after it. */
	void (*touched)(void *context, const struct gt_ledger *l, const struct gt_touch *touch,
			uint32_t process);
	/* After the last event, before the ledger is finished. */
	void (*last)(void *context, const struct gt_ledger *l);
	void *context;
	gt_tick_fn *tick;
};

/* From the first event on; gives a finished ledger. */
struct gt_ledger *gt_replay_run(struct gt_recording *r, const struct gt_replay *how);
/* Several in one reading: ledgers[i] is that of replays[i]. Only the first one's tick is called. */
void gt_replay_run_all(struct gt_recording *r, const struct gt_replay *replays, size_t count,
		       struct gt_ledger **ledgers);

/* The events alone, without a ledger; `each` returns false to stop. `tick` may be NULL. */
typedef bool gt_event_fn(void *context, const struct gt_event *event, uint32_t process);
void gt_replay_events(struct gt_recording *r, gt_event_fn *each, void *context, gt_tick_fn *tick);
