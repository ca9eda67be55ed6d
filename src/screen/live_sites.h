/* SPDX-License-Identifier: MIT */
/* live_sites.h - the call sites of running processes, those of one place (replay/place.h) as one.
 */
#pragma once

#include "ledger/board.h"
#include "replay/frames.h"

/* Names the stacks of a process. */
struct gt_live_names {
	/* What has its frames, and the stack's number there; NULL: nothing is known. */
	struct gt_frames *(*find)(void *context, uint16_t process, uint32_t stack,
				  uint32_t *number);
	void *context;
};

enum { GT_LIVE_SITES_MAX = 1000 };

struct gt_live_site {
	struct gt_board_site sum; /* with the stack of the biggest, and no history of its own */
	struct gt_recent history; /* of all of them */
	struct gt_frames *frames; /* NULL: nothing is known */
	uint32_t number;          /* of the stack there */
	uint64_t key;             /* of its place; 0: unknown */
	uint32_t processes;       /* that have it */
};

/* Whether the sites of one place in several processes are one. */
enum gt_live_merge { GT_LIVE_MERGE_WITHIN, GT_LIVE_MERGE_ACROSS };

/*
 * The first GT_LIVE_SITES_MAX sites with living resources in this order, merged by place: of one
 * process, or of all that run. The caller frees the list; it is good until names are forgotten.
 */
struct gt_live_site *gt_live_sites(const struct gt_board *b, uint16_t process,
				   enum gt_board_order order, enum gt_live_merge merge,
				   const struct gt_live_names *names, size_t *count);
