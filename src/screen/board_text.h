/* SPDX-License-Identifier: MIT */
/* board_text.h - the board as text: what processes hold now, their busiest call sites, the oldest.
 */
#pragma once

#include "ledger/board.h"
#include "screen/live_sites.h"
#include "base/print.h"

enum { GT_BOARD_TOP_MAX = 1000 };

struct gt_board_view {
	size_t top;        /* call sites and resources of each process, at most
			    * GT_BOARD_TOP_MAX; 0: none of them */
	uint64_t now_ns;   /* CLOCK_MONOTONIC: ages are counted from here */
	uint64_t since_ns; /* when looking began */
	uint64_t lost;     /* calls that are missing */
	struct gt_live_names names;
};

void gt_board_text(struct gt_printer *p, const struct gt_board *b, const struct gt_board_view *v);
