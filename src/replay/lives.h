/* SPDX-License-Identifier: MIT */
/*
 * lives.h - when each resource was created and when it ended, in steps of time that the caller
 * chooses: what a range of time left behind, what was freed in it, what was alive at any moment.
 *
 * Whoever adds up all lives that were born at or before a step and ended after it has what a ledger
 * holds at the end of that step, call site by call site. A pool's segment has the bytes that lie in
 * none of its blocks, so its bytes change while it lives: such a change is a life of its own, of no
 * resource and of bytes that may be negative.
 */
#pragma once

#include "ledger/ledger.h"

#define GT_LIFE_GOES_ON UINT32_MAX /* in the place of its end */

struct gt_life {
	const struct gt_entry *entry; /* as it ended, or is at the end */
	uint32_t phase, slot;
	uint32_t born, ended; /* steps */
	uint32_t count;       /* 1, or 0: a segment has so many bytes more or less */
	int64_t bytes;
	enum gt_ended_by by; /* of an end */
};

typedef void gt_life_fn(void *context, const struct gt_ledger *l, const struct gt_life *life);

/* Put into a replay: `observer` observes, `now` and `ledger` are set before each event. */
struct gt_lives {
	struct gt_live_observer observer;
	const struct gt_ledger *ledger;
	uint32_t now;
	gt_life_fn *each;
	void *context;
	uint32_t *births; /* by slot: the step */
	int64_t *grown;   /* by slot: bytes more than it was born with */
	size_t birth_count, grown_count;
};

void gt_lives_init(struct gt_lives *l, gt_life_fn *each, void *context);
void gt_lives_fini(struct gt_lives *l);
/* After the last event, before the ledger is finished: reports what is alive. */
void gt_lives_end(struct gt_lives *l);
