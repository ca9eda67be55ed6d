/* SPDX-License-Identifier: MIT */
/* live_view.h - what attached processes hold, kept while they run and shown now and then. */
#pragma once

#include <stdio.h>

#include "capture/ebpf/tracer.h"
#include "ledger/board.h"

struct gt_attach_names;

struct gt_attach_live {
	struct gt_board *board;
	struct gt_listener listener; /* for gt_tracer_options */
	uint64_t since_ns;
	struct gt_traced **processes; /* by the board's number; NULL: ended */
	size_t process_count, process_room;
	struct gt_attach_names *names; /* of stacks that have been shown */
};

void gt_attach_live_init(struct gt_attach_live *l);
void gt_attach_live_fini(struct gt_attach_live *l);
/* A stretch of time is over: losses, rates and histories are brought up to date. */
void gt_attach_live_tick(struct gt_attach_live *l);
/* A summary of this moment. */
void gt_attach_live_show(struct gt_attach_live *l, FILE *out, size_t top, uint64_t lost);
