/* SPDX-License-Identifier: MIT */
/* board_state.h - what a board keeps: for board.c, which changes it, and board_query.c. */
#pragma once

#include "ledger/addresses.h"
#include "ledger/board.h"
#include "ledger/ended_handles.h"
#include "ledger/extents.h"
#include "ledger/lifetimes.h"

enum {
	GT_BOARD_CLASSES = 1 + 64 * 8, /* class 0: no bytes of its own */
	GT_BOARD_CLASS_WORDS = GT_BOARD_CLASSES / 64 + 1,
	GT_BOARD_LINKS = 4096, /* per page */
};

/* Neighbours of a slot in its list: slot + 1, 0 for none. */
struct gt_board_link {
	uint32_t next, before;
};

/* One list per size class, the oldest first. */
struct gt_board_lists {
	uint32_t first[GT_BOARD_CLASSES], last[GT_BOARD_CLASSES]; /* slot + 1 */
	uint64_t used[GT_BOARD_CLASS_WORDS]; /* a bit for each list that is not empty */
};

struct gt_board {
	struct gt_live live;
	struct gt_addresses addresses;
	struct gt_extents extents;
	struct gt_references references;
	struct gt_ended_handles ended;       /* those that a retain may bring back */
	bool can_be_retained[GT_KIND_COUNT]; /* by family */
	struct gt_board_link **links;
	size_t link_pages;
	struct gt_board_process *processes;
	size_t process_count, process_room;
	struct gt_board_site *sites;
	size_t site_count, site_room;
	size_t sites_max;       /* 0: no limit */
	size_t idle_sites;      /* that hold nothing, or whose process has ended */
	uint32_t *site_buckets; /* site + 1 */
	size_t bucket_count;    /* a power of two */
	bool charts_sites, splits_places;
	gt_board_site_fn *dropped; /* NULL: nobody asks */
	void *dropped_context;
	uint16_t *free_processes; /* numbers of those that were forgotten */
	size_t free_count, free_room;
	uint64_t others;
	uint64_t tick_ns;
	uint64_t bytes, peak_bytes; /* of all running processes */
};

/* Drops the sites that hold nothing, or whose process has ended. */
void gt_board_drop_idle_sites(struct gt_board *b);
