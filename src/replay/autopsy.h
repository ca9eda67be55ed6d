/* SPDX-License-Identifier: MIT */
/*
 * autopsy.h - why memory ran out: who asked, what was free and in how many pieces, what would have
 * sufficed, and which rank differs from the others.
 */
#pragma once

#include "replay/device_memory.h"
#include "replay/rank.h"
#include "replay/shortage.h"

struct gt_autopsy {
	struct gt_memory_moment moment;
	const struct gt_device_memory *device; /* that ran out; NULL: unknown */
	uint64_t asked;                        /* 0: unknown */
	bool knows_free;
	uint64_t free_on_gpu;             /* not taken from the GPU by anybody */
	uint64_t cached, pieces, largest; /* free in the pool */
	/* what would have sufficed */
	bool is_fragmented;  /* all that was free would have been enough, but no piece was */
	uint64_t missing;    /* bytes, even if all that was free were one piece */
	struct gt_rank rank; /* the one that ran out, if it holds more than the others */
};

void gt_autopsy_init(struct gt_autopsy *a, const struct gt_view *v, const struct gt_shortage *s);
void gt_autopsy_fini(struct gt_autopsy *a);

/* The sentences, each a line. */
void gt_autopsy_put(struct gt_printer *p, const struct gt_view *v, const struct gt_shortage *s);
/* An object "autopsy". */
void gt_autopsy_json(struct gt_json *j, const struct gt_view *v, const struct gt_shortage *s);
