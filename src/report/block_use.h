/* SPDX-License-Identifier: MIT */
/*
 * block_use.h - what GPU work did with each block of device memory, by the stack that created it.
 *
 * Only recordings with touches (`gputrack run --touches`) can tell, and only of blocks that one
 * call allocates: see gt_block_use_read for what cannot be seen.
 */
#pragma once

#include "replay/view.h"

/* Blocks created by one stack. */
struct gt_block_use {
	uint32_t stack;
	uint8_t api, kind;
	uint64_t count, bytes;           /* created */
	uint64_t unnamed, unnamed_bytes; /* that no work names */
	uint64_t unread, unread_bytes;   /* copies and sets write them, nothing reads them */
	double held_byte_seconds;        /* bytes times the seconds for which they were held, */
	double after_byte_seconds;       /* and the part of it after their last use */
};

struct gt_block_uses {
	struct gt_block_use *list; /* most bytes held after their last use first */
	size_t count;
	struct gt_block_use total;
	bool is_known; /* touches were recorded */
	uint64_t launches, copies, sets, graphs;
	uint64_t blind;    /* launches and others that may touch memory unseen */
	uint64_t lost;     /* work that could not be recorded */
	uint64_t left_out; /* blocks of other kinds of memory */
	uint64_t unsure;   /* blocks that unseen work may have touched */
};

/*
 * Replays the recording. A block counts as unnamed or unread only if all work in its life is known:
 * not if any may touch memory unseen, or was lost, or if it was shared with others. Host and
 * managed memory, which the host touches, and mapped memory, of which a launch may name only the
 * start, are left out.
 */
void gt_block_uses_init(struct gt_block_uses *u, const struct gt_view *v);
void gt_block_uses_fini(struct gt_block_uses *u);
