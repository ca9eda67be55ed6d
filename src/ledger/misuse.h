/* SPDX-License-Identifier: MIT */
/*
 * misuse.h - releases of ended resources, failed calls, and calls that never returned.
 *
 * For the ledger alone.
 */
#pragma once

#include "ledger/ended_handles.h"
#include "ledger/ledger.h"

/* One redundant release. */
struct gt_repeat {
	uint64_t handle, time_ns;
	uint64_t from_ns;   /* an event that is missing from here on would explain it */
	uint32_t redundant; /* index in the ledger's list */
	uint32_t process;
};

/* Zeroed is empty. */
struct gt_misuse {
	struct gt_ended_handles ended;
	struct gt_repeat *repeats; /* the first ones, to be judged again at the end */
	size_t repeat_count, repeat_room;
	size_t looked_at; /* sites, when memory ran out */
};

void gt_misuse_fini(struct gt_misuse *m);

/* Records a call that failed or never returned; `is_alive`: the program still held its handle. */
void gt_misuse_failed_call(struct gt_ledger *l, struct gt_misuse *m, const struct gt_event *e,
			   uint32_t process, bool is_alive);
/* The process allocated memory: if it had run out of it before, it went on. */
void gt_misuse_went_on(struct gt_ledger *l, uint32_t process);
/* Records a call that ended a handle that is not alive. */
void gt_misuse_unknown_handle(struct gt_ledger *l, struct gt_misuse *m, const struct gt_event *e,
			      uint32_t process);
/* Records a call that is about to end a block by an address inside it. */
void gt_misuse_interior(struct gt_ledger *l, const struct gt_event *e,
			const struct gt_entry *block);
/*
 * After the last event, when all gaps are known: a release is not redundant if the handle may have
 * been created anew in one of them.
 */
void gt_misuse_finish(struct gt_ledger *l, struct gt_misuse *m);
